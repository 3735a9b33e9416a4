// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The end of tests that hang (support/watchdog.cpp).

#include "support/process.hpp"
#include "support/program.hpp"
#include "support/test.hpp"

#if !defined(_WIN32)
#include <unistd.h>
#endif

TEST_CASE("one that hangs, for the next one", "[.hangs]") {
  support::with_runtime([] {
    thrum::this_goroutine::name("sleeper");
#if !defined(_WIN32)
    CHECK(::alarm(1) != 0);  // the limit, which was set, comes now that the goroutine has its name
#endif
    thrum::sleep_for(std::chrono::hours(1));
    FAIL("nobody has ended it");
  });
}

TEST_CASE("a test that takes too long is ended, with its name and its goroutines", "[once]") {
#if defined(_WIN32)
  constexpr const char* hanging = "\"[.hangs]\"";
#else
  constexpr const char* hanging = "'[.hangs]'";
#endif
  const std::string own = support::own_program();
#if defined(_WIN32)
  const std::string limit = "5";
#else
  const std::string limit = "200";
#endif
  // ThreadSanitizer would report what the handlers of this end call, and Catch2's among them.
  const std::string quiet = THRUM_TSAN ? "TSAN_OPTIONS=report_signal_unsafe=0 " : "";
  const support::program_result r =
      support::run_file(own, hanging, quiet + "THRUM_TEST_LIMIT_S=" + limit);
  INFO(r.text);
  CHECK(r.says("this test takes longer than " + limit + " s"));
  CHECK(r.says("\"sleeper\""));
  CHECK(r.says("one that hangs, for the next one"));
#if !defined(_WIN32)
  CHECK(r.says("SIGABRT"));
#endif
}
