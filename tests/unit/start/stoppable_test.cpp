// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Waits that a std::stop_token or a context ends, of every primitive that has them.

#include <thrum/detail/start/stoppable.hpp>

#include <thrum/sync/recursive_mutex.hpp>
#include <thrum/sync/weighted_semaphore.hpp>

#include "support/stop_source.hpp"
#include "support/test.hpp"

#include "support/waits.hpp"

namespace {

static_assert(thrum::stop_condition<std::stop_token>);
static_assert(thrum::stop_condition<thrum::context>);
static_assert(!thrum::stop_condition<std::stop_source>);
static_assert(!thrum::stop_condition<int>);
static_assert(!thrum::stop_condition<std::chrono::seconds>);
static_assert(thrum::until_condition<std::stop_token> && thrum::until_condition<thrum::context>);
static_assert(thrum::until_condition<std::chrono::seconds>);
static_assert(thrum::until_condition<std::chrono::system_clock::time_point>);
static_assert(!thrum::until_condition<int> && !thrum::until_condition<std::stop_source>);

/// A wait that only a stop ends, until release() is called; then another one gets what it waits for.
struct stoppable_wait {
  std::string name;
  std::function<bool(const std::stop_token&)> by_token;
  std::function<bool(const thrum::context&)> by_context;
  std::function<bool(std::chrono::nanoseconds)> by_time;
  std::function<bool(std::chrono::steady_clock::time_point)> by_moment;
  std::function<bool(std::chrono::system_clock::time_point)> by_wall_clock;
  std::function<void()> release;
};

template <class Wait, class Release>
stoppable_wait wait_of(std::string name, Wait wait, Release release) {
  return {std::move(name),
          [wait](const std::stop_token& stop) { return wait(stop); },
          [wait](const thrum::context& stop) { return wait(stop); },
          [wait](std::chrono::nanoseconds time) { return wait(time); },
          [wait](std::chrono::steady_clock::time_point when) { return wait(when); },
          [wait](std::chrono::system_clock::time_point when) { return wait(when); },
          release};
}

template <class Condition>
stoppable_wait wait_for_change(std::string name) {
  struct state {
    thrum::mutex m;
    Condition changed;
    bool done = false;
  };
  auto s = std::make_shared<state>();
  return wait_of(
      std::move(name),
      [s](const auto& stop) {
        std::unique_lock lock(s->m);
        return s->changed.wait(lock, stop, [&] { return s->done; });
      },
      [s] {
        const std::lock_guard lock(s->m);
        s->done = true;
        s->changed.notify_all();
      });
}

std::vector<stoppable_wait> every_wait() {
  std::vector<stoppable_wait> all;
  {
    auto m = std::make_shared<thrum::mutex>();
    m->lock();
    all.push_back(wait_of(
        "mutex", [m](const auto& stop) { return m->lock(stop); }, [m] { m->unlock(); }));
  }
  {
    auto m = std::make_shared<thrum::shared_mutex>();
    m->lock();
    all.push_back(wait_of(
        "shared_mutex", [m](const auto& stop) { return m->lock(stop); }, [m] { m->unlock(); }));
  }
  {
    auto m = std::make_shared<thrum::shared_mutex>();
    m->lock();
    all.push_back(wait_of(
        "shared_mutex shared", [m](const auto& stop) { return m->lock_shared(stop); },
        [m] { m->unlock(); }));
  }
  {
    auto s = std::make_shared<thrum::counting_semaphore<>>(0);
    all.push_back(wait_of(
        "semaphore", [s](const auto& stop) { return s->acquire(stop); }, [s] { s->release(); }));
  }
  {
    auto s = std::make_shared<thrum::weighted_semaphore>(3);
    s->acquire(2);
    all.push_back(wait_of(
        "weighted_semaphore", [s](const auto& stop) { return s->acquire(2, stop); },
        [s] { s->release(2); }));
  }
  {
    auto g = std::make_shared<thrum::wait_group>(1);
    all.push_back(wait_of(
        "wait_group", [g](const auto& stop) { return g->wait(stop); }, [g] { g->done(); }));
  }
  {
    auto l = std::make_shared<thrum::latch>(1);
    all.push_back(wait_of(
        "latch", [l](const auto& stop) { return l->wait(stop); }, [l] { l->count_down(); }));
  }
  {
    const thrum::chan<int> c(0);
    all.push_back(wait_of(
        "recv", [c](const auto& stop) { return c.recv(stop).has_value(); },
        [c] { thrum::blocking([&] { std::thread([c] { c.send(1); }).detach(); }); }));
  }
  {
    const thrum::chan<int> c(0);
    all.push_back(wait_of(
        "recv into",
        [c](const auto& stop) {
          int out = 0;
          const auto status = c.recv(out, stop);
          return status == thrum::recv_status::ok;
        },
        [c] { thrum::blocking([&] { std::thread([c] { c.send(1); }).detach(); }); }));
  }
  {
    const thrum::chan<std::string> c(1);
    c.send("full");
    all.push_back(wait_of(
        "send", [c](const auto& stop) { return c.send(std::string("x"), stop); },
        [c] { c.recv(); }));
  }
  {
    const thrum::chan<void> c(0);
    all.push_back(wait_of(
        "recv of a signal",
        [c](const auto& stop) { return c.recv(stop) == thrum::recv_status::closed; },
        [c] { c.close(); }));
  }
  {
    const thrum::chan<void> c(1);
    c.send();
    all.push_back(wait_of(
        "send of a signal", [c](const auto& stop) { return c.send(stop); }, [c] { c.recv(); }));
  }
  all.push_back(wait_for_change<thrum::condition_variable>("condition_variable"));
  all.push_back(wait_for_change<thrum::condition_variable_any>("condition_variable_any"));
  return all;
}

}  // namespace

