// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What every primitive that blocks is asked: does a stop end its wait, do threads use it too?
#ifndef THRUM_TESTS_SUPPORT_WAITS_HPP
#define THRUM_TESTS_SUPPORT_WAITS_HPP

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/with_runtime.hpp"

#include <atomic>
#include <thread>
#include <vector>

namespace support {

/// Whether a goroutine that is parked in wait() is unwound when its runtime stops.
template <class F>
bool is_unwound_at_stop(F wait) {
  std::atomic<bool> unwound{false};
  with_runtime([&] {
    thrum::go([&] {
      struct at_end {
        std::atomic<bool>& flag;
        ~at_end() { flag = true; }
      } const scope{unwound};
      wait();
    });
    REQUIRE(are_waiting(1));
  });
  return unwound;
}

/// Runs work() in n goroutines and n foreign threads at the same time; from a goroutine.
template <class F>
void on_goroutines_and_threads(int n, F work) {
  std::vector<std::thread> threads;
  thrum::wait_group group;
  for (int i = 0; i != n; ++i) {
    threads.emplace_back(work);
    group.go(work);
  }
  group.wait();
  thrum::blocking([&] {
    for (std::thread& t : threads) {
      t.join();
    }
  });
}

}  // namespace support

#endif
