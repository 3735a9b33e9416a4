// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/detail/sync/mutex_waiter.hpp>
#include <thrum/sync/mutex.hpp>
#include <thrum/sync/recursive_mutex.hpp>

#include "support/interrupted_write.hpp"
#include "support/test.hpp"
#include "support/waits.hpp"

static_assert(!std::is_copy_constructible_v<thrum::mutex>);
static_assert(!std::is_move_constructible_v<thrum::mutex>);
static_assert(std::is_nothrow_default_constructible_v<thrum::mutex>);

namespace {

constinit thrum::mutex a_global_mutex;  // needs no initialisation at run time

}  // namespace

IN_RUNTIME("the locks of the standard library work with the mutex") {
  thrum::mutex first;
  thrum::mutex second;
  {
    const std::lock_guard lock(a_global_mutex);
    CHECK_FALSE(a_global_mutex.try_lock());
  }
  {
    const std::scoped_lock both(first, second);
    CHECK_FALSE(first.try_lock());
    CHECK_FALSE(second.try_lock());
  }
  std::unique_lock lock(first, std::try_to_lock);
  CHECK(lock.owns_lock());
  std::unique_lock timed(first, 1ms);
  CHECK_FALSE(timed.owns_lock());
  lock.unlock();
  CHECK(timed.try_lock_for(support::long_time));
}