IN_RUNTIME("a request ends each wait, and what was waited for is left to the next") {
  for (const stoppable_wait& each : every_wait()) {
    INFO(each.name);
    std::stop_source source = support::new_source();
    auto waiter = thrum::spawn([&] { return each.by_token(source.get_token()); });
    REQUIRE(are_waiting(1));
    source.request_stop();
    CHECK_FALSE(waiter.join());
    CHECK_FALSE(each.by_token(source.get_token()));  // requested before
    each.release();
    CHECK(each.by_token(std::stop_token()));
  }
}

IN_RUNTIME("a context that is cancelled ends each wait, and so does its deadline") {
  for (const stoppable_wait& each : every_wait()) {
    INFO(each.name);
    const thrum::context context = thrum::context().with_cancel();
    auto waiter = thrum::spawn([&] { return each.by_context(context); });
    REQUIRE(are_waiting(1));
    context.cancel();
    CHECK_FALSE(waiter.join());
    CHECK_FALSE(each.by_context(context));
    const auto begin = std::chrono::steady_clock::now();
    CHECK_FALSE(each.by_context(thrum::context().with_timeout(2ms)));
    CHECK(std::chrono::steady_clock::now() - begin >= 2ms);
    auto other = thrum::spawn([&] { return each.by_context(thrum::context().with_cancel()); });
    REQUIRE(are_waiting(1));
    each.release();
    CHECK(other.join());
  }
}

TEST_CASE("a time and a moment of any clock end each wait that a stop ends") {
  const auto waits = [] {
    for (const stoppable_wait& each : every_wait()) {
      INFO(each.name);
      const auto begin = std::chrono::steady_clock::now();
      CHECK_FALSE(each.by_time(1ms));
      CHECK_FALSE(each.by_moment(begin + 2ms));
      CHECK(std::chrono::steady_clock::now() - begin >= 2ms);
      CHECK_FALSE(each.by_wall_clock(std::chrono::system_clock::now() + 1ms));
      CHECK_FALSE(each.by_time(-1s));
      each.release();
      CHECK(each.by_time(std::chrono::nanoseconds::max()));
    }
  };
  with_runtime(waits);
  waits();
}

TEST_CASE("a time ends a wait for a barrier, for the end of a goroutine, and for a group") {
  with_runtime([] {
    thrum::barrier<> all(2);
    CHECK_FALSE(all.arrive_and_wait(1ms));
    const thrum::chan<void> go_on(0);
    thrum::task_group group;
    group.go([&] { go_on.recv(); });
    auto handle = thrum::spawn([&] { go_on.recv(); });
    CHECK_FALSE(handle.wait(1ms));
    CHECK_FALSE(group.wait(std::chrono::steady_clock::now()));
    go_on.close();
    CHECK(handle.wait(1h));
    CHECK(group.wait(1h));
    int out = 0;
    CHECK(thrum::make_chan<int>().recv(out, 1ms) == thrum::recv_status::timeout);
  });
}

