// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/sync/shared_mutex.hpp>

#include "support/stop_source.hpp"
#include "support/test.hpp"
#include "support/waits.hpp"

#include <thrum/testing/bubble.hpp>

#include <chrono>
#include <shared_mutex>

TEST_CASE("readers share a shared_mutex, a writer excludes all") {
  thrum::shared_mutex mutex;
  CHECK(mutex.try_lock_shared());
  CHECK(mutex.try_lock_shared());
  CHECK_FALSE(mutex.try_lock());
  mutex.unlock_shared();
  CHECK_FALSE(mutex.try_lock());
  mutex.unlock_shared();
  CHECK(mutex.try_lock());
  CHECK_FALSE(mutex.try_lock());
  CHECK_FALSE(mutex.try_lock_shared());
  mutex.unlock();
  CHECK(mutex.try_lock_shared());
  mutex.unlock_shared();
}

IN_RUNTIME("a reader that comes after a waiting writer waits behind it") {
  thrum::shared_mutex mutex;
  std::vector<int> order;
  mutex.lock_shared();
  auto writer = thrum::spawn([&] {
    const std::unique_lock lock(mutex);
    order.push_back(1);
  });
  REQUIRE(are_waiting(1));
  CHECK_FALSE(mutex.try_lock_shared());
  auto reader = thrum::spawn([&] {
    const std::shared_lock lock(mutex);
    order.push_back(2);
  });
  REQUIRE(are_waiting(2));
  mutex.unlock_shared();
  writer.join();
  reader.join();
  CHECK(order == std::vector<int>{1, 2});
}

IN_RUNTIME("a writer that leaves lets in all readers that wait, before the next writer") {
  thrum::shared_mutex mutex;
  std::atomic<int> readers{0};
  std::atomic<int> seen{-1};
  mutex.lock();
  auto second = thrum::spawn([&] {
    const std::unique_lock lock(mutex);
    seen = readers.load();
  });
  REQUIRE(are_waiting(1));
  thrum::wait_group group;
  for (int i = 0; i != 3; ++i) {
    group.go([&] {
      const std::shared_lock lock(mutex);
      ++readers;
    });
  }
  REQUIRE(are_waiting(4));
  mutex.unlock();
  group.wait();
  second.join();
  CHECK(seen == 3);
}

namespace {

/// Overtakes `readers` goroutines that wait for a mutex which the caller holds: the caller unlocks it, and
/// has it again before they run. They wait for the second time when this returns.
void overtake(thrum::shared_mutex& mutex, std::uint64_t readers) {
  REQUIRE(eventually_waiting(readers));
  mutex.unlock();
  REQUIRE(mutex.try_lock());
  REQUIRE(thrum::stats().waiting == 0);
  REQUIRE(eventually_waiting(readers));
}

/// Whether readers get their shares from an unlock of the caller, so that it cannot have the mutex back.
bool is_handed_over(thrum::shared_mutex& mutex) {
  mutex.unlock();
  const bool is_free = mutex.try_lock();
  if (is_free) {
    mutex.unlock();
  }
  return !is_free;
}

}  // namespace

IN_RUNTIME("a writer overtakes readers that do not run yet once, and not for the second time",
           one_undisturbed_processor()) {
  thrum::shared_mutex mutex;
  int readers = 0;
  const auto read = [&] {
    const std::shared_lock lock(mutex);
    ++readers;
  };
  for (int round = 0; round != 3; ++round) {
    readers = 0;
    mutex.lock();
    auto first = thrum::spawn(read);
    overtake(mutex, 1);
    auto second = thrum::spawn(read);  // its first wait, but it gets its share with the other one
    REQUIRE(eventually_waiting(2));
    CHECK(readers == 0);
    CHECK(is_handed_over(mutex));
    first.join();
    second.join();
    CHECK(readers == 2);
    CHECK(mutex.try_lock());
    mutex.unlock();
  }
}

IN_RUNTIME("a writer that leaves while another one waits hands the readers their shares",
           one_undisturbed_processor()) {
  thrum::shared_mutex mutex;
  mutex.lock();
  auto reader = thrum::spawn([&] { const std::shared_lock lock(mutex); });
  auto writer = thrum::spawn([&] { const std::unique_lock lock(mutex); });
  REQUIRE(eventually_waiting(2));
  CHECK(is_handed_over(mutex));
  reader.join();
  writer.join();
  CHECK(mutex.try_lock());
  mutex.unlock();
}

