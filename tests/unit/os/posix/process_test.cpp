// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What exit() does in a program with goroutines: the promises of os/exit.hpp, one by one.

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/os.hpp>

#include "support/catch.hpp"
#include "support/program_rows.hpp"
#include "support/scale.hpp"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <vector>

namespace os = thrum::os;
using support::check_programs;

namespace {

/// How `sleep` ends when it is told so.
template <class Tell>
os::process_end end_of_a_sleeper(Tell tell) {
  char name[] = "sleep";
  char seconds[] = "60";
  char* const arguments[] = {name, seconds, nullptr};
  os::spawn_request request;
  request.arguments = arguments;
  const os::io_result pid = os::spawn(request);
  REQUIRE(pid > 0);
  CHECK(tell(pid) == 0);
  os::process_end end;
  while (os::wait_process(pid, os::no_handle, true, true, end) == os::interrupted) {
  }
  return end;
}

}  // namespace

TEST_CASE("a process that is killed, or asked to end, tells by which signal it ended") {
  const os::process_end killed =
      end_of_a_sleeper([](std::int64_t pid) { return os::kill_process(pid, os::no_handle); });
  CHECK(killed.signal == SIGKILL);
  CHECK(killed.code == 0);
  const os::process_end asked =
      end_of_a_sleeper([](std::int64_t pid) { return os::ask_process_to_end(pid, os::no_handle); });
  CHECK(asked.signal == SIGTERM);
}

TEST_CASE("an end is a code or a signal, and says whether a core was dumped") {
  const os::process_end returned = os::end_of(CLD_EXITED, 3);
  CHECK((returned.code == 3 && returned.signal == 0 && !returned.dumped_core));
  const os::process_end killed = os::end_of(CLD_KILLED, SIGINT);
  CHECK((killed.code == 0 && killed.signal == SIGINT && !killed.dumped_core));
  const os::process_end dumped = os::end_of(CLD_DUMPED, SIGABRT);
  CHECK((dumped.code == 0 && dumped.signal == SIGABRT && dumped.dumped_core));
}

TEST_CASE("signals that an instruction raises are known as such") {
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    CHECK(os::caught_signals::is_raised_by_code(number));
  }
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGTRAP}) {
    CHECK_FALSE(os::caught_signals::is_raised_by_code(number));
  }
}

TEST_CASE("a program that is busy is started again after pauses that double, and not for ever") {
  int starts = 0;
  std::vector<std::int64_t> pauses;
  const auto pause = [&](std::int64_t ns) { pauses.push_back(ns); };
  CHECK(thrum::os::start_unless_busy([&] { return ++starts == 3 ? 0 : ETXTBSY; }, pause) == 0);
  CHECK(starts == 3);
  CHECK(pauses == std::vector<std::int64_t>{1'000'000, 2'000'000});
  CHECK(thrum::os::start_unless_busy([] { return ETXTBSY; }, pause) == ETXTBSY);
  CHECK(pauses.size() == 2 + 8);
  CHECK(thrum::os::start_unless_busy([] { return ENOENT; }, pause) == ENOENT);
  CHECK(pauses.size() == 2 + 8);
}

TEST_CASE("exit in a goroutine loses no output, and calls every handler and destructor in order") {
  check_programs({
    {"exit_with_output_in_streams", 3, "held by cout\n"},  // EX1
// What musl's exit() does in its own way is said in the head of os/exit.hpp.
#if defined(__GLIBC__)
    {
      "exit_with_handlers", 3, "thread-local\nhandler from within\nhandler from before\ndestroyed\n"
    }
#endif
  });
}

// EX2
TEST_CASE("while exit destroys static objects no goroutine runs, nor one without a processor") {
  // A loop is stopped by a signal; a sanitizer and an emulator keep it back until the loop calls
  // something, and exit does not wait for that.
  const char* const text = THRUM_TSAN || support::emulated() ? nullptr : "all stood still\n";
  check_programs(
      {{"exit_beside_all_kinds", 3, text}, {"exit_beside_a_loop_without_a_processor", 3, text}});
}

TEST_CASE("no reader of standard input keeps a program from its end") {
  check_programs({
    {"main_returns_beside_reader", 3},
#if defined(__GLIBC__)  // EX3
        {"exit_beside_reader", 3}, {
      "exit_beside_blocking_reader", 3
    }
#endif
  });
}

// EX4
TEST_CASE(
    "a handler of exit gets a goroutine's lock, and may wait for a goroutine or poll for it") {
  check_programs({{"exit_needs_a_lock", 3, "got the lock\n"},
                  {"exit_waits_for_a_goroutine", 3, "answered\n"},
                  {"exit_polls_for_a_goroutine", 3, "done\n"}});
}

TEST_CASE(
    "exit leaves static runtimes alone, also for a dump, and its first call ends the process") {
  check_programs({
    {"exit_and_dump", 3, nullptr, {"sleeper", "dumped\n"}},  // EX5
#if defined(__GLIBC__)
        {"exit_of_static_runtime", 3},  // EX5
    {
      "exit_twice", 3
    }  // EX6
#endif
  });
}

// EX7
TEST_CASE("exit in a forked child flushes its output and keeps its status") {
#if defined(__GLIBC__)  // and destroys nothing
  const char* const text = "written by the child, status 5\ndestroyed\n";
#else
  const char* const text = "written by the child, destroyed\nstatus 5\ndestroyed\n";
#endif
  check_programs({{"exit_in_child", 0, text}});
}
