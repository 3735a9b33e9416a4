// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Contexts and std::stop_token: who is told when, and who may go meanwhile.

#include <thrum/context.hpp>

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/scale.hpp"
#include "support/stop_source.hpp"
#include "support/with_runtime.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <stop_token>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using support::scaled;
using support::with_runtime;
using thrum::context;

TEST_CASE("a context that follows a stop_token may be dropped while the stop is requested") {
  // The two threads meet at each step, and reach for the context after a different delay each time.
  const int rounds = scaled(20'000);
  std::atomic<std::stop_source*> asked{nullptr};
  std::atomic<bool> over{false};
  int requests = 0;
  std::thread requester([&] {
    while (!over) {
      if (std::stop_source* const source = asked.load()) {
        requests += source->request_stop() ? 1 : 0;
        asked = nullptr;
      }
    }
  });
  for (int round = 0; round != rounds; ++round) {
    std::stop_source source = support::new_source();
    {
      const context follows = context::background().with_stop_token(source.get_token());
      asked = &source;
      for (std::atomic<int> delay{round % 200}; delay != 0; --delay) {
      }
    }
    while (asked.load() != nullptr) {
      std::this_thread::yield();
    }
  }
  over = true;
  requester.join();
  CHECK(requests == rounds);
}

TEST_CASE("a callback that cancels its context once more finds all below it done") {
  const context parent = context::background().with_cancel();
  const context child = parent.with_cancel();
  bool child_was_done = false;
  const std::stop_callback callback(parent.stop_token(), [&] {
    parent.cancel();
    child_was_done = child.cancelled();
  });
  parent.cancel();
  CHECK(child_was_done);
}

TEST_CASE("a callback of a context may wait for somebody who waits for a child to be done") {
  with_runtime([] {
    const context parent = context::background().with_cancel();
    const context child = parent.with_cancel();
    auto worker = thrum::spawn([child] { child.done().recv(); });
    bool ended = false;
    const std::stop_callback callback(parent.stop_token(),
                                      [&] { ended = worker.wait_for(support::long_time); });
    parent.cancel();
    CHECK(ended);
  });
}

TEST_CASE("of those who cancel a context at the same time, each returns when all below is done") {
  with_runtime(support::with_procs(4), [] {
    constexpr std::size_t width = 300;
    for (int round = 0; round != scaled(200); ++round) {
      const context root = context::background().with_cancel();
      const context middle = root.with_cancel();
      std::vector<context> leaves;
      for (std::size_t i = 0; i != width; ++i) {
        leaves.push_back(middle.with_cancel());
      }
      std::atomic<int> early{0};
      thrum::wait_group group;
      for (const context& cancelled : {root, middle, root, middle}) {
        group.go([&, cancelled] {
          cancelled.cancel();
          early += leaves.back().done().is_closed() ? 0 : 1;
        });
      }
      group.wait();
      REQUIRE(early == 0);
    }
  });
}
