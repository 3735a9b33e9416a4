// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The header wants a program that is compiled for it, and is its only preemption.

#include "support/catch.hpp"
#include "support/program.hpp"
#include "support/sees_threads.hpp"

#include <string>

#ifdef THRUM_TRACE_PC_PATH  // sanitizers define the hook themselves

namespace {

support::program_result traced(const std::string& name) {
  return support::run_file(THRUM_TRACE_PC_PATH, name);
}

}  // namespace

TEST_CASE("with trace_pc a loop without calls gives up its processor, without any signal") {
  const support::program_result r = traced("loop_without_calls");
  CHECK(r.exit_code == 0);
  CHECK(r.text == "the other ran\n");
}

TEST_CASE("with trace_pc a library that is instrumented itself loses nothing") {
  const support::program_result r = traced("library_under_load");
  CHECK(r.exit_code == 0);
  CHECK(r.text == "all there\n");
}

TEST_CASE("with trace_pc a goroutine that gives up its processor keeps its thread, and errno") {
  if (!support::system_sees_threads()) {
    return;
  }
  const support::program_result r = traced("thread_kept");
  CHECK(r.exit_code == 0);
  CHECK(r.text == "moved 0\n");
}

TEST_CASE("with trace_pc a foreign thread goes on as ever") {
  const support::program_result r = traced("foreign_thread");
  CHECK(r.exit_code == 0);
  CHECK(r.text == "counted to 1000000\n");
}

#endif