IN_RUNTIME("two goroutines that lock two mutexes in opposite order by scoped_lock get through") {
  thrum::mutex first;
  thrum::mutex second;
  std::int64_t guarded = 0;
  const int rounds = scaled(5'000);
  in_goroutines(4, [&](int g) {
    for (int i = 0; i != rounds; ++i) {
      if (g % 2 == 0) {
        const std::scoped_lock both(first, second);
        ++guarded;
      } else {
        const std::scoped_lock both(second, first);
        ++guarded;
      }
    }
  });
  CHECK(guarded == 4 * rounds);
}

IN_RUNTIME("what is written under the mutex is seen by its next owner") {
  thrum::mutex mutex;
  std::int64_t a = 0;  // not atomic: ThreadSanitizer looks
  std::int64_t b = 0;
  std::atomic<int> violations{0};
  thrum::wait_group group;
  const int rounds = scaled(10'000);
  for (int g = 0; g != 10; ++g) {
    group.go([&, g] {
      for (int i = 0; i != rounds; ++i) {
        const std::lock_guard lock(mutex);
        violations += a == b ? 0 : 1;
        ++a;
        if ((i + g) % 64 == 0) {
          thrum::this_goroutine::yield();
        }
        ++b;
      }
    });
  }
  group.wait();
  CHECK(violations == 0);
  CHECK(a == std::int64_t{10} * rounds);
}

IN_RUNTIME("goroutines and foreign threads exclude each other") {
  thrum::mutex mutex;
  std::int64_t guarded = 0;
  const int rounds = scaled(10'000);
  support::on_goroutines_and_threads(4, [&] {
    for (int i = 0; i != rounds; ++i) {
      if (i % 3 == 0 && mutex.try_lock_for(1us)) {
        ++guarded;
        mutex.unlock();
        continue;
      }
      const std::lock_guard lock(mutex);
      ++guarded;
      if (i % 100 == 0) {
        thrum::this_goroutine::yield();
      }
    }
  });
  CHECK(guarded == 8 * rounds);
}

TEST_CASE("a foreign thread alone may use the mutex without any runtime") {
  thrum::mutex mutex;
  mutex.lock();
  CHECK_FALSE(mutex.try_lock());
  CHECK_FALSE(mutex.try_lock_for(1ms));
  std::atomic<bool> got_it{false};
  std::thread other([&] {
    const std::lock_guard lock(mutex);
    got_it = true;
  });
  std::this_thread::sleep_for(2ms);
  CHECK_FALSE(got_it);
  mutex.unlock();
  other.join();
  CHECK(got_it);
  CHECK(support::is_usage_error("mutex::unlock", [&] { mutex.unlock(); }));
}

IN_RUNTIME("try_lock_for gives up after the time and not before") {
  thrum::mutex mutex;
  mutex.lock();
  const auto begin = std::chrono::steady_clock::now();
  CHECK_FALSE(mutex.try_lock_for(3ms));
  CHECK(std::chrono::steady_clock::now() - begin >= 3ms);
  CHECK_FALSE(mutex.try_lock_until(std::chrono::steady_clock::now() - 1s));
  CHECK_FALSE(mutex.try_lock_for(-1s));
  auto late = thrum::spawn([&] { return mutex.try_lock_for(support::long_time); });
  thrum::sleep_for(1ms);
  mutex.unlock();
  CHECK(late.join());
  mutex.unlock();
  CHECK(mutex.try_lock());
  mutex.unlock();
}

IN_RUNTIME("time-outs that race with unlock neither lose nor double the mutex") {
  thrum::mutex mutex;
  std::int64_t guarded = 0;
  std::atomic<std::int64_t> successes{0};
  thrum::wait_group group;
  const int rounds = scaled(500, 50);
  for (int g = 0; g != 8; ++g) {
    group.go([&, g] {
      for (int i = 0; i != rounds; ++i) {
        if (mutex.try_lock_for(std::chrono::microseconds((g * 7 + i) % 30))) {
          ++guarded;
          ++successes;
          if (i % 4 == 0) {
            thrum::sleep_for(std::chrono::microseconds(i % 20));
          }
          mutex.unlock();
        }
      }
    });
  }
  group.wait();
  CHECK(guarded == successes);
  CHECK(mutex.try_lock());
  mutex.unlock();
}

IN_RUNTIME("waiters on one processor get the mutex in the order of their arrival", with_procs(1)) {
  thrum::mutex mutex;
  mutex.lock();
  std::vector<int> order;
  thrum::wait_group group;
  constexpr int n = 20;
  for (int i = 0; i != n; ++i) {
    const std::uint64_t parked = thrum::stats().waiting;
    group.go([&, i] {
      const std::lock_guard lock(mutex);
      order.push_back(i);
    });
    REQUIRE(support::eventually_yielding([&] { return thrum::stats().waiting > parked; }));
  }
  mutex.unlock();
  group.wait();
  REQUIRE(order.size() == n);
  for (int i = 0; i != n; ++i) {
    CHECK(order[static_cast<std::size_t>(i)] == i);
  }
}

IN_RUNTIME("a waiter is not starved by one that locks again and again") {
  thrum::mutex mutex;
  std::atomic<bool> stop{false};
  thrum::wait_group hogs;
  for (int g = 0; g != 2; ++g) {
    hogs.go([&] {
      while (!stop) {
        const std::lock_guard lock(mutex);
        for (int spin = 0; spin != 2'000; ++spin) {
          (void)stop.load();
        }
      }
    });
  }
  auto waiter = thrum::spawn([&] {
    for (int i = 0; i != scaled(20, 5); ++i) {
      const std::lock_guard lock(mutex);
      thrum::this_goroutine::yield();
    }
  });
  CHECK(waiter.wait_for(support::long_time));
  stop = true;
  hogs.wait();
}

namespace {

/// Makes a mutex starving that the caller holds and `waiters` goroutines wait for: the first of
/// them is woken after more than the 1 ms of patience, and finds that the caller was faster.
void starve(thrum::mutex& mutex, std::uint64_t waiters) {
  REQUIRE(eventually_waiting(waiters));
  const auto end = std::chrono::steady_clock::now() + 2ms;
  while (std::chrono::steady_clock::now() < end) {
    // keeps the processor
  }
  mutex.unlock();
  REQUIRE(mutex.try_lock());  // the woken one has not run yet
  REQUIRE(eventually_waiting(waiters));
}

/// Whether a mutex that the caller holds goes to a waiter when the caller unlocks it, so that the
/// caller cannot have it back.
bool is_handed_over(thrum::mutex& mutex) {
  mutex.unlock();
  const bool is_free = mutex.try_lock();
  if (is_free) {
    mutex.unlock();
  }
  return !is_free;
}

}  // namespace

IN_RUNTIME("an unlock hands the mutex over to a waiter that lost it after more than 1 ms",
           one_undisturbed_processor()) {
  thrum::mutex mutex;
  mutex.lock();
  auto waiter = thrum::spawn([&] { const std::lock_guard lock(mutex); });
  starve(mutex, 1);
  CHECK(is_handed_over(mutex));
  waiter.join();
  CHECK(mutex.try_lock());
  mutex.unlock();
}

IN_RUNTIME("an unlock lets newcomers compete with a waiter that has not lost the mutex before",
           one_undisturbed_processor()) {
  thrum::mutex mutex;
  mutex.lock();
  auto waiter = thrum::spawn([&] { const std::lock_guard lock(mutex); });
  REQUIRE(eventually_waiting(1));
  CHECK_FALSE(is_handed_over(mutex));
  waiter.join();
}

IN_RUNTIME("a mutex that was handed to one that waited long is handed to the next one, too",
           one_undisturbed_processor()) {
  thrum::mutex mutex;
  mutex.lock();
  std::vector<bool> handed_over;
  thrum::wait_group group;
  for (std::uint64_t i = 1; i != 3; ++i) {
    group.go([&] {
      mutex.lock();
      handed_over.push_back(is_handed_over(mutex));
    });
    REQUIRE(eventually_waiting(i));
  }
  starve(mutex, 2);
  CHECK(is_handed_over(mutex));
  group.wait();
  CHECK(handed_over == std::vector<bool>{true, false});  // behind the second there is nobody
}

IN_RUNTIME("a mutex that was handed to its last waiter is not handed to later ones",
           one_undisturbed_processor()) {
  thrum::mutex mutex;
  mutex.lock();
  bool last_has_it = false;
  bool handed_over = false;
  auto last = thrum::spawn([&] {
    mutex.lock();
    last_has_it = true;
    const bool newcomer_waits = eventually_waiting(1);
    handed_over = is_handed_over(mutex);
    return newcomer_waits;
  });
  starve(mutex, 1);
  mutex.unlock();
  REQUIRE(support::eventually_yielding([&] { return last_has_it; }));
  auto newcomer = thrum::spawn([&] { const std::lock_guard lock(mutex); });
  REQUIRE(support::eventually_yielding([&] { return newcomer.done(); }));
  CHECK(last.join());
  CHECK_FALSE(handed_over);
}

IN_RUNTIME("another goroutine than its owner may unlock the mutex, as in Go") {
  thrum::mutex mutex;
  int early = 0;
  for (int i = 0; i != scaled(1'000); ++i) {
    mutex.lock();
    bool unlocked = false;
    thrum::go([&] {
      unlocked = true;
      mutex.unlock();
    });
    mutex.lock();
    early += unlocked ? 0 : 1;
    mutex.unlock();
  }
  CHECK(early == 0);
}

IN_RUNTIME("unlock of a mutex that is not locked is an error of use and harms nothing") {
  thrum::mutex mutex;
  for (int i = 0; i != 3; ++i) {
    CHECK(support::is_usage_error("mutex::unlock", [&] { mutex.unlock(); }));
  }
  CHECK(mutex.try_lock());
  std::atomic<bool> got_it{false};
  auto waiter = thrum::spawn([&] {
    const std::lock_guard lock(mutex);
    got_it = true;
  });
  thrum::sleep_for(1ms);
  CHECK_FALSE(got_it);
  mutex.unlock();
  waiter.join();
  CHECK(support::is_usage_error("mutex::unlock", [&] { mutex.unlock(); }));
}

IN_RUNTIME("a mutex may be destroyed by its next owner") {
  struct counted {
    thrum::mutex mutex;
    int references = 2;
  };
  std::atomic<int> deleted{0};
  const int rounds = scaled(10'000);
  for (int i = 0; i != rounds; ++i) {
    auto* const object = new counted;
    const auto drop = [&deleted, object] {
      object->mutex.lock();
      const bool is_last = --object->references == 0;
      object->mutex.unlock();
      if (is_last) {
        delete object;
        ++deleted;
      }
    };
    auto other = thrum::spawn(drop);
    drop();
    other.join();
  }
  CHECK(deleted == rounds);
}

namespace {

using mutex_queue = thrum::sync_detail::queue_word;

/// A mutex's list of n waiters, the queue bit held.
struct waiting_line {
  explicit waiting_line(std::size_t n) : waiters(n) {
    word.lock();
    for (mutex_queue::waiter& w : waiters) {
      word.link(w, false);
    }
  }
  /// The waiters that are in, by their numbers, from the first to the last.
  std::vector<std::size_t> order() const {
    std::vector<std::size_t> found;
    for (const thrum::sched::wait_point* w = mutex_queue::head(word.word.load()); w != nullptr;
         w = w->next) {
      found.push_back(
          static_cast<std::size_t>(static_cast<const mutex_queue::waiter*>(w) - &waiters[0]));
    }
    return found;
  }

  mutex_queue word;
  std::vector<mutex_queue::waiter> waiters;
};

}  // namespace

TEST_CASE("a waiter leaves a mutex's list without a step along it, however long the list is") {
  waiting_line line(9);
  // A walk from the first to the fifth, or back from the last, would meet a null pointer.
  thrum::sched::wait_point* const second = line.waiters[0].next;
  thrum::sched::wait_point* const before_last = line.waiters[8].prev;
  line.waiters[0].next = nullptr;
  line.waiters[8].prev = nullptr;
  CHECK(line.word.unlink(line.waiters[4]));
  CHECK_FALSE(line.word.unlink(line.waiters[4]));
  line.waiters[0].next = second;
  line.waiters[8].prev = before_last;
  CHECK(line.order() == std::vector<std::size_t>{0, 1, 2, 3, 5, 6, 7, 8});
}

TEST_CASE("waiters may leave a mutex's list in any order, and others join it meanwhile") {
  using numbers = std::vector<std::size_t>;
  waiting_line line(5);
  mutex_queue::waiter late;
  CHECK(line.word.unlink(line.waiters[4]));  // the last
  CHECK(line.order() == numbers{0, 1, 2, 3});
  line.waiters[4].next = nullptr;
  line.word.link(line.waiters[4], false);
  CHECK(line.order() == numbers{0, 1, 2, 3, 4});
  CHECK(line.word.unlink(line.waiters[0]));  // the first
  CHECK(line.order() == numbers{1, 2, 3, 4});
  line.word.link(line.waiters[0], true);
  CHECK(line.order() == numbers{0, 1, 2, 3, 4});
  CHECK(line.word.unlink(line.waiters[1]));
  CHECK(line.word.unlink(line.waiters[3]));
  CHECK(line.order() == numbers{0, 2, 4});
  CHECK(line.word.unlink(line.waiters[0]));
  CHECK(line.word.unlink(line.waiters[4]));
  CHECK(line.word.unlink(line.waiters[2]));
  CHECK(line.order().empty());
  CHECK_FALSE(line.word.unlink(late));
}

TEST_CASE("a waiter that an unlock has woken is in the mutex's list no more") {
  waiting_line line(3);
  line.word.unlock();  // the mutex is free: wakes the first
  line.word.lock();
  CHECK(line.order() == std::vector<std::size_t>{1, 2});
  CHECK_FALSE(line.word.unlink(line.waiters[0]));
  CHECK(line.word.unlink(line.waiters[2]));
  CHECK(line.word.unlink(line.waiters[1]));
}

TEST_CASE("an unlock and a leaving waiter wake no waiter if a newcomer comes in between") {
  struct row {
    std::uintptr_t before;  // of the word; the queue bit comes to it
    std::uintptr_t newcomer;
    void (mutex_queue::*leave)();
  };
  for (const row& each : {row{mutex_queue::locked, mutex_queue::woken, &mutex_queue::release},
                          row{0, mutex_queue::locked, &mutex_queue::unlock}}) {
    const support::on_own_pages<mutex_queue::waiter> waiter;
    mutex_queue line;
    line.word = each.before;
    line.lock();
    line.link(*waiter, false);
    bool came = false;
    {
      const support::interrupted_write between(waiter, [&] {
        came = true;
        line.word |= each.newcomer;
      });
      (line.*each.leave)();  // it takes the waiter off the list
    }
    REQUIRE(came);
    CHECK((line.word & mutex_queue::flags) == each.newcomer);
    CHECK(mutex_queue::head(line.word) == &*waiter);
    CHECK(waiter->linked);
    CHECK(waiter->cause == thrum::sched::wake_cause::none);
  }
}

namespace {

bool others_can_lock(thrum::recursive_mutex& mutex) {
  return thrum::spawn([&] { return std::unique_lock(mutex, std::try_to_lock).owns_lock(); }).join();
}

}  // namespace

IN_RUNTIME("its owner may lock a recursive_mutex again, and others only after as many unlocks") {
  thrum::recursive_mutex mutex;
  mutex.lock();
  CHECK(mutex.try_lock());
  CHECK(mutex.try_lock_for(1ms));
  CHECK_FALSE(others_can_lock(mutex));
  mutex.unlock();
  mutex.unlock();
  CHECK_FALSE(others_can_lock(mutex));
  mutex.unlock();
  CHECK(others_can_lock(mutex));
}

IN_RUNTIME("a goroutine owns its recursive_mutex on whatever thread it goes on", with_procs(4)) {
  thrum::recursive_mutex mutex;
  const std::lock_guard guard(mutex);
  for (int i = 0; i != 100; ++i) {
    thrum::this_goroutine::yield();
    const std::unique_lock again(mutex, std::try_to_lock);
    REQUIRE(again.owns_lock());
  }
  CHECK_FALSE(others_can_lock(mutex));
}

IN_RUNTIME("a timed lock of a recursive_mutex gives up in time") {
  thrum::recursive_mutex mutex;
  mutex.lock();
  thrum::spawn([&] {
    CHECK_FALSE(mutex.try_lock_for(1ms));
    CHECK_FALSE(mutex.try_lock_until(std::chrono::steady_clock::now() + 1ms));
  }).join();
  mutex.unlock();
}

IN_RUNTIME("goroutines and foreign threads exclude each other by a recursive_mutex",
           with_procs(4)) {
  thrum::recursive_mutex mutex;
  int count = 0;
  const auto work = [&] {
    for (int i = 0; i != scaled(1'000); ++i) {
      const std::scoped_lock outer(mutex);
      const std::scoped_lock inner(mutex);
      ++count;
    }
  };
  support::on_goroutines_and_threads(3, work);
  CHECK(count == 6 * scaled(1'000));
}

IN_RUNTIME(
    "an unlock of a recursive_mutex by another goroutine than its owner is an error of use") {
  thrum::recursive_mutex mutex;
  CHECK(is_usage_error("recursive_mutex::unlock", [&] { mutex.unlock(); }));
  const std::lock_guard guard(mutex);
  thrum::spawn([&] {
    CHECK(is_usage_error("recursive_mutex::unlock", [&] { mutex.unlock(); }));
  }).join();
}
