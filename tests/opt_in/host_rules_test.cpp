// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What programs with a main loop ask of a library. Programs of their own: tests/programs/opt_in/host_rules.cpp.
#include "support/program_rows.hpp"

#ifdef THRUM_HOST_RULES_PATH  // sanitizers have an operator new and handlers of their own

TEST_CASE(
    "frames of poll, jobs and calls on the host allocate nothing once all is warm; with "
    "preemption::cooperative no signal has a handler, and blocked goroutines lose their "
    "processor") {
  support::check_programs({{"frames_allocate_nothing", 0}, {"cooperative_without_handlers", 0}},
                          THRUM_HOST_RULES_PATH);
}

#endif
