// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the runtime says when things go wrong or when it is asked: each from a program that is
// looked at from outside.

#include <thrum/detail/debug/overflow_report.hpp>
#include <thrum/detail/debug/tally.hpp>
#include <thrum/detail/debug/trouble.hpp>

#include "support/patterns.hpp"
#include "support/program.hpp"
#include "support/program_rows.hpp"
#include "support/sees_threads.hpp"
#include "support/test.hpp"
#include "support/watched_errors.hpp"

#include <csignal>
#include <sstream>

namespace {

using support::check_programs;
using support::program_result;
using support::run_program;

bool emulated() { return std::getenv("THRUM_TEST_EMULATOR") != nullptr; }

/// Sanitizers and emulators need more address space than there is to give.
[[maybe_unused]] bool space_can_be_limited() { return !THRUM_ASAN && !THRUM_TSAN && !emulated(); }

bool matches(const std::string& text, const std::string& pattern) {
  return support::has_match(text, pattern);
}

}  // namespace

TEST_CASE("the report of a panic names the exception's type, where it was thrown, and the start") {
  for (const char* const name : {"panic_where", "panic_of_main"}) {
    const program_result r = run_program(name);
    INFO(r.text);
    CHECK(r.signal == SIGABRT);
    const std::string number = name == std::string("panic_of_main") ? "1" : "[0-9]+";
    CHECK(matches(r.text, "thrum: panic in goroutine " + number +
                              ": no such cheese\n\ttype std::out_of_range\n"));
    CHECK(matches(r.text, "\tstarted in .*\\+0x[0-9a-f]+\n"));
    CHECK((emulated() || r.says("throw_deep_inside")));
  }
}

TEST_CASE("what a program handles itself is not reported: an exception outside of run, a fault") {
  check_programs({
    {"caught_outside_of_run", 0, "caught: no such cheese\n"},
#if defined( \
    _WIN32)  // there the C library has a filter, too: so the report comes before all filters
    {
      "fault_elsewhere", 6, nullptr, { "the program's own handler\n" }
    }
  });
#else
    {
      "fault_elsewhere", 6, "the program's own handler\n"
    }
  });
#endif
}

TEST_CASE(
    "a crash of a goroutine is reported with its callers, its start and the others, and then ends "
    "the program") {
  struct row {
    const char* program;
    int signal;
    const char* name;
    const char* function;  // that called last
  };
  for (const row& each : {
         row{"crash_by_access", SIGSEGV, "SIGSEGV at address 0x100[08]", "write_where_nothing_is"},
#if !defined(_WIN32)  // no exception comes of these
             row{"crash_by_call", SIGSEGV, "SIGSEGV at address 0x100[08]", "call_what_is_nowhere"},
             row{"crash_by_abort", SIGABRT, "SIGABRT", "crash_by_abort"},
             row{"crash_by_signal", SIGFPE, "SIGFPE", "crash_by_signal"},
#endif
#if defined(__GLIBC__)
             row{"crash_in_malloc", SIGABRT, "SIGABRT", "write_over_the_heap"},
#endif
       }) {
    if (THRUM_ASAN || THRUM_TSAN) {
      break;  // their own report
    }
    const program_result r = run_program(each.program);
    INFO(each.program << ": " << r.text);
    CHECK(r.signal == each.signal);
    const std::string head = "fatal error: thrum: ";
#if defined(_WIN32)
    CHECK(matches(
        r.text,
        head + "ACCESS_VIOLATION at address 0x100[08] in goroutine [0-9]+ \\[breaker\\]\n\t"));
#else
    CHECK(matches(r.text, head + each.name + " in goroutine [0-9]+ \\[breaker\\]\n"));
    if (!emulated()) {
      CHECK(matches(r.text, "\n\t[^\n]*" + std::string(each.function)));
      CHECK(
          matches(r.text,
                  "\n\tstarted in "
                  "[^\n]*crash_in_a_goroutine[^\n]*(\n\t\t[^\n]*/programs/crash.cpp:[0-9]+)?\ng"));
      CHECK_FALSE(r.says("\tabort at "));
    }
#endif
    CHECK(matches(r.text,
                  "\ngoroutine [0-9]+ \\[select \\(no cases\\)\\] \"bystander\" started in "));
  }
}