TEST_CASE("a reader that a writer has overtaken waits until its deadline, counted from the call") {
  thrum::testing::bubble(one_undisturbed_processor(), [] {
    thrum::shared_mutex mutex;
    const auto start = thrum::testing::now();
    mutex.lock();
    auto reader = thrum::spawn([&] {
      const bool has_share = mutex.try_lock_shared_for(2s);
      return has_share ? 0s : thrum::testing::now() - start;
    });
    thrum::sleep_for(1s);
    overtake(mutex, 1);
    CHECK(reader.join() == 2s);
    mutex.unlock();
    CHECK(mutex.try_lock());  // no waiter is left
    mutex.unlock();
    CHECK(mutex.try_lock_shared());
    mutex.unlock_shared();
  });
}

IN_RUNTIME("a stop ends the wait of a reader that a writer has overtaken",
           one_undisturbed_processor()) {
  thrum::shared_mutex mutex;
  std::stop_source source = support::new_source();
  mutex.lock();
  auto reader = thrum::spawn([&] { return mutex.lock_shared(source.get_token()); });
  overtake(mutex, 1);
  source.request_stop();
  CHECK_FALSE(reader.join());
  mutex.unlock();
  CHECK(mutex.try_lock());
  mutex.unlock();
}

IN_RUNTIME("a stop between two waits of a reader ends the second one, and no share is lost",
           one_undisturbed_processor()) {
  thrum::shared_mutex mutex;
  std::stop_source source = support::new_source();
  mutex.lock();
  auto stopped = thrum::spawn([&] { return mutex.lock_shared(source.get_token()); });
  auto other = thrum::spawn([&] {
    mutex.lock_shared();
    mutex.unlock_shared();
  });
  REQUIRE(eventually_waiting(2));
  mutex.unlock();
  REQUIRE(mutex.try_lock());
  source.request_stop();  // both are invited, and have not run yet
  CHECK_FALSE(stopped.join());
  CHECK_FALSE(other.done());
  CHECK(is_handed_over(mutex));
  other.join();
}

IN_RUNTIME("a writer that gives up lets the readers behind it go on") {
  thrum::shared_mutex mutex;
  mutex.lock_shared();
  thrum::join_handle<bool> writer;
  const auto waits = [] { return thrum::stats().waiting == 1; };
  // Until it waits when we look, and has not given up already.
  for (auto time = 20ms; !waits(); time *= 2) {
    if (writer.joinable()) {
      CHECK_FALSE(writer.join());
    }
    writer = thrum::spawn([&, time] { return mutex.try_lock_for(time); });
    eventually([&] { return waits() || writer.done(); });
  }
  auto reader = thrum::spawn([&] {
    mutex.lock_shared();
    mutex.unlock_shared();
  });
  reader.join();
  CHECK_FALSE(writer.join());
  mutex.unlock_shared();
  CHECK(mutex.try_lock());
  mutex.unlock();
}

IN_RUNTIME("a reader that gives up leaves the mutex to the others") {
  thrum::shared_mutex mutex;
  mutex.lock();
  thrum::spawn([&] {
    CHECK_FALSE(mutex.try_lock_shared_for(1ms));
    CHECK_FALSE(mutex.try_lock_shared_until(std::chrono::steady_clock::now() + 1ms));
    CHECK_FALSE(mutex.try_lock_until(std::chrono::steady_clock::now() + 1ms));
  }).join();
  mutex.unlock();
  CHECK(mutex.try_lock_for(1ms));
  mutex.unlock();
  CHECK(mutex.try_lock_shared_for(1ms));
  mutex.unlock_shared();
}

