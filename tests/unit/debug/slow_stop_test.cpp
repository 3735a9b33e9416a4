// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/detail/debug/slow_stop.hpp>

#include "support/patterns.hpp"
#include "support/test.hpp"
#include "support/watched_errors.hpp"

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
