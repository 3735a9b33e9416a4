// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/time/sleep.hpp>

#include "support/test.hpp"

#include <ratio>

using std::chrono::steady_clock;

IN_RUNTIME("a sleep is never shorter than asked for") {
  for (const auto time : {1us, 50us, 999us, 1000us, 3000us, 12000us}) {
    const auto begin = steady_clock::now();
    thrum::sleep_for(time);
    REQUIRE(steady_clock::now() - begin >= time);
    const auto end = steady_clock::now() + time;
    thrum::sleep_until(end);
    REQUIRE(steady_clock::now() >= end);
  }
}

IN_RUNTIME("a sleep of no time or less returns, and so does one until the past") {
  const auto begin = steady_clock::now();
  thrum::sleep_for(0s);
  thrum::sleep_for(-1h);
  thrum::sleep_for(std::chrono::nanoseconds::min());
  thrum::sleep_until(begin - 1h);
  thrum::sleep_until(steady_clock::time_point::min());
  thrum::sleep_until(std::chrono::system_clock::now() - 1h);
  CHECK(steady_clock::now() - begin < support::long_time);
}

IN_RUNTIME("durations and clocks of every kind can be slept by") {
  const auto begin = steady_clock::now();
  thrum::sleep_for(std::chrono::duration<double>(0.001));
  thrum::sleep_for(std::chrono::duration<int, std::micro>(1'000));
  thrum::sleep_until(std::chrono::system_clock::now() + 1ms);
  thrum::sleep_until(
      std::chrono::time_point_cast<std::chrono::milliseconds>(steady_clock::now() + 2ms));
  CHECK(steady_clock::now() - begin >= 3ms);
}

TEST_CASE("a time too long to be counted is for ever, and stop ends it") {
  std::atomic<int> parked{0};
  std::atomic<int> went_on{0};
  with_runtime([&] {
    const auto sleep = [&](auto how) {
      thrum::go([&, how] {
        ++parked;
        how();
        ++went_on;
      });
    };
    sleep([] { thrum::sleep_for(std::chrono::hours::max()); });
    sleep([] { thrum::sleep_for(std::chrono::nanoseconds::max()); });
    sleep([] { thrum::sleep_for(std::chrono::duration<double>(1e300)); });
    sleep([] { thrum::sleep_until(steady_clock::time_point::max()); });
    REQUIRE(support::eventually([&] { return parked == 4; }));
    thrum::sleep_for(5ms);
    CHECK(went_on == 0);
  });
  CHECK(went_on == 0);
}

IN_BUBBLE("sleepers wake in the order of their deadlines, whatever the order they began in") {
  constexpr int n = 10;
  std::vector<int> order;
  thrum::wait_group group;
  const auto begin = thrum::testing::now() + 2ms;
  for (int i = 0; i != n; ++i) {
    const int place = i * 7 % n;
    group.go([&, place] {
      thrum::sleep_until(begin + place * 1ms);
      order.push_back(place);
    });
  }
  group.wait();
  CHECK(order == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
}

IN_RUNTIME("a sleeper wakes beside goroutines that only yield to each other") {
  std::atomic<bool> stop{false};
  std::atomic<int> turns{0};
  thrum::wait_group group;
  for (unsigned i = 0; i != 2 * thrum::stats().procs; ++i) {
    group.go([&] {
      while (!stop) {
        ++turns;
        thrum::this_goroutine::yield();
      }
    });
  }
  for (int i = 0; i != 5; ++i) {
    const auto due = std::chrono::steady_clock::now() + 1ms;
    thrum::sleep_for(1ms);
    CHECK(std::chrono::steady_clock::now() >= due);
    CHECK(thrum::stats().goroutines == 1 + 2 * thrum::stats().procs);
  }
  CHECK(support::eventually([&] { return turns > 0; }));  // a sleeper leaves its thread to them
  stop = true;
  group.wait();
}

IN_RUNTIME("a sleeper wakes beside pairs that only wake each other") {
  std::atomic<bool> stop{false};
  thrum::wait_group group;
  for (unsigned i = 0; i != thrum::stats().procs + 1; ++i) {
    thrum::chan<int> there(0);
    thrum::chan<int> back(0);
    group.go([&, there, back]() mutable {
      while (!stop) {
        there.send(1);
        back.recv();
      }
      there.close();
    });
    group.go([there, back]() mutable {
      for (const int ball : there) {
        back.send(ball);
      }
    });
  }
  for (int i = 0; i != 5; ++i) {
    const auto due = std::chrono::steady_clock::now() + 1ms;
    thrum::sleep_for(1ms);
    CHECK(std::chrono::steady_clock::now() >= due);
    CHECK(thrum::stats().goroutines == 1 + 2 * (thrum::stats().procs + 1));
  }
  stop = true;
  group.wait();
}

IN_RUNTIME("thousands of sleepers with random deadlines all wake, none too early") {
  const int n = support::live_goroutines(10'000);
  std::atomic<int> early{0};
  std::atomic<int> woken{0};
  in_goroutines(n, [&](int i) {
    for (int round = 0; round != 3; ++round) {
      const std::chrono::microseconds time((i * 7'919 + round * 104'729) % 20'000);
      const auto begin = steady_clock::now();
      thrum::sleep_for(time);
      early += steady_clock::now() - begin < time ? 1 : 0;
    }
    ++woken;
  });
  CHECK(early == 0);
  CHECK(woken == n);
}

IN_RUNTIME("a shorter sleep that begins later is not held up by a longer one") {
  const int rounds = scaled(50, 10);
  for (int i = 0; i != rounds; ++i) {
    thrum::go([] { thrum::sleep_for(1h); });
    thrum::sleep_for(100us);  // all sleep for the hour when this shorter sleep begins
  }
  // All of the long ones sleep on, or have not begun.
  CHECK(thrum::stats().goroutines == static_cast<std::uint64_t>(rounds) + 1);
}

TEST_CASE("foreign threads sleep as threads, beside goroutines") {
  std::atomic<int> early{0};
  thrum::runtime runtime(support::environment_options());
  auto sleeper = runtime.spawn([] { thrum::sleep_for(2ms); });
  std::vector<std::thread> threads;
  for (int i = 0; i != 4; ++i) {
    threads.emplace_back([&] {
      const auto begin = steady_clock::now();
      thrum::sleep_for(2ms);
      thrum::sleep_for(-1s);
      early += steady_clock::now() - begin < 2ms ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  sleeper.join();
  CHECK(early == 0);
}