TEST_CASE(
    "waits of a thread without a runtime end too, also by a deadline that no runtime watches") {
  for (const stoppable_wait& each : every_wait()) {
    INFO(each.name);
    std::stop_source source = support::new_source();
    std::atomic<bool> got{true};
    std::thread waiter([&] { got = each.by_token(source.get_token()); });
    std::this_thread::sleep_for(1ms);
    source.request_stop();
    waiter.join();
    CHECK_FALSE(got);
    CHECK_FALSE(each.by_context(thrum::context().with_timeout(1ms)));
    each.release();
    CHECK(each.by_context(thrum::context().with_cancel()));
  }
}

TEST_CASE("what can be had at once is had, also after the stop") {
  std::stop_source source = support::new_source();
  source.request_stop();
  const std::stop_token stop = source.get_token();
  thrum::mutex m;
  CHECK(m.lock(stop));
  CHECK_FALSE(m.lock(stop));
  thrum::recursive_mutex r;
  CHECK(r.lock(stop));
  CHECK(r.lock(stop));
  r.unlock();
  r.unlock();
  thrum::counting_semaphore<> permits(1);
  CHECK(permits.acquire(stop));
  CHECK_FALSE(permits.acquire(stop));
  const thrum::chan<int> c(1);
  CHECK(c.send(1, stop));
  CHECK_FALSE(c.send(2, stop));
  CHECK(c.recv(stop) == 1);
  int out = 0;
  CHECK(c.recv(out, stop) == thrum::recv_status::stopped);
  c.close();
  CHECK(c.recv(out, stop) == thrum::recv_status::closed);
  CHECK(support::is_usage_error("chan::send", [&] { c.send(1, stop); }));
}

TEST_CASE("a stopped send leaves its value where it was") {
  const thrum::chan<std::unique_ptr<int>> c(0);
  const thrum::context context = thrum::context().with_timeout(1ms);
  auto owner = std::make_unique<int>(7);
  CHECK_FALSE(c.send(std::move(owner), context));
  REQUIRE(owner != nullptr);  // NOLINT(bugprone-use-after-move): not moved from
  CHECK_FALSE(c.send(owner, context));
  CHECK(*owner == 7);
}

IN_RUNTIME("a wait for a barrier is stopped, and its arrival stays") {
  thrum::barrier<> all(3);
  auto waiter =
      thrum::spawn([&] { return all.wait(all.arrive(), thrum::context().with_timeout(1ms)); });
  CHECK_FALSE(waiter.join());
  auto other = thrum::spawn([&] { return all.wait(all.arrive(), thrum::context().with_cancel()); });
  REQUIRE(are_waiting(1));
  all.arrive_and_wait();
  CHECK(other.join());
}

IN_RUNTIME("a wait for the end of a goroutine is stopped, and it is still to be joined") {
  const thrum::chan<void> go_on(0);
  auto handle = thrum::spawn([&] {
    go_on.recv();
    return 5;
  });
  CHECK_FALSE(handle.wait(thrum::context().with_timeout(1ms)));
  std::stop_source source = support::new_source();
  auto requester = thrum::spawn([&] { source.request_stop(); });
  CHECK_FALSE(handle.wait(source.get_token()));
  requester.join();
  go_on.close();
  CHECK(handle.wait(thrum::context().with_cancel()));
  CHECK(handle.wait(source.get_token()));
  CHECK(handle.join() == 5);
}

