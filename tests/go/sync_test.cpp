// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Go's tests of sync.WaitGroup, sync.Mutex and sync.RWMutex, and the runtime's of its semaphore, re-created
// from their descriptions. What they say of misuse is in wait_group_test and mutex_test.

#include "support/test.hpp"

#include <tuple>

IN_RUNTIME("WaitGroup: two groups used as a barrier release nobody early") {
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
}

IN_RUNTIME("WaitGroupRace: wait() sees what was done before each done()") {
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
}

IN_RUNTIME("WaitGroup: a group may be gone as soon as wait() has returned") {
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
}

IN_RUNTIME("Mutex: ten goroutines that lock and try to lock exclude each other") {
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
}

IN_RUNTIME("MutexFairness: a goroutine that sleeps in between still gets a mutex that another hogs",
           with_procs(2)) {
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
}

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

IN_RUNTIME("Semaphore: ten goroutines take one permit in turn a thousand times each",
           with_procs(4)) {
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
