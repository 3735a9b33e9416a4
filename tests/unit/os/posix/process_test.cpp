// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/detail/os/os.hpp>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <vector>

#include "../../../support/catch.hpp"

namespace os = thrum::os;

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
