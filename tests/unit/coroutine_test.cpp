// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/coroutine.hpp>

#include "support/test.hpp"

using thrum::async_acquire;
using thrum::async_lock;
using thrum::async_recv;
using thrum::async_send;
using thrum::async_sleep_for;
using thrum::async_wait;
using thrum::chan;
using thrum::co_handle;
using thrum::co_spawn;
using thrum::co_task;

namespace {

co_task<> send_all(chan<int> to, int n) {
  for (int i = 0; i != n; ++i) {
    co_await async_send(to, i);
  }
  to.close();
}

/// How many came, or -1 if they came in another order.
co_task<int> count_all(chan<int> from) {
  int n = 0;
  while (const auto item = co_await async_recv(from)) {
    n = n >= 0 && *item == n ? n + 1 : -1;
  }
  co_return n;
}

/// Receives one; -1 if there was none before `until`.
template <class Until>
co_task<int> receive_until(chan<int> from, Until until) {
  const auto item = co_await async_recv(from, until);
  co_return item ? *item : -1;
}

co_task<int> receive_one(chan<int> from) { co_return *co_await async_recv(from); }

struct set_at_end {
  std::atomic<bool>& flag;
  ~set_at_end() { flag = true; }
};

co_task<> wait_for_ever(chan<int> from, std::atomic<bool>& has_ended) {
  const set_at_end at_end{has_ended};
  co_await async_recv(from);
}

co_task<int> one_more(int n) { co_return n + 1; }

}  // namespace

IN_RUNTIME("two coroutines pass items over a channel, with a buffer and without") {
  constexpr int n = 20'000;
  for (const std::size_t capacity : {std::size_t{0}, std::size_t{3}}) {
    chan<int> items(capacity);
    auto sender = co_spawn(send_all(items, n));
    CHECK(co_spawn(count_all(items)).join() == n);
    sender.join();
  }
}

IN_RUNTIME("coroutines and goroutines pass items to each other") {
  constexpr int n = 5'000;
  chan<int> there(0);
  chan<int> back(0);
  auto sender = co_spawn(send_all(there, n));
  thrum::go([=] {
    for (const int item : there) {
      back.send(item);
    }
    back.close();
  });
  CHECK(co_spawn(count_all(back)).join() == n);
  sender.join();
}

IN_RUNTIME("many coroutines on all processors receive each item once", with_procs(4)) {
  constexpr int n = 20'000;
  constexpr int receivers = 50;
  chan<int> items(0);
  const auto count = [](chan<int> from) -> co_task<int> {
    int received = 0;
    while (co_await async_recv(from)) {
      ++received;
    }
    co_return received;
  };
  std::vector<co_handle<int>> all;
  for (int i = 0; i != receivers; ++i) {
    all.push_back(co_spawn(count(items)));
  }
  auto sender = co_spawn(send_all(items, n));
  int sum = 0;
  for (auto& each : all) {
    sum += each.join();
  }
  CHECK(sum == n);
  sender.join();
}

IN_RUNTIME(
    "a send to a channel that is closed is a usage_error in the coroutine that waits in it") {
  chan<int> items(0);
  auto sender = co_spawn([](chan<int> to) -> co_task<> { co_await async_send(to, 1); }(items));
  thrum::this_goroutine::yield();
  items.close();
  CHECK(is_usage_error("async_send", [&] { sender.join(); }));
}

IN_BUBBLE("a coroutine sleeps in virtual time") {
  const auto begin = thrum::testing::now();
  co_spawn([]() -> co_task<> { co_await async_sleep_for(1h); }()).join();
  CHECK(thrum::testing::now() - begin == 1h);
}

IN_BUBBLE("a time and a moment end the receive of a coroutine") {
  const chan<int> none(0);
  const auto begin = thrum::testing::now();
  CHECK(co_spawn(receive_until(none, 2s)).join() == -1);
  CHECK(thrum::testing::now() - begin == 2s);
  CHECK(co_spawn(receive_until(none, begin + 5s)).join() == -1);
  CHECK(thrum::testing::now() - begin == 5s);
}

