// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The fixture of all tests that need goroutines: a runtime as the environment asks for, and a look
// afterwards that nothing of it is left.
//
// THRUM_MAXPROCS gives the processors, THRUM_TEST_SLICE_US the time slice. Only the test's own
// goroutine may use the assertions of Catch: others report through it.
#ifndef THRUM_TESTS_SUPPORT_WITH_RUNTIME_HPP
#define THRUM_TESTS_SUPPORT_WITH_RUNTIME_HPP

#include <thrum.hpp>

#include "support/catch.hpp"

#include <chrono>
#include <cstdlib>
#include <string>
#include <utility>

namespace support {

inline thrum::options environment_options() {
  thrum::options options = thrum::options::from_environment();
  if (const char* const text = std::getenv("THRUM_TEST_SLICE_US")) {
    options.time_slice = std::chrono::microseconds(std::strtol(text, nullptr, 10));
  }
  return options;
}

/// The same with a number of processors that the test depends on.
inline thrum::options with_procs(unsigned n) {
  thrum::options options = environment_options();
  options.procs = n;
  return options;
}

/// One processor, without preemption: a goroutine runs until it waits or yields.
inline thrum::options one_undisturbed_processor() {
  thrum::options options = with_procs(1);
  options.preempt = thrum::preemption::none;
  return options;
}

/// n processors whose time slices never end: the monitor makes no goroutine for a half of a fork, which it
/// does for one that has been on offer for a slice.
inline thrum::options with_endless_slices(unsigned n) {
  thrum::options options = with_procs(n);
  options.time_slice = std::chrono::hours(1);
  return options;
}

/// The same for every f: what a runtime makes of a callable is compiled once, and not for each of them.
inline void with_runtime(thrum::options options, void (*call)(void* f), void* f) {
  thrum::runtime runtime(std::move(options));
  runtime.block_on([=] { call(f); });
  runtime.stop();
  const thrum::stats_snapshot after = runtime.stats();
  INFO("after: " << Catch::getResultCapture().getCurrentTestName());  // all that fail do so here
  CHECK(after.created == after.finished);
  CHECK(after.goroutines == 0);
  CHECK(after.runnable == 0);
  CHECK(after.running == 0);
  CHECK(after.waiting == 0);
  CHECK(after.in_syscall == 0);
}

/// Runs f as the first goroutine of a runtime, stops that, and checks that every goroutine has
/// ended.
template <class F>
void with_runtime(thrum::options options, F f) {
  with_runtime(
      std::move(options), [](void* own) { (*static_cast<F*>(own))(); }, &f);
}

template <class F>
void with_runtime(F f) {
  with_runtime(environment_options(), std::move(f));
}

/// The same for every f, as above.
inline void in_goroutines(int n, void (*call)(void* f, int i), void* f) {
  thrum::wait_group group;
  for (int i = 0; i < n; ++i) {
    group.go([=] { call(f, i); });
  }
  group.wait();
}

/// Runs f(0) to f(n - 1), each in a goroutine of its own, and waits for all of them.
template <class F>
void in_goroutines(int n, F f) {
  in_goroutines(
      n, [](void* own, int i) { (*static_cast<F*>(own))(i); }, &f);
}

/// The message of the usage_error that f throws; empty if it throws none.
template <class F>
std::string usage_message(F&& f) {
  try {
    std::forward<F>(f)();
  } catch (const thrum::usage_error& error) {
    return error.what();
  }
  return {};
}

/// Whether the message of the usage_error that f throws starts with the name of the operation.
template <class F>
bool is_usage_error(const std::string& operation, F&& f) {
  return usage_message(std::forward<F>(f)).rfind(operation, 0) == 0;
}

}  // namespace support

/// IN_RUNTIME("name", options) { ... }: a test case whose body with_runtime(options, ...) runs; without
/// options, with those of the environment.
#define IN_RUNTIME(name, ...) SUPPORT_CASE(__COUNTER__, name, ::support::with_runtime, __VA_ARGS__)
/// IN_BUBBLE("name") { ... }: a test case whose body runs in virtual time.
#define IN_BUBBLE(name) SUPPORT_CASE(__COUNTER__, name, ::thrum::testing::bubble, )
#define SUPPORT_CASE(n, ...) SUPPORT_NUMBERED_CASE(n, __VA_ARGS__)
#define SUPPORT_NUMBERED_CASE(n, name, run, ...)                       \
  static void body_of_case_##n();                                      \
  TEST_CASE(name) { run(__VA_OPT__(__VA_ARGS__, ) body_of_case_##n); } \
  static void body_of_case_##n()

#endif
