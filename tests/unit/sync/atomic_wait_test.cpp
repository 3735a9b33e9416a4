// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/sync/atomic_wait.hpp>

#include "support/stop_source.hpp"
#include "support/test.hpp"
#include "support/waits.hpp"

IN_RUNTIME("a goroutine waits until an atomic is notified with another value") {
  std::atomic<int> value{1};
  thrum::atomic_wait(&value, 2);  // it is not 2
  auto waiter = thrum::spawn([&] {
    thrum::atomic_wait(&value, 1);
    return value.load();
  });
  REQUIRE(are_waiting(1));
  thrum::atomic_notify_all(&value);  // without a change it waits on
  thrum::this_goroutine::yield();
  REQUIRE(are_waiting(1));
  CHECK_FALSE(waiter.done());
  value = 3;
  thrum::atomic_notify_one(&value);
  CHECK(waiter.join() == 3);
}

TEST_CASE("one is notified of those that wait for that atomic, the first one, or all of them") {
  thrum::options options = with_procs(1);
  options.preempt = thrum::preemption::none;  // else one whose slice is over goes behind the others
  with_runtime(options, [] {
    std::vector<std::atomic<bool>> others(300);  // more than there are queues
    std::atomic<bool> flag{false};
    std::vector<int> order;
    thrum::wait_group group;
    for (int i = 0; i != 3; ++i) {
      group.go([&, i] {
        thrum::atomic_wait(&flag, false);
        order.push_back(i);
      });
    }
    for (auto& other : others) {
      group.go([&] { thrum::atomic_wait(&other, false); });
    }
    REQUIRE(are_waiting(303));
    flag = true;
    thrum::atomic_notify_one(&flag);
    REQUIRE(eventually([&] { return order.size() == 1; }));
    CHECK(thrum::stats().waiting == 302);
    thrum::atomic_notify_all(&flag);
    REQUIRE(eventually([&] { return order.size() == 3; }));
    CHECK(order == std::vector<int>{0, 1, 2});
    CHECK(thrum::stats().waiting == 300);
    for (auto& other : others) {
      other = true;
      thrum::atomic_notify_one(&other);
    }
    group.wait();
  });
}

TEST_CASE("a wait for an atomic ends in time, with a stop, and with the runtime") {
  with_runtime([] {
    std::atomic<int> value{0};
    CHECK_FALSE(thrum::atomic_wait_for(&value, 0, 1ms));
    CHECK_FALSE(thrum::atomic_wait_until(&value, 0, std::chrono::system_clock::now() + 1ms));
    CHECK(thrum::atomic_wait_for(&value, 1, 0ms));
    CHECK_FALSE(thrum::atomic_wait(&value, 0, thrum::context().with_timeout(1ms)));
    std::stop_source source = support::new_source();
    auto waiter = thrum::spawn([&] { return thrum::atomic_wait(&value, 0, source.get_token()); });
    REQUIRE(are_waiting(1));
    source.request_stop();
    CHECK_FALSE(waiter.join());
    CHECK(thrum::atomic_wait(&value, 1, source.get_token()));
  });
  std::atomic<void*> pointer{nullptr};
  CHECK(support::is_unwound_at_stop([&] { thrum::atomic_wait(&pointer, nullptr); }));
}

IN_RUNTIME("goroutines and foreign threads hand a number round by waits and notifications") {
  constexpr int players = 6;
  const int rounds = scaled(300, 30);
  std::atomic<int> turn{0};
  std::atomic<int> next_player{0};
  support::on_goroutines_and_threads(players / 2, [&] {
    const int me = next_player++;
    for (int i = 0; i != rounds; ++i) {
      for (int now = turn; now % players != me; now = turn) {
        thrum::atomic_wait(&turn, now);
      }
      ++turn;
      thrum::atomic_notify_all(&turn);
    }
  });
  CHECK(turn == players * rounds);
}

IN_RUNTIME("no notification is lost that comes while a waiter is about to park") {
  for (int i = 0; i != scaled(3'000, 300); ++i) {
    std::atomic<bool> ready{false};
    auto waiter = thrum::spawn([&] { thrum::atomic_wait(&ready, false); });
    if (i % 2 == 0) {
      thrum::this_goroutine::yield();
    }
    ready = true;
    thrum::atomic_notify_one(&ready);
    waiter.join();
    CHECK(ready);
  }
}
