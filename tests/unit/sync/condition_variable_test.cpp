// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/sync/condition_variable.hpp>

#include <thrum/sync/condition_variable_any.hpp>

#include "support/set_back_clock.hpp"
#include "support/stop_source.hpp"
#include "support/test.hpp"

#include <condition_variable>

namespace {

/// Whether `value`, which each waiter raises before it waits, comes to be n: then n are inside, as
/// nobody gives up the mutex in between. Waiters for the mutex do not count.
bool reaches(int n, const int& value, thrum::mutex& mutex) {
  return eventually([&, n] {
    const std::lock_guard lock(mutex);
    return value == n;
  });
}

/// A lock of a program's own, which the library does not know.
struct plain_lock {
  thrum::mutex mutex;
  bool held = false;
  void lock() {
    mutex.lock();
    held = true;
  }
  void unlock() {
    held = false;
    mutex.unlock();
  }
};

/// A clock that stands. Its next look calls `at_a_look`, once.
struct standing_clock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<standing_clock>;
  static constexpr bool is_steady = false;

  static inline std::atomic<int> asked{0};
  static inline std::function<void()> at_a_look;

  static time_point now() {
    ++asked;
    if (const std::function<void()> call = std::exchange(at_a_look, nullptr)) {
      call();
    }
    return time_point(std::chrono::hours(1));
  }
};

}  // namespace

IN_RUNTIME("CondSignal: each notify_one wakes one waiter, and none wakes before") {
  thrum::mutex mutex;
  thrum::condition_variable changed;
  int inside = 0;
  int awake = 0;
  thrum::wait_group group;
  for (int i = 0; i != 3; ++i) {
    group.go([&] {
      std::unique_lock lock(mutex);
      ++inside;
      changed.wait(lock);
      ++awake;
    });
  }
  REQUIRE(reaches(3, inside, mutex));
  for (int n = 1; n <= 3; ++n) {
    {
      const std::lock_guard lock(mutex);
      CHECK(awake == n - 1);
      changed.notify_one();
    }
    REQUIRE(eventually([&] {
      const std::lock_guard lock(mutex);
      return awake == n;
    }));
    CHECK(thrum::stats().waiting == static_cast<unsigned>(3 - n));
  }
  changed.notify_one();  // nobody is there
  group.wait();
}

IN_RUNTIME("CondSignalGenerations: waiters are woken in the order in which they came") {
  thrum::mutex mutex;
  thrum::condition_variable changed;
  const int n = 100;
  const thrum::chan<int> awake(static_cast<std::size_t>(n));
  thrum::wait_group group;
  int inside = 0;
  for (int i = 0; i != n; ++i) {
    group.go([&, i] {
      std::unique_lock lock(mutex);
      ++inside;
      changed.wait(lock);
      awake.send(i);
    });
    REQUIRE(reaches(i + 1, inside, mutex));
    if (i > 0) {
      changed.notify_one();
      CHECK(awake.recv() == i - 1);
    }
  }
  changed.notify_one();
  CHECK(awake.recv() == n - 1);
  group.wait();
}

IN_RUNTIME("CondBroadcast: notify_all wakes each of 200 once a round", with_procs(4)) {
  thrum::mutex mutex;
  thrum::condition_variable changed;
  const int n = scaled(200, 20);
  const int rounds = 5;
  std::vector<int> woken(static_cast<std::size_t>(n));
  int inside = 0;
  int left = 0;
  thrum::wait_group group;
  for (int i = 0; i != n; ++i) {
    group.go([&, i] {
      std::unique_lock lock(mutex);
      for (int round = 0; round != rounds; ++round) {
        ++inside;
        changed.wait(lock);
        ++woken[static_cast<std::size_t>(i)];
        --left;
      }
    });
  }
  for (int round = 0; round != rounds; ++round) {
    REQUIRE(reaches(n * (round + 1), inside, mutex));
    {
      const std::lock_guard lock(mutex);
      left = n;
      changed.notify_all();
    }
    REQUIRE(eventually([&] {
      const std::lock_guard lock(mutex);
      return left == 0;
    }));
  }
  group.wait();
  CHECK(woken == std::vector<int>(static_cast<std::size_t>(n), rounds));
}

IN_RUNTIME("Race: three goroutines pass a state on by one condition variable", with_procs(4)) {
  thrum::mutex mutex;
  thrum::condition_variable changed;
  int state = 0;
  thrum::wait_group group;
  group.go([&] {
    std::unique_lock lock(mutex);
    state = 1;
    changed.wait(lock, [&] { return state == 2; });
    state = 3;
    changed.notify_all();
  });
  group.go([&] {
    std::unique_lock lock(mutex);
    while (state != 1) {
      lock.unlock();
      thrum::this_goroutine::yield();
      lock.lock();
    }
    state = 2;
    changed.notify_all();
    changed.wait(lock, [&] { return state == 3; });
  });
  group.wait();
  CHECK(state == 3);
}

