// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The header wants a program that is compiled for it, and is its only preemption.

#include "support/program_rows.hpp"
#include "support/sees_threads.hpp"

#ifdef THRUM_TRACE_PC_PATH  // sanitizers define the hook themselves

TEST_CASE(
    "with trace_pc a loop without calls gives up its processor, and all else goes on as ever") {
  support::check_programs({{"loop_without_calls", 0, "the other ran\n"},  // without any signal
                           {"library_under_load", 0, "all there\n"},      // is instrumented itself
                           {"foreign_thread", 0, "counted to 1000000\n"}},
                          THRUM_TRACE_PC_PATH);
  if (support::system_sees_threads()) {  // keeps its thread, and errno
    support::check_programs({{"thread_kept", 0, "moved 0\n"}}, THRUM_TRACE_PC_PATH);
  }
}

#endif