TEST_CASE(
    "a crash of a thread without a goroutine is reported in one line, and none with crash=0") {
  if (THRUM_ASAN || THRUM_TSAN || emulated()) {
    return;
  }
  const program_result r = run_program("crash_of_a_thread");
  INFO(r.text);
  CHECK(support::is_fault(r.signal));
  CHECK(matches(
      r.text,
      "^fatal error: thrum: [A-Z_]+ at address 0x100[08] on a thread that runs no goroutine\n"));
  CHECK_FALSE(r.says("bystander"));
  const program_result silent = run_program("crash_by_access", "THRUM_DEBUG=crash=0");
  INFO(silent.text);
  CHECK(support::is_fault(silent.signal));
  CHECK_FALSE(silent.says("fatal error"));
}

TEST_CASE("a stack overflow is reported with the goroutine, the stack's size and what raises it") {
  if (emulated() || THRUM_ASAN || THRUM_TSAN) {
    return;  // emulators have no guards, sanitizers their own report
  }
  const program_result r = run_program("stack_overflow");
  INFO(r.text);
  CHECK(support::is_fault(r.signal));
  CHECK(matches(r.text,
                "fatal error: thrum: stack overflow in goroutine [0-9]+ \\[deep\\]: its stack of "
                "262144 bytes is used up; raise options::stack_size"));
  CHECK(r.says("started in "));
}

TEST_CASE("exit under live goroutines does not crash, keeps the status and loses no output") {
#if defined(_WIN32)
  constexpr int times = 5;  // each starts a program by another one
#else
  const int times = THRUM_ASAN || THRUM_TSAN || emulated() ? 5 : 25;
#endif
  for (int i = 0; i != times; ++i) {
    const program_result r = run_program("exit_under_goroutines");
    INFO(r.text);
    REQUIRE(r.exit_code == 3);
    REQUIRE(r.text == "written before the exit");
  }
}

#if !defined(_WIN32)  // there is no fork, and no SIGQUIT

TEST_CASE("a child process that uses its parent's runtime ends with a report, and exec works") {
  check_programs({{"fork_and_use",
                   0,
                   nullptr,
                   {"fatal error: thrum: a runtime was used in a child process after fork",
                    "child: signal 6\n"}},
                  {"fork_and_exec", 0, nullptr, {"good 20\n"}}});  // beside goroutines that compute
}

TEST_CASE("SIGQUIT shows all goroutines with THRUM_DEBUG=dump=1, and else ends the program") {
  check_programs(
      {{"dump_on_quit", 0, nullptr, {"\"mouse\":\n", "still here\n"}, "THRUM_DEBUG=dump=1"}});
  const program_result r = run_program("dump_on_quit", "THRUM_DEBUG=");
  CHECK((r.signal == SIGQUIT || r.exit_code == 128 + SIGQUIT));
  CHECK_FALSE(r.says("mouse"));
}

#endif

TEST_CASE("a dump shows what each goroutine waits for, since when, and where it stands") {
  const program_result r = run_program("dump", "THRUM_MAXPROCS=2");
  INFO(r.text);
  CHECK(r.exit_code == 0);
  CHECK(matches(r.text, "goroutine 1 \\[running\\]:\n"));
  CHECK(matches(r.text, "goroutine [0-9]+ \\[chan receive, [0-9]+ ms\\] \"mouse\":\n"));
  CHECK(matches(
      r.text,
      "goroutine [0-9]+ \\[(running|runnable|preempted), locked to thread\\] \"miller\":\n"));
  CHECK(matches(r.text, "\tstarted in .*\\+0x[0-9a-f]+\n"));
  if (!emulated()) {
    CHECK(r.says("wait_for_cheese"));
  }
  if (!emulated() && thrum::os::has_preempt_signal) {
    CHECK(r.says("compute_for_ever"));
  }
}

