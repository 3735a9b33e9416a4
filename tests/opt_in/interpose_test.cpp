// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The header takes the place of functions of the C library, so a program of its own includes it.

#include "support/program_rows.hpp"

#ifdef THRUM_INTERPOSE_PATH  // Linux with glibc and 64-bit pointers, no sanitizer

TEST_CASE("three thousand goroutines in plain read and in sleep need a handful of threads") {
  support::check_programs({{"many_readers", 0, ""}, {"many_sleepers", 0, ""}},
                          THRUM_INTERPOSE_PATH);
}

TEST_CASE("an interposed call moves as much, and fails, as it does on a thread") {
  support::check_programs({{"large_transfers", 0, ""},
                           {"flags_and_time_outs", 0, ""},
                           {"datagrams", 0, ""},
                           {"streams_that_end", 0, ""}},
                          THRUM_INTERPOSE_PATH);
}

TEST_CASE("interposed poll, select, epoll_wait, accept and connect park and report what is ready") {
  support::check_programs({{"several_descriptors", 0, ""}, {"connections", 0, ""}},
                          THRUM_INTERPOSE_PATH);
}

TEST_CASE("interposed calls of threads and of a forked child block as ever, and can be cancelled") {
  support::check_programs({{"other_threads", 0, ""}, {"forked_child", 0, ""}},
                          THRUM_INTERPOSE_PATH);
}

#endif
