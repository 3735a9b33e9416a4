// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Every primitive that blocks a goroutine keeps these promises.

#include <thrum/sync/recursive_mutex.hpp>
#include <thrum/sync/weighted_semaphore.hpp>

#include "support/set_back_clock.hpp"
#include "support/test.hpp"

#include "support/waits.hpp"

#include <condition_variable>

using support::set_back_clock;

// They need no initialisation at run time.
constinit thrum::counting_semaphore<> a_global_semaphore(3);
constinit thrum::binary_semaphore a_global_binary_semaphore(1);
constinit thrum::weighted_semaphore a_global_weighted_semaphore(3);
constinit thrum::latch a_global_latch(1);
constinit thrum::barrier<> a_global_barrier(1);
constinit thrum::shared_mutex a_global_shared_mutex;
constinit thrum::wait_group a_global_wait_group;
constinit thrum::condition_variable a_global_condition_variable;

TEST_CASE("every primitive that goroutines wait for may be a constinit global") {
  CHECK(a_global_semaphore.try_acquire());
  CHECK(a_global_binary_semaphore.try_acquire());
  CHECK(a_global_weighted_semaphore.max() == 3);
  CHECK(a_global_weighted_semaphore.try_acquire(3));
  a_global_latch.count_down();
  CHECK(a_global_latch.try_wait());
  a_global_barrier.arrive_and_wait();
  CHECK(a_global_shared_mutex.try_lock());
  a_global_shared_mutex.unlock();
  a_global_semaphore.release();
  a_global_binary_semaphore.release();
  a_global_weighted_semaphore.release(3);
  a_global_wait_group.add();
  a_global_wait_group.done();
  a_global_wait_group.wait();
  thrum::mutex mutex;
  std::unique_lock lock(mutex);
  CHECK(a_global_condition_variable.wait_for(lock, 1ms) == std::cv_status::timeout);
  a_global_condition_variable.notify_all();
}

TEST_CASE("a stop of the runtime ends a wait for permits, at a latch and at a barrier") {
  thrum::counting_semaphore<> none(0);
  thrum::weighted_semaphore two(2);
  two.acquire();
  thrum::latch never(1);
  thrum::barrier<> barrier(2);
  const std::function<void()> waits[] = {[&] { none.acquire(); }, [&] { two.acquire(2); },
                                         [&] { never.wait(); }, [&] { barrier.arrive_and_wait(); }};
  for (const auto& wait : waits) {
    CAPTURE(&wait - waits);
    CHECK(support::is_unwound_at_stop(wait));
  }
  none.release();
  CHECK(none.try_acquire());  // what the waiter did not take is there
  two.release();
  CHECK(two.try_acquire(2));
}

IN_RUNTIME("a wait until a moment of a clock that is set back lasts until that clock says so") {
  thrum::mutex mutex;
  thrum::recursive_mutex recursive;
  thrum::shared_mutex shared;
  const std::scoped_lock all(mutex, recursive, shared);
  thrum::counting_semaphore<> none(0);
  thrum::weighted_semaphore taken(1);
  taken.acquire();
  thrum::wait_group group(1);
  using moment = set_back_clock::time_point;
  const std::function<bool(moment)> waits[] = {
      [&](moment when) { return mutex.try_lock_until(when); },
      [&](moment when) { return recursive.try_lock_until(when); },
      [&](moment when) { return shared.try_lock_until(when); },
      [&](moment when) { return shared.try_lock_shared_until(when); },
      [&](moment when) { return none.try_acquire_until(when); },
      [&](moment when) { return taken.try_acquire_until(1, when); },
      [&](moment when) { return group.wait_until(when); }};
  thrum::spawn([&] {
    for (const auto& wait : waits) {
      CAPTURE(&wait - waits);
      const moment when = set_back_clock::soon();
      CHECK_FALSE(wait(when));
      CHECK(set_back_clock::now() >= when);
    }
  }).join();
  group.done();
}

namespace {

template <class Meeting>
void check_may_go_after_arrive_and_wait() {
  with_runtime(with_procs(4), [] {
    constexpr int n = 4;
    const int times = scaled(20'000, 500);
    std::atomic<int> passed{0};
    for (int i = 0; i != times; ++i) {
      auto meeting = std::make_unique<Meeting>(n);
      thrum::wait_group others;
      for (int other = 1; other != n; ++other) {
        others.go([at = meeting.get(), &passed] {
          at->arrive_and_wait();
          ++passed;
        });
      }
      meeting->arrive_and_wait();
      meeting.reset();
      others.wait();
    }
    CHECK(passed == times * (n - 1));  // and no sanitizer has complained
  });
}

template <class Semaphore>
void check_may_go_after_acquire() {
  with_runtime(with_procs(4), [] {
    int early = 0;
    const int rounds = scaled(2'000);
    for (int i = 0; i != rounds; ++i) {
      std::atomic<bool> released{false};
      auto permits = std::make_unique<Semaphore>(1);
      permits->acquire();
      thrum::go([&released, shared = permits.get()] {
        released = true;
        shared->release();
      });
      permits->acquire();
      permits.reset();
      early += released ? 0 : 1;
    }
    CHECK(early == 0);
  });
}

}  // namespace

TEST_CASE(
    "a latch or a barrier may be destroyed as soon as a call that has arrived and waited returns") {
  check_may_go_after_arrive_and_wait<thrum::latch>();
  check_may_go_after_arrive_and_wait<thrum::barrier<>>();
}

TEST_CASE("a goroutine that has acquired the last permit of a semaphore may destroy it") {
  check_may_go_after_acquire<thrum::binary_semaphore>();
  check_may_go_after_acquire<thrum::weighted_semaphore>();
}