IN_BUBBLE("a stop and a context end the wait of a coroutine") {
  const chan<int> none(0);
  std::stop_source source;
  auto stopped = co_spawn(receive_until(none, source.get_token()));
  thrum::testing::wait();
  CHECK_FALSE(stopped.done());
  source.request_stop();
  CHECK(stopped.join() == -1);
  CHECK(co_spawn(receive_until(none, source.get_token())).join() == -1);
  const auto begin = thrum::testing::now();
  CHECK(co_spawn(receive_until(none, thrum::context::background().with_timeout(3s))).join() == -1);
  auto sleeper = co_spawn([](thrum::context until) -> co_task<bool> {
    co_return co_await async_sleep_for(1h, until);
  }(thrum::context::background().with_timeout(2s)));
  CHECK_FALSE(sleeper.join());
  CHECK(thrum::testing::now() - begin == 5s);
}

IN_BUBBLE("a coroutine receives from a timer, a ticker and a context that ends") {
  const auto begin = thrum::testing::now();
  const auto wait = []() -> co_task<int> {
    co_await async_recv(thrum::after(2s));
    thrum::ticker ticks(1s);
    co_await async_recv(ticks.chan());
    co_await async_recv(ticks.chan());
    const auto ends = thrum::context::background().with_timeout(3s);
    const thrum::signal_status signal = co_await async_recv(ends.done());
    co_return signal ? 1 : 0;
  };
  CHECK(co_spawn(wait()).join() == 0);
  CHECK(thrum::testing::now() - begin == 7s);
}

IN_RUNTIME("an exception leaves a coroutine by the co_await and by the join") {
  const auto fail = []() -> co_task<int> {
    throw std::runtime_error("of the inner one");
    co_return 1;
  };
  const auto outer = [](co_task<int> inner) -> co_task<int> {
    co_return co_await std::move(inner);
  };
  CHECK_THROWS_WITH(co_spawn(outer(fail())).join(), "of the inner one");
}

IN_RUNTIME("a coroutine awaits goroutines and coroutines, and their exceptions") {
  const auto sum = []() -> co_task<int> {
    auto goroutine = thrum::spawn([] { return 1; });
    auto coroutine = co_spawn(one_more(1));
    const int ended = co_await goroutine + co_await coroutine;
    chan<int> late(0);
    auto receiver = thrum::spawn([late] { return late.recv().value(); });
    auto coreceiver = co_spawn(receive_one(late));
    co_await async_send(late, 10);
    co_await async_send(late, 20);
    const int waited = co_await std::move(receiver) + co_await std::move(coreceiver);
    try {
      co_await thrum::spawn([] { throw std::runtime_error("lost"); });
    } catch (const std::runtime_error&) {
      co_return ended + waited;
    }
    co_return 0;
  };
  CHECK(co_spawn(sum()).join() == 33);
}

