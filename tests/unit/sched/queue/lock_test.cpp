// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/detail/sched/queue/lock.hpp>
#include <thrum/detail/sched/queue/scoped.hpp>

#include "support/test.hpp"

namespace {

/// Threads that add to one plain number under a lock; what they got to.
template <class Lock>
long count_under(Lock& lock, int threads, int rounds) {
  long number = 0;
  std::vector<std::thread> all;
  all.reserve(static_cast<std::size_t>(threads));
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&] {
      for (int k = 0; k < rounds; ++k) {
        thrum::sched::scoped guard(lock);
        ++number;
      }
    });
  }
  for (auto& t : all) {
    t.join();
  }
  return number;
}

}  // namespace

TEST_CASE("a spin lock excludes") {
  thrum::sched::spin_lock lock{thrum::sched::lock_rank::waiters};
  REQUIRE(count_under(lock, 6, 20'000) == 6 * 20'000);
}

TEST_CASE("a blocking lock excludes") {
  thrum::sched::blocking_lock lock{thrum::sched::lock_rank::idle};
  REQUIRE(count_under(lock, 6, 20'000) == 6 * 20'000);
}

TEST_CASE("a spin lock that is held refuses to be tried") {
  thrum::sched::spin_lock lock{thrum::sched::lock_rank::waiters};
  lock.lock();
  REQUIRE(lock.is_locked());
  REQUIRE_FALSE(lock.try_lock());
  lock.unlock();
  REQUIRE(lock.try_lock());
  lock.unlock();
}

TEST_CASE("a waiter gets the lock when its holder sleeps for long") {
  thrum::sched::spin_lock lock{thrum::sched::lock_rank::waiters};
  lock.lock();
  std::thread waiter([&] {
    lock.lock();
    lock.unlock();
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  lock.unlock();
  waiter.join();
  REQUIRE_FALSE(lock.is_locked());
}

TEMPLATE_TEST_CASE("no thread enters while another holds the lock", "[lock]",
                   thrum::sched::spin_lock, thrum::sched::blocking_lock) {
  TestType lock{thrum::sched::lock_rank::waiters};
  std::atomic<bool> is_at_lock{false};
  std::atomic<bool> is_in{false};
  lock.lock();
  std::thread waiter([&] {
    is_at_lock = true;
    lock.lock();
    is_in = true;
    lock.unlock();
  });
  CHECK(support::eventually([&] { return is_at_lock.load(); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK_FALSE(is_in);
  lock.unlock();
  waiter.join();
  CHECK(is_in);
}

TEST_CASE("a waiter that has turned often enough sleeps now and then") {
  constexpr std::uint32_t long_after = 128 * 64;
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint32_t turn = long_after; turn != long_after + 10 * 128; ++turn) {
    thrum::sched::back_off(turn);
  }
  // Ten naps of 50 us, which the system does not cut short; a pause takes less than a tenth of one.
  CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::microseconds(10 * 50));
}

namespace {

struct lock_that_counts {
  void lock() { ++locked; }
  void unlock() { ++unlocked; }
  int locked = 0;
  int unlocked = 0;
};

}  // namespace

TEST_CASE("a lock is held to the end of the block that takes it") {
  lock_that_counts lock;
  {
    const thrum::sched::scoped guard(lock);
    CHECK(lock.locked == 1);
    CHECK(lock.unlocked == 0);
  }
  CHECK(lock.unlocked == 1);
}

#if THRUM_EXCEPTIONS
TEST_CASE("a lock is let go when an exception leaves the block that took it") {
  lock_that_counts lock;
  try {
    const thrum::sched::scoped guard(lock);
    throw std::runtime_error("on its way");
  } catch (const std::runtime_error&) {
    CHECK(lock.unlocked == 1);
  }
  CHECK(lock.locked == 1);
}
#endif
