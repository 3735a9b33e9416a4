// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Go's tests of time, and the scheduler's of its timers, re-created from their descriptions. What
// depends on the passing of time runs in a bubble where it can.

#include <thrum/testing/bubble.hpp>

#include "support/test.hpp"

IN_RUNTIME(
    "AfterFunc: functions that arm the next one with no delay are called one after another") {
  int left = scaled(10'000, 100);
  const thrum::chan<void> done(0);
  struct step {
    int& left;
    thrum::chan<void> done;
    void operator()() {
      if (--left == 0) {
        done.send();
      } else {
        thrum::after_func(0s, step{left, done});
      }
    }
  };
  thrum::after_func(0s, step{left, done});
  done.recv();
  CHECK(left == 0);
}

IN_RUNTIME("AfterFuncStarvation: a pair that never stops cannot starve a timer on one processor",
           with_procs(1)) {
  std::atomic<bool> stop{false};
  const thrum::chan<int> there(0);
  const thrum::chan<int> back(0);
  thrum::wait_group group;
  group.go([&] {
    while (!stop) {
      there.send(1);
      back.recv();
    }
    there.close();
  });
  group.go([&] {
    while (there.recv()) {
      back.send(1);
    }
  });
  const auto due = std::chrono::steady_clock::now() + 1us;
  thrum::after_func(1us, [&] { stop = true; });
  group.wait();
  CHECK(std::chrono::steady_clock::now() >= due);
  CHECK(stop);
}

IN_BUBBLE("AfterStop: what is stopped in time is not called, whatever else fires meanwhile") {
  const auto inner = thrum::after_func(100ms, [] {});
  int fired = 0;
  const auto stopped = thrum::after_func(50ms, [&] { ++fired; });
  const thrum::timer with_channel(50ms);
  CHECK(stopped.stop());
  CHECK(with_channel.stop());
  thrum::sleep_for(1s);
  CHECK(fired == 0);
  thrum::time_point when;
  CHECK(with_channel.chan().try_recv(when) == thrum::recv_status::empty);
  CHECK_FALSE(stopped.stop());
  CHECK_FALSE(with_channel.stop());
  CHECK_FALSE(inner.stop());
}

IN_BUBBLE("AfterQueuing: timers of many goroutines fire in the order of their times") {
  const std::vector<int> slots{5, 3, 6, 6, 6, 1, 1, 2, 7, 9, 4, 8, 0};
  const thrum::chan<int> fired(slots.size());
  const auto start = thrum::testing::now();
  for (const int slot : slots) {
    thrum::go([=] {
      const auto when = thrum::after(slot * 10ms).recv();
      CHECK(*when == start + slot * 10ms);
      fired.send(slot);
    });
  }
  int last = 0;
  for (std::size_t i = 0; i != slots.size(); ++i) {
    const int slot = *fired.recv();
    CHECK(slot >= last);
    last = slot;
  }
}

IN_RUNTIME("TimerStopStress: stops that race with their timers never let a stopped one through",
           with_procs(4)) {
  std::atomic<bool> wrong{false};
  in_goroutines(scaled(200), [&](int) {
    std::atomic<bool> stopped{false};
    std::atomic<bool> called{false};
    const auto timer = thrum::after_func(1ms, [&] {
      wrong = wrong || stopped;
      called = true;
    });
    thrum::sleep_for(1ms);
    if (timer.stop()) {
      stopped = true;
    } else {
      while (!called) {
        thrum::this_goroutine::yield();
      }
    }
  });
  CHECK_FALSE(wrong);
}

IN_RUNTIME("SleepZeroDeadlock: sleeps of no time among goroutines that come and go end",
           with_procs(4)) {
  const thrum::chan<void> done(0);
  thrum::go([done] {
    for (int i = 0; i != 100; ++i) {
      thrum::sleep_for(0s);
      thrum::spawn([] { thrum::sleep_for(-1s); }).join();
    }
    done.send();
  });
  CHECK(done.recv());
}

IN_BUBBLE("Issue5745: a panic of the library in a timer's function leaves no lock behind") {
  const thrum::chan<void> done(0);
  thrum::after_func(1ms, [done] {
    CHECK(support::is_usage_error("chan::close", [] { thrum::chan<int>().close(); }));
    done.send();
  });
  done.recv();
  thrum::after_func(1ms, [done] { done.send(); });
  done.recv();
}

IN_RUNTIME("ZeroTimer: a million timers of no time are due at once") {
  int without_time = 0;
  for (int i = 0; i != scaled(1'000'000); ++i) {
    without_time += thrum::timer(0s).chan().recv().has_value() ? 0 : 1;
  }
  CHECK(without_time == 0);
}

IN_BUBBLE("AdjustTimers: timers that are set, stopped and moved at random fire in order") {
  thrum::base::random random(3);
  const auto start = thrum::testing::now();
  std::vector<thrum::timer> timers;
  int fired = 0;
  int expected = 0;
  for (int i = 0; i != 300; ++i) {
    timers.push_back(thrum::after_func(1h, [&] { ++fired; }));
  }
  for (int i = 0; i != 3'000; ++i) {
    const auto& timer = timers[random.below(300)];
    if (random.below(4) == 0) {
      timer.stop();
    } else {
      timer.reset(std::chrono::milliseconds(1'000 + random.below(1'000)));
    }
  }
  for (const auto& timer : timers) {
    expected += timer.reset(5s) ? 1 : 0;
  }
  CHECK(expected > 0);
  CHECK(fired == 0);
  thrum::sleep_for(5s);
  thrum::testing::wait();
  CHECK(fired == 300);
  CHECK(thrum::testing::now() - start == 5s);
}