IN_RUNTIME("timed readers and writers that race keep a shared_mutex sound and usable",
           with_procs(4)) {
  thrum::shared_mutex mutex;
  std::atomic<int> state{0};  // readers, or -1
  std::atomic<bool> wrong{false};
  std::atomic<int> entered{0};
  in_goroutines(6, [&](int k) {
    for (int i = 0; i != scaled(1'500); ++i) {
      const auto time = std::chrono::microseconds((i * 7 + k) % 30);
      if (k < 2) {
        if (mutex.try_lock_for(time)) {
          wrong = wrong || state.exchange(-1) != 0;
          if (i % 8 == 0) {
            thrum::this_goroutine::yield();
          }
          wrong = wrong || state.exchange(0) != -1;
          mutex.unlock();
          ++entered;
        }
      } else if (mutex.try_lock_shared_for(time)) {
        wrong = wrong || ++state <= 0;
        if (i % 8 == 0) {
          thrum::this_goroutine::yield();
        }
        wrong = wrong || --state < 0;
        mutex.unlock_shared();
        ++entered;
      }
    }
  });
  CHECK_FALSE(wrong);
  CHECK(entered > 0);
  CHECK(mutex.try_lock());
}

IN_RUNTIME("neither writers nor readers starve under a steady stream of the others",
           with_procs(4)) {
  thrum::shared_mutex mutex;
  std::atomic<bool> stop{false};
  std::int64_t writers = 0;
  std::int64_t both = 0;  // a lock was had by more than it is for
  thrum::wait_group group;
  for (int i = 0; i != 3; ++i) {
    group.go([&] {
      while (!stop) {
        const std::shared_lock lock(mutex);
        thrum::this_goroutine::yield();
      }
    });
    group.go([&] {
      while (!stop) {
        const std::unique_lock lock(mutex);
        ++writers;
        thrum::this_goroutine::yield();
      }
    });
  }
  for (int i = 0; i != scaled(100); ++i) {
    mutex.lock();
    const std::int64_t before = writers;
    thrum::this_goroutine::yield();
    both += writers == before ? 0 : 1;
    mutex.unlock();
    mutex.lock_shared();
    const std::int64_t shared_before = writers;
    thrum::this_goroutine::yield();
    both += writers == shared_before ? 0 : 1;
    mutex.unlock_shared();
  }
  CHECK(both == 0);
  stop = true;
  group.wait();
}

IN_RUNTIME("goroutines and foreign threads exclude each other by a shared_mutex", with_procs(4)) {
  thrum::shared_mutex mutex;
  int value = 0;
  std::atomic<bool> torn{false};
  const auto work = [&] {
    for (int i = 0; i != scaled(1'000); ++i) {
      if (i % 4 == 0) {
        const std::unique_lock lock(mutex);
        ++value;
      } else {
        const std::shared_lock lock(mutex);
        torn = torn || value < 0;
      }
    }
  };
  support::on_goroutines_and_threads(3, work);
  CHECK(value == 6 * ((scaled(1'000) + 3) / 4));
  CHECK_FALSE(torn);
}

TEST_CASE("an unlock of a shared_mutex that is not held in that mode is an error of use") {
  thrum::shared_mutex mutex;
  CHECK(is_usage_error("shared_mutex::unlock", [&] { mutex.unlock(); }));
  CHECK(is_usage_error("shared_mutex::unlock_shared", [&] { mutex.unlock_shared(); }));
  mutex.lock_shared();
  CHECK(is_usage_error("shared_mutex::unlock", [&] { mutex.unlock(); }));
  mutex.unlock_shared();
  mutex.lock();
  CHECK(is_usage_error("shared_mutex::unlock_shared", [&] { mutex.unlock_shared(); }));
  mutex.unlock();
}

IN_RUNTIME("a shared_mutex may be destroyed by its next owner") {
  struct counted {
    thrum::shared_mutex mutex;
    std::atomic<int> references{3};
  };
  std::atomic<int> deleted{0};
  const int rounds = scaled(10'000);
  for (int i = 0; i != rounds; ++i) {
    auto* const object = new counted;
    const auto drop = [&deleted, object](bool reads) {
      reads ? object->mutex.lock_shared() : object->mutex.lock();
      const bool is_last = --object->references == 0;
      reads ? object->mutex.unlock_shared() : object->mutex.unlock();
      if (is_last) {
        // All others have let go, though perhaps not left unlock.
        object->mutex.lock();
        object->mutex.unlock();
        delete object;
        ++deleted;
      }
    };
    auto reader = thrum::spawn(drop, true);
    auto writer = thrum::spawn(drop, false);
    drop(i % 2 == 0);
    reader.join();
    writer.join();
  }
  CHECK(deleted == rounds);
}
