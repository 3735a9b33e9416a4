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
#include <stop_token>
#include <thread>

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
