// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Runs programs/opt_in/memory.cpp, whose operator new counts allocations or refuses them.
#include "support/catch.hpp"
#include "support/program.hpp"

#ifdef THRUM_MEMORY_PATH  // sanitizers have an operator new of their own

namespace {

void check_memory_of(const char* program) {
  const auto result = support::run_file(THRUM_MEMORY_PATH, program);
  INFO(program << ": " << result.text);
  CHECK(result.exit_code == 0);
}

}  // namespace

TEST_CASE("go allocates nothing once as many goroutines have run before", "[once]") {
  check_memory_of("start_goroutines_again");
}

TEST_CASE("the waits of coroutines allocate nothing", "[once]") {
  check_memory_of("coroutines_wait");
}

TEST_CASE(
    "calls at a context's end, dials and closes in a fake net outlive allocations that fail") {
  check_memory_of("call_at_the_end_without_memory");
  check_memory_of("dial_in_a_fake_net_without_memory");
  check_memory_of("close_in_a_fake_net_without_memory");
}

TEST_CASE("a CPU profile for which there is no memory loses samples, and a later one begins") {
  check_memory_of("begin_profile_without_memory");
  check_memory_of("collect_samples_without_memory");
}

#endif
