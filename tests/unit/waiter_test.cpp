// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/waiter.hpp>

#include "support/test.hpp"

using thrum::async_acquire;
using thrum::async_lock;
using thrum::async_recv;
using thrum::async_send;
using thrum::async_sleep_for;
using thrum::async_wait;
using thrum::chan;
using thrum::waiter;

namespace {

/// What a waiter's function does once: says that it was called, and keeps what the wait came to.
template <class Make, class Take>
void wait_once(Make make, Take take) {
  thrum::wait_group ended(1);
  waiter once(std::move(make), [&](auto& self) {
    take(self);
    ended.done();
  });
  once.start();
  ended.wait();
}

template <class Make>
bool is_cancelled_by(Make make, auto cancel) {
  thrum::wait_group ended(1);
  bool is_cancelled = false;
  waiter once(std::move(make), [&](auto& self) {
    is_cancelled = self.is_cancelled();
    ended.done();
  });
  once.start();
  cancel(once);
  ended.wait();
  return is_cancelled;
}

}  // namespace

IN_RUNTIME("two waiters pass items over a channel, with a buffer and without") {
  constexpr int n = 20'000;
  for (const std::size_t capacity : {std::size_t{0}, std::size_t{3}}) {
    const chan<int> items(capacity);
    thrum::wait_group ended(2);
    int received = 0;
    int sent = 0;
    waiter receiver([&] { return async_recv(items); },
                    [&](auto& self) {
                      const auto item = self.result();
                      if (!item) {
                        ended.done();
                        return;
                      }
                      received = *item == received ? received + 1 : -n;
                      self.start();
                    });
    waiter sender([&] { return async_send(items, sent); },
                  [&](auto& self) {
                    self.result();
                    if (++sent == n) {
                      items.close();
                      ended.done();
                      return;
                    }
                    self.start();
                  });
    receiver.start();
    sender.start();
    ended.wait();
    CHECK(received == n);
  }
}

IN_RUNTIME("a waiter's function is not called inside its start") {
  const chan<int> items(1);
  items.send(1);
  thrum::mutex held_at_start;
  int received = 0;
  thrum::wait_group ended(1);
  waiter once([&] { return async_recv(items); },
              [&](auto& self) {
                const std::lock_guard lock(held_at_start);
                received = self.result().value();
                ended.done();
              });
  {
    const std::lock_guard lock(held_at_start);
    once.start();
  }
  ended.wait();
  CHECK(received == 1);
}

IN_RUNTIME("a waiter waits for a mutex, a permit, a count, a time, a goroutine") {
  thrum::mutex mutex;
  wait_once([&] { return async_lock(mutex); },
            [](auto& self) { CHECK(self.result().owns_lock()); });
  mutex.lock();
  mutex.unlock();
  thrum::counting_semaphore<> semaphore(1);
  wait_once([&] { return async_acquire(semaphore); }, [](auto& self) { self.result(); });
  CHECK_FALSE(semaphore.try_acquire());
  thrum::wait_group group;
  group.go([] { thrum::this_goroutine::yield(); });
  wait_once([&] { return async_wait(group); }, [](auto& self) { self.result(); });
  wait_once([] { return async_sleep_for(1ms); }, [](auto& self) { self.result(); });
  auto handle = thrum::spawn([] { return 7; });
  wait_once([&] { return operator co_await(handle); },
            [](auto& self) { CHECK(self.result() == 7); });
}

IN_RUNTIME("a waiter's result throws what the wait throws") {
  const chan<int> closed(0);
  closed.close();
  wait_once([&] { return async_send(closed, 1); },
            [](auto& self) { CHECK(is_usage_error("async_send", [&] { self.result(); })); });
}

IN_RUNTIME("cancel ends the wait of a waiter for a channel, a mutex, a permit, a count, a time") {
  const auto cancel = [](auto& of) { of.cancel(); };
  const chan<int> none(0);
  CHECK(is_cancelled_by([&] { return async_recv(none); }, cancel));
  CHECK(is_cancelled_by([&] { return async_send(none, 1); }, cancel));
  CHECK(is_cancelled_by([] { return async_recv(chan<int>()); }, cancel));
  CHECK_FALSE(none.try_send(1));
  thrum::mutex mutex;
  mutex.lock();
  CHECK(is_cancelled_by([&] { return async_lock(mutex); }, cancel));
  mutex.unlock();
  CHECK(mutex.try_lock());
  mutex.unlock();
  thrum::counting_semaphore<> semaphore(0);
  CHECK(is_cancelled_by([&] { return async_acquire(semaphore); }, cancel));
  thrum::wait_group group(1);
  CHECK(is_cancelled_by([&] { return async_wait(group); }, cancel));
  group.done();
  CHECK(is_cancelled_by([] { return async_sleep_for(24h); }, cancel));
}

IN_RUNTIME("a waiter that was cancelled does not wait any more, and takes nothing") {
  const chan<int> items(1);
  items.send(1);
  thrum::wait_group ended(1);
  bool is_cancelled = false;
  waiter once([&] { return async_recv(items); },
              [&](auto& self) {
                is_cancelled = self.is_cancelled();
                ended.done();
              });
  once.cancel();
  once.cancel();
  once.start();
  ended.wait();
  CHECK(is_cancelled);
  CHECK(items.recv() == 1);
}

IN_RUNTIME("an item and a cancel that meet in a waiter: one of them ends the wait", with_procs(4)) {
  for (int i = 0; i != scaled(2'000); ++i) {
    const chan<int> items(0);
    thrum::wait_group ended(2);
    bool is_received = false;
    waiter once([&] { return async_recv(items); },
                [&](auto& self) {
                  is_received = !self.is_cancelled() && self.result() == 5;
                  ended.done();
                });
    once.start();
    thrum::go([&] {
      once.cancel();
      ended.done();
    });
    const bool is_sent = items.try_send(5);
    ended.wait();
    if (is_received != is_sent) {
      FAIL("lost, or received twice");
    }
  }
}

IN_RUNTIME("a waiter's function may destroy the waiter") {
  const chan<int> items(0);
  thrum::wait_group ended(1);
  auto* const one = new waiter([items] { return async_recv(items); },
                               [&ended](auto& self) {
                                 thrum::wait_group& told = ended;
                                 delete &self;
                                 told.done();
                               });
  one->start();
  items.send(1);
  ended.wait();
  CHECK(items.size() == 0);
}

TEST_CASE("any thread starts a waiter on a runtime, and the stop of the runtime ends its wait") {
  const chan<int> never(0);
  std::atomic<bool> is_cancelled{false};
  const auto then = [&](auto& self) { is_cancelled = self.is_cancelled(); };
  waiter first([&] { return async_recv(never); }, then);
  waiter second([&] { return async_recv(never); }, [](auto& self) { self.start(); });
  {
    thrum::runtime runtime;
    first.start(runtime);
    CHECK(is_usage_error("waiter::start", [&] { first.start(runtime); }));
    CHECK(is_usage_error("waiter::start", [&] { second.start(); }));
    runtime.stop();
    CHECK(is_usage_error("runtime::go", [&] { second.start(runtime); }));
  }
  CHECK(is_cancelled);
}

IN_RUNTIME("a waiter that cannot be made does not wait") {
  waiter once([]() -> decltype(async_sleep_for(1ms)) { throw std::runtime_error("of make"); },
              [](auto& /*self*/) {});
  CHECK_THROWS_WITH(once.start(), "of make");
  CHECK_THROWS_WITH(once.start(), "of make");
}
