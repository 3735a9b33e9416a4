// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Go's tests of sync.RWMutex, and the runtime's of its semaphore, re-created from their
// descriptions.

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/scale.hpp"
#include "support/with_runtime.hpp"

#include <atomic>
#include <cstddef>
#include <tuple>

using support::scaled;
using support::with_procs;
using support::with_runtime;

TEST_CASE("ParallelReaders: as many readers as come hold the lock at the same time") {
  for (const auto& [readers, procs] : {std::tuple(1, 4U), std::tuple(3, 4U), std::tuple(4, 2U)}) {
    with_runtime(with_procs(procs), [n = readers] {
      thrum::shared_mutex mutex;
      const auto count = static_cast<std::size_t>(n);
      const thrum::chan<void> locked(count);
      const thrum::chan<void> unlock(count);
      thrum::wait_group group;
      for (int i = 0; i != n; ++i) {
        group.go([&] {
          mutex.lock_shared();
          locked.send();
          unlock.recv();
          mutex.unlock_shared();
        });
      }
      for (int i = 0; i != n; ++i) {
        CHECK(locked.recv());  // none of them has unlocked
      }
      for (int i = 0; i != n; ++i) {
        unlock.send();
      }
      group.wait();
    });
  }
}

TEST_CASE("RWMutex: readers and writers in any numbers exclude each other") {
  struct setting {
    unsigned procs;
    int readers;
  };
  for (const setting s : {setting{1, 1}, setting{1, 3}, setting{1, 10}, setting{4, 1},
                          setting{4, 3}, setting{4, 10}, setting{10, 1}, setting{10, 5}}) {
    with_runtime(with_procs(s.procs), [readers = s.readers] {
      thrum::shared_mutex mutex;
      std::atomic<int> activity{0};  // 1 for each reader inside, 10,000 for each writer
      std::atomic<bool> wrong{false};
      const int rounds = scaled(200);
      const auto read = [&] {
        for (int i = 0; i != rounds; ++i) {
          mutex.lock_shared();
          const int n = ++activity;
          wrong = wrong || n < 1 || n >= 10'000;
          for (int k = 0; k != 100; ++k) {
            thrum::this_goroutine::preemption_point();
          }
          --activity;
          mutex.unlock_shared();
        }
      };
      const auto write = [&] {
        for (int i = 0; i != rounds; ++i) {
          mutex.lock();
          const int n = activity += 10'000;
          wrong = wrong || n != 10'000;
          for (int k = 0; k != 100; ++k) {
            thrum::this_goroutine::preemption_point();
          }
          activity -= 10'000;
          mutex.unlock();
        }
      };
      thrum::wait_group group;
      group.go(write);
      for (int i = 0; i != readers / 2; ++i) {
        group.go(read);
      }
      group.go(write);
      for (int i = readers / 2; i != readers; ++i) {
        group.go(read);
      }
      group.wait();
      CHECK_FALSE(wrong);
    });
  }
}

TEST_CASE("Semaphore: ten goroutines take one permit in turn a thousand times each") {
  with_runtime(with_procs(4), [] {
    thrum::counting_semaphore<> permit(1);
    int guarded = 0;
    thrum::wait_group group;
    for (int i = 0; i != 10; ++i) {
      group.go([&] {
        for (int k = 0; k != scaled(1'000); ++k) {
          permit.acquire();
          ++guarded;
          permit.release();
        }
      });
    }
    group.wait();
    CHECK(guarded == 10 * scaled(1'000));
  });
}

TEST_CASE(
    "SemaHandoff: a released permit goes to the waiter, not to the releaser that takes again") {
  for (const unsigned procs : {1U, 2U, 4U}) {
    with_runtime(with_procs(procs), [] {
      const int rounds = scaled(1'000, 100);
      int waiter_first = 0;
      for (int i = 0; i != rounds; ++i) {
        thrum::counting_semaphore<> permit(1);
        permit.acquire();
        std::atomic<int> order{0};
        auto waiter = thrum::spawn([&] {
          permit.acquire();
          const bool first = ++order == 1;
          permit.release();
          return first;
        });
        REQUIRE(support::eventually([] { return thrum::stats().waiting == 1; }));
        permit.release();
        permit.acquire();
        ++order;
        permit.release();
        waiter_first += waiter.join() ? 1 : 0;
      }
      CHECK(waiter_first == rounds);
    });
  }
}
