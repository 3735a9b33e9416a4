// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Go's tests of sync.WaitGroup and sync.Mutex, re-created from their descriptions.
// What they say of misuse is in wait_group_test and mutex_test.

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/scale.hpp"
#include "support/with_runtime.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>

using namespace std::chrono_literals;
using support::scaled;
using support::with_procs;
using support::with_runtime;

TEST_CASE("WaitGroup: two groups used as a barrier release nobody early") {
  with_runtime([] {
    thrum::wait_group first;
    thrum::wait_group second;
    for (int use = 0; use != 8; ++use) {
      constexpr int n = 16;
      first.add(n);
      second.add(n);
      thrum::chan<bool> exited(n);
      for (int i = 0; i != n; ++i) {
        thrum::go([&, exited]() mutable {
          first.done();
          second.wait();
          exited.send(true);
        });
      }
      first.wait();
      for (int i = 0; i != n; ++i) {
        bool ignored = false;
        REQUIRE(exited.try_recv(ignored) == thrum::recv_status::empty);
        second.done();
      }
      for (int i = 0; i != n; ++i) {
        REQUIRE(exited.recv() == true);
      }
    }
  });
}

TEST_CASE("WaitGroupRace: wait() sees what was done before each done()") {
  with_runtime([] {
    for (int i = scaled(1'000); i > 0; --i) {
      thrum::wait_group group;
      std::atomic<int> n{0};
      group.add(1);
      thrum::go([&] {
        n.fetch_add(1, std::memory_order_relaxed);
        group.done();
      });
      group.add(1);
      thrum::go([&] {
        n.fetch_add(1, std::memory_order_relaxed);
        group.done();
      });
      group.wait();
      REQUIRE(n.load(std::memory_order_relaxed) == 2);
    }
  });
}

TEST_CASE("WaitGroup: a group may be gone as soon as wait() has returned") {
  with_runtime([] {
    int early = 0;
    for (int round = scaled(10'000); round > 0; --round) {
      auto group = std::make_unique<thrum::wait_group>();
      group->add(2);
      std::atomic<int> done{0};
      for (int i = 0; i != 2; ++i) {
        thrum::go([&done, g = group.get()] {
          ++done;
          g->done();
        });
      }
      group->wait();
      early += done == 2 ? 0 : 1;
    }
    CHECK(early == 0);
  });
}

TEST_CASE("Mutex: ten goroutines that lock and try to lock exclude each other") {
  with_runtime([] {
    thrum::mutex mutex;
    int inside = 0;
    int locked = 0;
    std::atomic<int> violations{0};
    std::atomic<int> locked_by_all{0};
    thrum::wait_group group;
    const int rounds = scaled(1'000);
    for (int i = 0; i != 10; ++i) {
      group.go([&, i] {
        for (int round = 0; round != rounds; ++round) {
          if (round % 3 == 0) {
            if (!mutex.try_lock()) {
              continue;
            }
          } else {
            mutex.lock();
          }
          violations += ++inside != 1 ? 1 : 0;
          if (round % 50 == i) {
            thrum::this_goroutine::yield();
          }
          --inside;
          ++locked;
          ++locked_by_all;
          mutex.unlock();
        }
      });
    }
    group.wait();
    CHECK(violations == 0);
    CHECK(locked == locked_by_all);
  });
}

TEST_CASE(
    "MutexFairness: a goroutine that sleeps in between still gets a mutex that another hogs") {
  with_runtime(with_procs(2), [] {
    thrum::mutex mutex;
    std::atomic<bool> stop{false};
    auto hog = thrum::spawn([&] {
      while (!stop) {
        const std::lock_guard lock(mutex);
        const auto end = std::chrono::steady_clock::now() + 100us;
        while (std::chrono::steady_clock::now() < end) {
        }
      }
    });
    auto sleeper = thrum::spawn([&] {
      for (int i = 0; i != 10; ++i) {
        thrum::sleep_for(100us);
        const std::lock_guard lock(mutex);
      }
    });
    CHECK(sleeper.wait_for(support::long_time));
    stop = true;
    hog.join();
    sleeper.join();
  });
}