IN_RUNTIME("StopResult and ResetResult: stop and reset return false if the moment is received",
           with_procs(4)) {
  std::atomic<bool> wrong{false};
  in_goroutines(scaled(1'000), [&](int i) {
    const thrum::timer timer(std::chrono::microseconds(i % 50));
    auto receiver = thrum::spawn([&] {
      thrum::time_point when;
      return timer.chan().recv_for(when, 2ms) == thrum::recv_status::ok;
    });
    thrum::sleep_for(std::chrono::microseconds(i % 50));
    const bool stopped = i % 2 == 0 ? timer.stop() : timer.reset(1h);
    wrong = wrong || receiver.join() == stopped;
  });
  CHECK_FALSE(wrong);
}

IN_RUNTIME("TickerStress: a ticker ticks on while other goroutines keep every processor busy",
           with_procs(4)) {
  std::atomic<bool> stop{false};
  thrum::wait_group group;
  for (int i = 0; i != 4; ++i) {
    group.go([&] {
      while (!stop) {
        thrum::this_goroutine::preemption_point();
      }
    });
  }
  const thrum::ticker ticker(1ms);
  for (int i = 0; i != 10; ++i) {
    CHECK(ticker.chan().recv().has_value());
  }
  stop = true;
  group.wait();
}

IN_RUNTIME("TickerConcurrentStress: ten goroutines share a ticker while it is reset and stopped",
           with_procs(4)) {
  const thrum::ticker ticker(100us);
  std::atomic<int> ticks{0};
  std::atomic<bool> stop{false};
  thrum::wait_group group;
  for (int i = 0; i != 10; ++i) {
    group.go([&] {
      thrum::time_point when;
      while (!stop) {
        ticks += ticker.chan().recv_for(when, 1ms) == thrum::recv_status::ok ? 1 : 0;
      }
    });
  }
  for (int i = 0; i != scaled(200); ++i) {
    ticker.reset(std::chrono::microseconds(50 + i % 100));
    thrum::this_goroutine::yield();
  }
  REQUIRE(eventually([&] { return ticks > 20; }));
  stop = true;
  group.wait();
  ticker.stop();
  thrum::time_point when;
  CHECK(ticker.chan().try_recv(when) == thrum::recv_status::empty);
}

IN_BUBBLE("MultiWakeupTimer: one goroutine of many gets a timer's moment each time it is set") {
  const thrum::timer timer(1ms);
  std::atomic<int> woken{0};
  in_goroutines(100, [&](int) {
    timer.chan().recv();
    ++woken;
    timer.reset(1ms);
  });
  CHECK(woken == 100);
}

IN_RUNTIME("Teardown: tickers that are made, stopped and dropped leave the program to end") {
  for (int i = 0; i != 3; ++i) {
    const thrum::ticker ticker(1ms);
    CHECK(ticker.chan().recv().has_value());
    ticker.stop();
  }
  for (int i = 0; i != 100; ++i) {
    thrum::ticker(1h).chan();
  }
  CHECK(thrum::stats().goroutines == 1);  // none of them has left one behind
}

IN_RUNTIME("LongAdjustTimers: selects with a timeout stay cheap beside thousands of sleepers") {
  const int sleepers = support::live_goroutines(5'000);
  std::atomic<int> awake{0};
  for (int i = 0; i != sleepers; ++i) {
    thrum::go([&] {
      thrum::sleep_for(1h);
      ++awake;
    });
  }
  REQUIRE(
      eventually([&] { return thrum::stats().waiting == static_cast<std::uint64_t>(sleepers); }));
  const thrum::chan<int> items(1);
  for (int i = 0; i != scaled(1'000'000); ++i) {
    items.send(i);
    REQUIRE(thrum::select(thrum::on_recv(items), thrum::on_timeout(20ms)) == 0);
  }
  CHECK(awake == 0);
}

IN_RUNTIME("TimerGC: timers that nobody stops or waits for are freed with their last handle") {
  for (int i = 0; i != scaled(100'000); ++i) {
    const auto ch = thrum::after(1h);
    const thrum::ticker ticker(1h);
    thrum::time_point when;
    REQUIRE(ch.try_recv(when) == thrum::recv_status::empty);
  }
  CHECK(thrum::stats().timers == 0);
}

namespace {

/// Receives until a timer fires, which it must. How many items came.
int received_before_a_timer(const thrum::chan<int>& items) {
  int received = 0;
  // On a busy machine a short time may be over before anybody has sent.
  for (auto time = 20ms; received == 0 && time < support::long_time; time *= 2) {
    const auto due = std::chrono::steady_clock::now() + time;
    const auto timeout = thrum::after(time);
    for (bool running = true; running;) {
      thrum::select(thrum::on_recv(items, [&] { ++received; }),
                    thrum::on_recv(timeout, [&] { running = false; }));
    }
    CHECK(std::chrono::steady_clock::now() >= due);
  }
  return received;
}

}  // namespace

TEST_CASE(
    "TimerFairness: two that hog a channel, and make empty blocking calls, let a timer through") {
  for (const bool with_calls : {false, true}) {
    with_runtime(with_procs(2), [&] {
      const thrum::chan<int> items(1);
      const thrum::chan<void> stop(0);
      thrum::wait_group group;
      for (int i = 0; i != 2; ++i) {
        group.go([&] {
          for (bool running = true; running;) {
            if (with_calls) {
              thrum::blocking([] {});
            }
            thrum::select(thrum::on_send(items, 1), thrum::on_recv(stop, [&] { running = false; }));
          }
        });
      }
      CHECK(received_before_a_timer(items) > 0);
      stop.close();
      group.wait();
    });
  }
}