TEST_CASE("how long a goroutine has waited is known also after 49 days") {
  using thrum::debug::waited_ms;
  constexpr std::int64_t turn = std::int64_t{1} << 32;
  CHECK(waited_ms(5'000, 2'000) == 3'000);
  CHECK(waited_ms(turn + 5'000, 2'000) == 3'000);
  CHECK(waited_ms(turn + 1'000, static_cast<std::uint32_t>(turn - 1'000)) == 2'000);
  CHECK(waited_ms(5'000, 5'010) == 0);
  CHECK(waited_ms(turn + 5, 10) == 0);
}

TEST_CASE("dumps beside goroutines that throw, and that load libraries, leave the program alone") {
  check_programs({{"dump_beside_exceptions", 0, "goes on\n", {}, "THRUM_DEBUG=lines=0"}});
}

TEST_CASE("scheddetail prints Go's lines for each P, M and G", "[once]") {
  const program_result r =
      run_program("detail", "THRUM_MAXPROCS=2 THRUM_DEBUG=schedtrace=40,scheddetail=1");
  INFO(r.text);
  CHECK(r.exit_code == 0);
  const std::string summary =
      "SCHED [0-9]+ms: gomaxprocs=2 idleprocs=[0-2] threads=[0-9]+ spinningthreads=[0-9]+ "
      "needspinning=[01] idlethreads=[0-9]+ runqueue=[0-9]+ gcwaiting=(true|false) "
      "nmidlelocked=[01] "
      "stopwait=0 sysmonwait=(true|false)";
  const std::string p =
      "  P[01]: status=[0-4] schedtick=[0-9]+ syscalltick=[0-9]+ m=([0-9]+|nil) runqsize=[0-9]+ "
      "gfreecnt=[0-9]+ timerslen=[0-9]+";
  const std::string m =
      "  M[0-9]+: p=([01]|nil) curg=([0-9]+|nil) mallocing=0 throwing=0 preemptoff= locks=[01] "
      "dying=0 "
      "spinning=(true|false) blocked=(true|false) lockedg=([0-9]+|nil)";
  const std::string g = "  G[0-9]+: status=[0-9]\\([a-z_ ]*\\) m=([0-9]+|nil) lockedm=([0-9]+|nil)";
  std::istringstream lines(r.text);
  int n[4] = {};
  for (std::string line; std::getline(lines, line);) {
    const bool known[] = {support::is_match(line, summary), support::is_match(line, p),
                          support::is_match(line, m), support::is_match(line, g)};
    REQUIRE(known[0] + known[1] + known[2] + known[3] == 1);
    for (int i = 0; i != 4; ++i) {
      n[i] += known[i];
    }
  }
  CHECK(n[0] >= 2);
  CHECK(n[1] == 2 * n[0]);
  CHECK(n[2] >= n[0]);
  CHECK(n[3] >= n[0]);
  CHECK(matches(r.text, "  G[0-9]+: status=4\\(chan receive\\) m=nil lockedm=[0-9]+\n"));
  CHECK(matches(r.text, "  M[0-9]+: p=nil curg=nil .* lockedg=[0-9]+\n"));
}

TEST_CASE("THRUM_DEBUG=blocked=1 names each goroutine that is blocked for a second, once") {
  const program_result r = run_program("blocked_for_long", "THRUM_DEBUG=blocked=1");
  INFO(r.text);
  CHECK(r.exit_code == 0);
  const std::string words = "[mouse] has been blocked in chan receive for ";
  const std::size_t at = r.text.find(words);
  REQUIRE(at != std::string::npos);
  CHECK(r.text.find(words, at + 1) == std::string::npos);
}

TEST_CASE("THRUM_DEBUG=hogs=5 names a goroutine that runs for five slices while others wait") {
  if (!support::system_sees_threads()) {
    return;
  }
  const program_result r = run_program("kept_for_long", "THRUM_DEBUG=hogs=5");
  INFO(r.text);
  CHECK(r.exit_code == 0);
  CHECK(matches(r.text,
                "thrum: goroutine 1 \\[hog\\] has kept processor 0 for [0-9]+ ms while others "
                "waited; started in "));
}

#if !defined(_WIN32)  // there is no limit to set

TEST_CASE("where the system refuses memory or threads, goroutines that have theirs go on") {
  if (!space_can_be_limited()) {
    return;
  }
  check_programs({
      {"out_of_stacks",
       0,
       nullptr,
       {"refused: go: no memory for the stack of another goroutine", "others run: 7\n"}},
      {"refused_threads_of_locked", 0, nullptr, {"slept\n"}},  // of a goroutine that is locked
  });
}

TEST_CASE("a runtime that is refused threads says so once and goes on with those it has") {
  if (!space_can_be_limited()) {
    return;
  }
  const program_result r = run_program("refused_threads");
  INFO(r.text);
  CHECK(r.exit_code == 0);
  const std::string words = "thrum: go: the system refuses thread ";
  const std::size_t at = r.text.find(words);
  REQUIRE(at != std::string::npos);
  CHECK(r.text.find(words, at + 1) == std::string::npos);
  CHECK(r.says("ended: 32\n"));
  CHECK(r.says("more threads later: yes\n"));
}

TEST_CASE(
    "a runtime that the system refuses one of its first threads says so and leaves nothing "
    "behind") {
  if (!space_can_be_limited()) {
    return;
  }
  const program_result r = run_program("refused_start");
  INFO(r.text);
  CHECK(r.exit_code == 0);
  CHECK(r.text.ends_with("started, refused before: yes\n"));
  CHECK_FALSE(r.says("refused: "));
  CHECK_FALSE(r.says("threads that stay"));
}

#endif

namespace {

const int tally_places[8] = {};

}  // namespace

TEST_CASE("a tally has each thing once, however often it was added") {
  thrum::debug::tally seen;
  for (int i = 0; i != 10'000; ++i) {
    seen.add(&tally_places[i % 8], static_cast<std::uint32_t>(i % 2));
  }
  const auto& all = seen.by_kind();
  REQUIRE(all.size() == 8);
  for (std::size_t i = 0; i != 8; ++i) {
    CHECK(all[i].n == 1'250);
    CHECK(all[i].kind == i / 4);
  }
}

TEST_CASE(
    "a tally puts the most frequent first, and equally frequent ones in order of their kinds") {
  thrum::debug::tally seen;
  seen.add(&tally_places[2], 7);
  seen.add(&tally_places[1], 3);
  for (int i = 0; i != 3; ++i) {
    seen.add(&tally_places[0], 9);
  }
  const auto& all = seen.by_frequency();
  REQUIRE(all.size() == 3);
  CHECK(all[0].kind == 9);
  CHECK(all[0].n == 3);
  CHECK(all[1].kind == 3);
  CHECK(all[2].kind == 7);
}

TEST_CASE("a tally of nothing is empty") {
  thrum::debug::tally seen;
  CHECK(seen.by_kind().empty());
  CHECK(seen.by_frequency().empty());
}

TEST_CASE("a stop that waits for a goroutine that computes names it, once and in one line") {
  support::watched_errors errors;
  std::atomic<bool> runs{false};
  std::atomic<bool> ends{false};
  std::string said;
  {
    thrum::runtime runtime(thrum::options{.procs = 2});
    runtime.go({.name = "endless"}, [&] {
      runs = true;
      while (!ends) {
      }
    });
    while (!runs) {
      std::this_thread::yield();
    }
    std::thread watcher([&] {
      while (!errors.say("thrum: stop:")) {  // the test's watchdog ends it
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
      said = errors.take();
      ends = true;
    });
    runtime.stop();
    watcher.join();
  }
  INFO(said);
  CHECK(support::has_match(said,
                           "^thrum: stop: waits for goroutine [0-9]+ \\[[a-z]+\\] "
                           "\"endless\".*, started in .*; let it return"));
  CHECK(said.find('\n') == said.size() - 1);
  CHECK(errors.take().empty());
}

TEST_CASE("a stop whose goroutines end in time says nothing") {
  support::watched_errors errors;
  {
    thrum::runtime runtime(thrum::options{.procs = 2});
    runtime.go([] { thrum::select(); });
  }
  CHECK(errors.take().empty());
}

namespace {

/// Emulators have no guards, sanitizers their own report and probes of their own.
bool overflows_are_ours() {
  return std::getenv("THRUM_TEST_EMULATOR") == nullptr && !THRUM_ASAN && !THRUM_TSAN;
}

void check_overflow_report(const std::string& program, const std::string& who,
                           const std::string& why) {
  if (!overflows_are_ours()) {
    return;
  }
  const support::program_result r = support::run_program(program);
  INFO(program << ": " << r.text);
  CHECK((support::is_fault(r.signal) || r.signal == SIGABRT));
  CHECK(support::has_match(r.text,
                           "fatal error: thrum: stack overflow in goroutine [0-9]+ " + who + why +
                               "[^;]*; raise options::stack_size, or attributes::stack_size"));
#if defined(_WIN32)
  CHECK(r.says("started in "));
#else  // the function's name, as the linker has it
  CHECK(support::has_match(r.text, "started in [_a-zA-Z0-9.]+ at "));
#endif
  CHECK_FALSE(r.says("came back"));
}

const std::string used_up_262144 = ": its stack of 262144 bytes is used up";
#if defined(_WIN32)  // there each compiler touches a large frame page by page
const std::string used_up_by_one_frame = used_up_262144;
#else
const std::string used_up_by_one_frame =
    used_up_262144 + " by a frame that is larger than the guard";
#endif

}  // namespace

TEST_CASE("an overflow of a stack is reported, however large the frame and whatever it touches") {
  for (const char* const program :
       {"overflow_by_40k", "overflow_by_60k",                  // touch their near end only
        "overflow_between_by_40k", "overflow_between_by_60k",  // a neighbour on both sides
        "overflow_on_stack_of_hook", "overflow_into_guard_of_a_page"}) {
    check_overflow_report(program, "\\[deep\\]", used_up_262144);
  }
  // Beyond the guard: noticed when the goroutine leaves the processor, or faults.
  for (const char* const program :
       {"overflow_that_parks", "overflow_that_yields", "overflow_that_faults"}) {
    check_overflow_report(program, "\\[huge\\]", used_up_by_one_frame);
  }
}

TEST_CASE("the guard of the smallest stack is as large as that of others") {
  if (thrum::os::page_size() == 4096) {
    check_overflow_report("overflow_small_stack", "\\[small\\]",
                          ": its stack of 16384 bytes is used up");
  }
}

TEST_CASE("the report of an overflow of the largest stack does not ask for a larger one") {
  support::watched_errors errors;
  thrum::sched::goroutine g;
  g.size_class = thrum::sched::max_stack_class;
  thrum::debug::write_overflow(g, "");
  const std::string said = errors.take();
  INFO(said);
  CHECK(said.find("its stack of 1073741824 bytes is used up, and no stack can be larger") !=
        said.npos);
  CHECK(said.find("raise") == said.npos);
}

TEST_CASE("a goroutine on a stack that it brought along parks and goes on") {
  if (THRUM_ASAN || THRUM_TSAN) {
    return;  // they would have to be told of that stack
  }
  CHECK(support::run_program("park_on_own_stack").text == "went on\n");
}