IN_RUNTIME("CondSignalStealing: a waiter that comes later does not take a notification",
           with_procs(4)) {
  for (int round = 0; round != scaled(1'000, 50); ++round) {
    thrum::mutex mutex;
    thrum::condition_variable changed;
    bool first_woken = false;
    bool go_on = false;
    auto first = thrum::spawn([&] {
      std::unique_lock lock(mutex);
      changed.wait(lock);
      first_woken = true;
    });
    // Only for the notification: nothing else holds the mutex.
    REQUIRE(are_waiting(1));
    auto later = thrum::spawn([&] {
      std::unique_lock lock(mutex);
      while (!go_on) {
        changed.wait(lock);
      }
    });
    changed.notify_one();
    first.join();
    CHECK(first_woken);
    {
      const std::lock_guard guard(mutex);
      go_on = true;
    }
    changed.notify_all();
    later.join();
  }
}

IN_RUNTIME(
    "a timed wait on a condition variable says whether it was notified, and holds the lock") {
  thrum::mutex mutex;
  thrum::condition_variable changed;
  std::unique_lock lock(mutex);
  CHECK(changed.wait_for(lock, 1ms) == std::cv_status::timeout);
  CHECK(lock.owns_lock());
  CHECK_FALSE(mutex.try_lock());
  CHECK(changed.wait_until(lock, std::chrono::steady_clock::now() + 1ms) ==
        std::cv_status::timeout);
  CHECK_FALSE(changed.wait_for(lock, 1ms, [] { return false; }));
  CHECK(changed.wait_for(lock, 1ms, [] { return true; }));
  CHECK_FALSE(changed.wait_until(lock, std::chrono::steady_clock::now(), [] { return false; }));
  bool ready = false;
  thrum::go([&] {
    const std::lock_guard guard(mutex);
    ready = true;
    changed.notify_one();
  });
  CHECK(changed.wait_for(lock, 1h, [&] { return ready; }));
}

TEST_CASE("a wait without the lock is an error of use") {
  thrum::mutex mutex;
  thrum::condition_variable changed;
  std::unique_lock lock(mutex, std::defer_lock);
  CHECK(is_usage_error("condition_variable::wait", [&] { changed.wait(lock); }));
}

TEST_CASE("a stop of the runtime ends a wait on a condition variable with the mutex locked") {
  thrum::mutex mutex;
  thrum::condition_variable changed;
  thrum::condition_variable_any changed_any;
  plain_lock plain;
  std::atomic<int> held{0};
  with_runtime([&] {
    thrum::go([&] {
      std::unique_lock lock(mutex);
      struct at_end {
        thrum::mutex& mutex;
        std::atomic<int>& held;
        ~at_end() { held += mutex.try_lock() ? 0 : 1; }
      } const scope{mutex, held};
      changed.wait(lock);
    });
    thrum::go([&] {
      std::unique_lock lock(plain);
      struct at_end {
        plain_lock& lock;
        std::atomic<int>& held;
        ~at_end() { held += lock.held ? 1 : 0; }
      } const scope{plain, held};
      changed_any.wait(lock);
    });
    REQUIRE(are_waiting(2));
  });
  CHECK(held == 2);
  CHECK(mutex.try_lock());
  CHECK(plain.mutex.try_lock());
}

IN_RUNTIME("a condition variable may be destroyed once its waiters have been notified",
           with_procs(4)) {
  for (int i = 0; i != scaled(1'000); ++i) {
    thrum::mutex mutex;
    auto changed = std::make_unique<thrum::condition_variable>();
    auto changed_any = std::make_unique<thrum::condition_variable_any>();
    int inside = 0;
    thrum::wait_group group;
    group.go([&mutex, &inside, &c = *changed] {
      std::unique_lock lock(mutex);
      ++inside;
      c.wait(lock);
    });
    group.go([&mutex, &inside, &c = *changed_any] {
      std::unique_lock lock(mutex);
      ++inside;
      c.wait(lock);
    });
    REQUIRE(reaches(2, inside, mutex));
    changed->notify_all();
    changed.reset();
    changed_any->notify_all();
    changed_any.reset();
    group.wait();
  }
}

IN_RUNTIME("goroutines and foreign threads wait on one condition variable") {
  thrum::mutex mutex;
  thrum::condition_variable changed;
  thrum::condition_variable_any changed_any;
  int turn = 0;
  const int n = scaled(200);
  const auto take_turns = [&](auto& condition, int mine) {
    for (int i = 0; i != n; ++i) {
      std::unique_lock lock(mutex);
      condition.wait(lock, [&] { return turn % 2 == mine; });
      ++turn;
      condition.notify_one();
    }
  };
  for (const bool any : {false, true}) {
    std::thread thread([&] { any ? take_turns(changed_any, 0) : take_turns(changed, 0); });
    any ? take_turns(changed_any, 1) : take_turns(changed, 1);
    thrum::blocking([&] { thread.join(); });
  }
  CHECK(turn == 4 * n);
}

IN_RUNTIME("condition_variable_any waits under any lock, for a notification or a time") {
  plain_lock plain;
  thrum::condition_variable_any changed;
  bool ready = false;
  thrum::go([&] {
    const std::lock_guard guard(plain);
    ready = true;
    changed.notify_all();
  });
  std::unique_lock lock(plain);
  changed.wait(lock, [&] { return ready; });
  CHECK(plain.held);
  CHECK(changed.wait_for(lock, 1ms) == std::cv_status::timeout);
  CHECK(changed.wait_until(lock, std::chrono::steady_clock::now()) == std::cv_status::timeout);
  CHECK_FALSE(changed.wait_for(lock, 1ms, [] { return false; }));
  CHECK(plain.held);
}

IN_RUNTIME("a stop request ends a wait on condition_variable_any, before, while and after it waits",
           with_procs(4)) {
  thrum::mutex mutex;
  thrum::condition_variable_any changed;
  std::stop_source requested;
  requested.request_stop();
  std::unique_lock lock(mutex);
  CHECK_FALSE(changed.wait(lock, requested.get_token(), [] { return false; }));
  CHECK(changed.wait(lock, requested.get_token(), [] { return true; }));
  CHECK_FALSE(changed.wait_for(lock, std::stop_token(), 1ms, [] { return false; }));
  CHECK_FALSE(changed.wait_until(lock, std::stop_token(), std::chrono::steady_clock::now() + 1ms,
                                 [] { return false; }));
  lock.unlock();
  for (int i = 0; i != scaled(300); ++i) {
    std::stop_source source;
    auto waiter = thrum::spawn([&] {
      std::unique_lock own(mutex);
      return changed.wait(own, source.get_token(), [] { return false; });
    });
    if (i % 2 == 0) {
      thrum::this_goroutine::yield();
    }
    source.request_stop();
    CHECK_FALSE(waiter.join());
  }
}

IN_RUNTIME("a condition's wait until a moment of a clock that is set back times out only then") {
  using support::set_back_clock;
  thrum::mutex mutex;
  std::unique_lock lock(mutex);
  const auto never = [] { return false; };
  const auto check = [&](auto& changed) {
    auto when = set_back_clock::soon();
    CHECK((changed.wait_until(lock, when) == std::cv_status::no_timeout ||
           set_back_clock::now() >= when));
    when = set_back_clock::soon();
    CHECK_FALSE(changed.wait_until(lock, when, never));
    CHECK(set_back_clock::now() >= when);
    CHECK(changed.wait_until(lock, set_back_clock::now() - 1h) == std::cv_status::timeout);
  };
  thrum::condition_variable changed;
  check(changed);
  thrum::condition_variable_any changed_any;
  check(changed_any);
  const std::stop_source source = support::new_source();
  const auto when = set_back_clock::soon();
  CHECK_FALSE(changed_any.wait_until(lock, source.get_token(), when, never));
  CHECK(set_back_clock::now() >= when);
}

IN_RUNTIME("a condition's wait with a context whose clock stands misses no notification") {
  const auto limited = thrum::context::background().with_deadline(standing_clock::now() + 1ms);
  const int asked_before = standing_clock::asked;
  std::atomic<bool> done{false};
  const auto wait_with = [&](auto& changed) {
    thrum::mutex m;
    done = false;
    // Where the wait has looked at the clock and not yet begun anew.
    standing_clock::at_a_look = [&] {
      done = true;
      changed.notify_all();
    };
    std::unique_lock lock(m);
    return changed.wait(lock, limited, [&] { return done.load(); });
  };
  thrum::condition_variable changed;
  CHECK(wait_with(changed));
  thrum::condition_variable_any any;
  CHECK(wait_with(any));
  CHECK(standing_clock::asked > asked_before);
  CHECK_FALSE(limited.cancelled());
}