TEST_CASE("a sleep is stopped, or ends when its time has passed") {
  const auto sleeps = [] {
    std::stop_source source = support::new_source();
    const auto begin = std::chrono::steady_clock::now();
    CHECK(thrum::sleep_for(2ms, source.get_token()));
    CHECK(thrum::sleep_until(begin + 4ms, thrum::context().with_cancel()));
    CHECK(thrum::sleep_until(std::chrono::system_clock::now() + 1ms, source.get_token()));
    CHECK(std::chrono::steady_clock::now() - begin >= 4ms);
    CHECK_FALSE(thrum::sleep_for(1h, thrum::context().with_timeout(1ms)));
    std::thread requester([&] { source.request_stop(); });
    CHECK_FALSE(thrum::sleep_for(1h, source.get_token()));
    thrum::blocking([&] { requester.join(); });
    CHECK_FALSE(thrum::sleep_until(begin + 1h, source.get_token()));
    CHECK_FALSE(thrum::sleep_for(0s, source.get_token()));
  };
  with_runtime(sleeps);
  sleeps();
}

IN_BUBBLE("stoppable waits take the time of a bubble") {
  const auto begin = thrum::testing::now();
  const thrum::context context = thrum::context().with_timeout(1h);
  thrum::binary_semaphore permit(0);
  CHECK_FALSE(permit.acquire(context));
  CHECK(thrum::testing::now() == begin + 1h);
  CHECK_FALSE(thrum::sleep_for(2h, context.without_cancel().with_timeout(1h)));
  CHECK(thrum::sleep_for(1h, thrum::context().with_timeout(2h)));
  CHECK(thrum::testing::now() == begin + 3h);
}

IN_RUNTIME("a channel with a clock is received from until a stop") {
  const thrum::context stop = thrum::context().with_timeout(3ms);
  CHECK_FALSE(thrum::after(1h).recv(stop).has_value());
  CHECK(thrum::after(1ms).recv(thrum::context().with_timeout(1h)).has_value());
  const thrum::ticker often(1ms);
  const auto ticks = often.chan();
  int n = 0;
  while (n < 1'000 && ticks.recv(thrum::context().with_timeout(1h)).has_value()) {
    n += 500;
  }
  CHECK(n == 1'000);
  std::stop_source source = support::new_source();
  auto waiter = thrum::spawn([&] { return thrum::after(1h).recv(source.get_token()); });
  REQUIRE(are_waiting(1));
  source.request_stop();
  CHECK_FALSE(waiter.join().has_value());
}

IN_RUNTIME("stops that race with what is waited for lose nothing and touch nothing that is gone") {
  const int rounds = scaled(3'000, 200);
  int got = 0;
  for (int i = 0; i != rounds; ++i) {
    auto permits = std::make_unique<thrum::counting_semaphore<>>(0);
    auto source = std::make_unique<std::stop_source>(support::new_source());
    auto waiter = thrum::spawn([&] { return permits->acquire(source->get_token()); });
    auto requester = thrum::spawn([&] {
      for (int k = 0; k != i % 3; ++k) {
        thrum::this_goroutine::yield();
      }
      source->request_stop();
    });
    if (i % 2 == 0) {
      thrum::this_goroutine::yield();
    }
    permits->release();
    const bool acquired = waiter.join();
    requester.join();
    REQUIRE(permits->try_acquire() == !acquired);
    got += acquired ? 1 : 0;
  }
  CHECK(got <= rounds);
}

IN_RUNTIME("many that wait for one mutex are all stopped by one request, in whatever state it is") {
  for (int round = 0; round != scaled(50, 5); ++round) {
    thrum::mutex m;
    std::stop_source source = support::new_source();
    std::atomic<int> locked{0};
    std::atomic<int> stopped{0};
    m.lock();
    thrum::wait_group group;
    for (int i = 0; i != 20; ++i) {
      group.go([&] {
        if (m.lock(source.get_token())) {
          ++locked;
          m.unlock();
        } else {
          ++stopped;
        }
      });
    }
    auto stopper = thrum::spawn([&] { source.request_stop(); });
    if (round % 2 == 0) {
      thrum::this_goroutine::yield();
    }
    m.unlock();
    group.wait();
    stopper.join();
    CHECK(locked + stopped == 20);
    CHECK(m.try_lock());
  }
}

TEST_CASE("the stop of a runtime ends a wait that has a stop of its own") {
  thrum::counting_semaphore<> permits(0);
  CHECK(support::is_unwound_at_stop(
      [&] { static_cast<void>(permits.acquire(thrum::context().with_cancel())); }));
}