IN_RUNTIME("awaited coroutines that do not wait need no stack for each") {
  const auto count = []() -> co_task<int> {
    int n = 0;
    while (n != 200'000) {
      n = co_await one_more(n);
    }
    co_return n;
  };
  CHECK(co_spawn(count()).join() == 200'000);
}

IN_RUNTIME("a mutex excludes coroutines and goroutines from each other", with_procs(4)) {
  constexpr int n = 5;
  const int rounds = scaled(2'000);
  thrum::mutex mutex;
  int count = 0;
  const auto add = [](thrum::mutex& guard, int& to, int times) -> co_task<> {
    for (int i = 0; i != times; ++i) {
      const auto lock = co_await async_lock(guard);
      ++to;
    }
  };
  std::vector<co_handle<void>> all;
  for (int i = 0; i != n; ++i) {
    all.push_back(co_spawn(add(mutex, count, rounds)));
  }
  in_goroutines(n, [&](int) {
    for (int i = 0; i != rounds; ++i) {
      const std::lock_guard lock(mutex);
      ++count;
    }
  });
  for (auto& each : all) {
    each.join();
  }
  CHECK(count == 2 * n * rounds);
}

IN_RUNTIME("a goroutine that waits for a condition variable leaves the mutex to a coroutine",
           with_procs(1)) {
  thrum::mutex mutex;
  thrum::condition_variable changed;
  bool is_set = false;
  std::unique_lock lock(mutex);
  auto setter =
      co_spawn([](thrum::mutex& guard, thrum::condition_variable& to, bool& flag) -> co_task<> {
        const auto own = co_await async_lock(guard);
        flag = true;
        to.notify_one();
      }(mutex, changed, is_set));
  for (int i = 0; i != 10; ++i) {
    thrum::this_goroutine::yield();
  }
  changed.wait(lock, [&] { return is_set; });
  lock.unlock();
  setter.join();
  CHECK(is_set);
}

IN_RUNTIME("a semaphore gives coroutines and goroutines so many permits", with_procs(4)) {
  constexpr int permits = 2;
  const int rounds = scaled(2'000);
  thrum::counting_semaphore<> semaphore(permits);
  std::atomic<int> inside{0};
  std::atomic<bool> is_too_many{false};
  const auto use = [](thrum::counting_semaphore<>& from, std::atomic<int>& users,
                      std::atomic<bool>& wrong, int times) -> co_task<> {
    for (int i = 0; i != times; ++i) {
      co_await async_acquire(from);
      wrong = ++users > permits || wrong;
      --users;
      from.release();
    }
  };
  std::vector<co_handle<void>> all;
  for (int i = 0; i != 5; ++i) {
    all.push_back(co_spawn(use(semaphore, inside, is_too_many, rounds)));
  }
  in_goroutines(3, [&](int) {
    for (int i = 0; i != rounds; ++i) {
      semaphore.acquire();
      is_too_many = ++inside > permits || is_too_many;
      --inside;
      semaphore.release();
    }
  });
  for (auto& each : all) {
    each.join();
  }
  CHECK_FALSE(is_too_many);
}

IN_RUNTIME("a coroutine waits for a wait_group") {
  thrum::wait_group group;
  std::atomic<int> done{0};
  for (int i = 0; i != 10; ++i) {
    group.go([&] {
      thrum::this_goroutine::yield();
      ++done;
    });
  }
  const auto wait = [](thrum::wait_group& on, std::atomic<int>& count) -> co_task<int> {
    co_await async_wait(on);
    co_return count.load();
  };
  CHECK(co_spawn(wait(group, done)).join() == 10);
  CHECK(co_spawn(wait(group, done)).join() == 10);
}

IN_BUBBLE("a time ends the wait of a coroutine for a mutex, a semaphore and a wait_group") {
  thrum::mutex mutex;
  thrum::counting_semaphore<> semaphore(0);
  thrum::wait_group group(1);
  mutex.lock();
  const auto begin = thrum::testing::now();
  const auto wait = [](thrum::mutex& m, thrum::counting_semaphore<>& s,
                       thrum::wait_group& g) -> co_task<int> {
    const bool is_locked = (co_await async_lock(m, 1s)).owns_lock();
    const bool is_acquired = co_await async_acquire(s, 1s);
    const bool is_zero = co_await async_wait(g, 1s);
    co_return (is_locked ? 1 : 0) + (is_acquired ? 2 : 0) + (is_zero ? 4 : 0);
  };
  CHECK(co_spawn(wait(mutex, semaphore, group)).join() == 0);
  CHECK(thrum::testing::now() - begin == 3s);
  mutex.unlock();
  semaphore.release();
  group.done();
  CHECK(co_spawn(wait(mutex, semaphore, group)).join() == 7);
  CHECK(mutex.try_lock());
  CHECK_FALSE(semaphore.try_acquire());
  mutex.unlock();
}

TEST_CASE(
    "the stop of a runtime ends the wait of a coroutine for a mutex, a semaphore, a wait_group") {
  thrum::mutex mutex;
  mutex.lock();
  thrum::counting_semaphore<> semaphore(0);
  thrum::wait_group group(1);
  {
    thrum::runtime runtime;
    co_spawn(runtime, [](thrum::mutex& m) -> co_task<> { co_await async_lock(m); }(mutex)).detach();
    co_spawn(
        runtime,
        [](thrum::counting_semaphore<>& s) -> co_task<> { co_await async_acquire(s); }(semaphore))
        .detach();
    co_spawn(runtime, [](thrum::wait_group& g) -> co_task<> { co_await async_wait(g); }(group))
        .detach();
  }
  mutex.unlock();
  CHECK(mutex.try_lock());
  mutex.unlock();
  semaphore.release();
  CHECK(semaphore.try_acquire());
  group.done();
}

IN_RUNTIME("a coroutine that blocks its goroutine delays no other coroutine", with_procs(1)) {
  chan<int> items(0);
  auto blocks =
      co_spawn([](chan<int> from) -> co_task<int> { co_return from.recv().value(); }(items));
  auto sender = co_spawn([](chan<int> to) -> co_task<> { co_await async_send(to, 7); }(items));
  CHECK(blocks.join() == 7);
  sender.join();
}

IN_RUNTIME("goroutines run beside two coroutines that wake each other for ever",
           with_endless_slices(1)) {
  chan<int> items(0);
  std::atomic<bool> ends{false};
  const auto receive = [](chan<int> from) -> co_task<> {
    while (co_await async_recv(from)) {
    }
  };
  const auto send = [](chan<int> to, std::atomic<bool>& end) -> co_task<> {
    while (!end) {
      co_await async_send(to, 1);
    }
    to.close();
  };
  auto receiver = co_spawn(receive(items));
  auto sender = co_spawn(send(items, ends));
  for (int i = 0; i != 10; ++i) {
    thrum::this_goroutine::yield();
  }
  ends = true;
  sender.join();
  receiver.join();
  CHECK(items.is_closed());
}

TEST_CASE("any thread spawns a coroutine on a runtime, wakes it, and joins it") {
  thrum::runtime runtime;
  chan<int> items(0);
  auto receiver = co_spawn(runtime, receive_one(items));
  items.send(3);
  CHECK(receiver.join() == 3);
  runtime.stop();
  CHECK(is_usage_error("runtime::go", [&] { co_spawn(runtime, one_more(1)).detach(); }));
  CHECK(is_usage_error("co_spawn", [&] { co_spawn(one_more(1)).detach(); }));
}

TEST_CASE("the stop of a runtime unwinds the coroutines that wait") {
  const chan<int> never(0);
  std::atomic<bool> has_ended{false};
  co_handle<void> handle;
  {
    thrum::runtime runtime;
    handle = co_spawn(runtime, wait_for_ever(never, has_ended));
    co_spawn(runtime,
             [](chan<int> from, std::atomic<bool>& end) -> co_task<> {
               co_await wait_for_ever(from, end);
             }(never, has_ended))
        .detach();
  }
  CHECK(has_ended);
  CHECK(handle.done());
  CHECK_FALSE(never.send_for(1, 0s));
  CHECK(is_usage_error("co_handle::join", [&] { handle.join(); }));
  CHECK(is_usage_error("co_handle", [&] { handle.join(); }));
}

IN_RUNTIME("an item and a stop that meet in the wait of a coroutine: one of them ends it",
           with_procs(4)) {
  for (int i = 0; i != scaled(2'000); ++i) {
    chan<int> items(0);
    std::stop_source source;
    auto receiver = co_spawn(receive_until(items, source.get_token()));
    auto stop = thrum::spawn([&] { source.request_stop(); });
    const bool is_sent = items.try_send(5);
    stop.join();
    if (receiver.join() != (is_sent ? 5 : -1)) {
      FAIL("lost, or received twice");
    }
  }
}

IN_RUNTIME("a handle waits for a time, and detaches") {
  chan<int> items(0);
  auto receiver = co_spawn(receive_one(items));
  CHECK_FALSE(receiver.wait_for(1ms));
  items.send(1);
  CHECK(receiver.wait_for(support::long_time));
  CHECK(receiver.done());
  CHECK(receiver.joinable());
  receiver.detach();
  CHECK_FALSE(receiver.joinable());
  CHECK(is_usage_error("co_handle", [&] { receiver.detach(); }));
}
