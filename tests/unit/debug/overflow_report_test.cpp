// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/detail/debug/overflow_report.hpp>

#include "support/patterns.hpp"
#include "support/program.hpp"
#include "support/test.hpp"
#include "support/watched_errors.hpp"

#include <csignal>

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
