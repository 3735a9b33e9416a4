// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/time/ticker.hpp>
#include <thrum/time/timer.hpp>

#include <thrum/testing/bubble.hpp>

#include "support/test.hpp"
#include "support/waits.hpp"

using thrum::testing::bubble;

static_assert(std::is_same_v<decltype(thrum::after(1s)), thrum::recv_chan<thrum::time_point>>);

IN_BUBBLE("a timer gives the moment at which it was due, once") {
  const auto start = thrum::testing::now();
  const thrum::timer timer(1s);
  thrum::sleep_for(5s);
  CHECK(timer.chan().recv() == start + 1s);
  thrum::time_point ignored;
  CHECK(timer.chan().try_recv(ignored) == thrum::recv_status::empty);
  CHECK(timer.chan().recv_for(ignored, 1h) == thrum::recv_status::timeout);
}

IN_BUBBLE("a receiver of a timer waits until it is due, and no longer") {
  const auto start = thrum::testing::now();
  const thrum::timer timer(1s);
  thrum::time_point when;
  CHECK(timer.chan().recv_for(when, 500ms) == thrum::recv_status::timeout);
  CHECK(timer.chan().recv_for(when, 1h) == thrum::recv_status::ok);
  CHECK(when == start + 1s);
  CHECK(thrum::testing::now() == start + 1s);
}

IN_BUBBLE("the channel of a timer has no size and no capacity, before and after it is due") {
  const thrum::timer timer(1s);
  CHECK(timer.chan().size() == 0);
  CHECK(timer.chan().capacity() == 0);
  thrum::sleep_for(2s);
  CHECK(timer.chan().size() == 0);
  CHECK_FALSE(timer.chan().is_closed());
}

IN_BUBBLE("nothing is received after a stop or a reset that was due before") {
  const auto start = thrum::testing::now();
  const thrum::timer timer(1s);
  thrum::sleep_for(2s);
  CHECK(timer.stop());  // due, but nobody had received it
  thrum::time_point when;
  CHECK(timer.chan().try_recv(when) == thrum::recv_status::empty);
  CHECK_FALSE(timer.stop());
  CHECK_FALSE(timer.reset(1s));
  thrum::sleep_for(2s);
  CHECK(timer.reset(3s));
  CHECK(timer.chan().recv() == start + 7s);
  CHECK_FALSE(timer.reset(1s));
  CHECK(timer.stop());
}

IN_BUBBLE("a reset to earlier or later reaches goroutines that wait already") {
  const auto start = thrum::testing::now();
  const thrum::timer timer(10s);
  thrum::go([timer] {
    thrum::sleep_for(1s);
    timer.reset(1s);
  });
  CHECK(timer.chan().recv() == start + 2s);
  timer.reset(1s);
  thrum::go([timer] {
    thrum::sleep_for(500ms);
    timer.reset(10s);
  });
  CHECK(timer.chan().recv() == start + 2s + 500ms + 10s);
}

IN_BUBBLE("after a stop the waiters go on waiting, until a reset") {
  const auto start = thrum::testing::now();
  const thrum::timer timer(1s);
  timer.stop();
  thrum::go([timer] {
    thrum::sleep_for(1h);
    timer.reset(1s);
  });
  CHECK(timer.chan().recv() == start + 1h + 1s);
}

IN_BUBBLE("of many goroutines that wait for one timer, one gets its moment") {
  const thrum::timer timer(1s);
  std::atomic<int> got{0};
  in_goroutines(10, [&](int) {
    thrum::time_point when;
    got += timer.chan().recv_for(when, 1min) == thrum::recv_status::ok ? 1 : 0;
  });
  CHECK(got == 1);
}

IN_BUBBLE("a timer in a select is ready when it is due, also in several selects") {
  const auto start = thrum::testing::now();
  const thrum::timer timer(1s);
  const thrum::chan<int> never(0);
  int chosen = -1;
  thrum::select(thrum::on_recv(never), thrum::on_recv(timer.chan(), [&](auto when) {
                  CHECK(when == start + 1s);
                  chosen = 1;
                }));
  CHECK(chosen == 1);
  CHECK(thrum::select(thrum::on_recv(never), thrum::on_recv(timer.chan()), thrum::otherwise()) ==
        2);
  timer.reset(1s);
  CHECK(thrum::select(thrum::on_recv(timer.chan()), thrum::on_timeout(500ms)) == 1);
  CHECK(thrum::select(thrum::on_recv(timer.chan()), thrum::on_timeout(500ms + 1ns)) == 0);
  thrum::go([timer] {
    thrum::sleep_for(1s);
    timer.reset(1s);
  });
  CHECK(thrum::select(thrum::on_recv(never), thrum::on_recv(timer.chan())) == 1);
  CHECK(thrum::testing::now() == start + 1s + 1s + 1s + 1s);
}

IN_BUBBLE("a timer that is not in the future is due at once, one too far away never") {
  thrum::time_point when;
  CHECK(thrum::timer(0s).chan().try_recv(when) == thrum::recv_status::ok);
  CHECK(thrum::timer(-1h).chan().try_recv(when) == thrum::recv_status::ok);
  const thrum::timer never(std::chrono::hours::max());
  CHECK(never.chan().recv_for(when, 24h * 365 * 100) == thrum::recv_status::timeout);
  CHECK(never.stop());
}

TEST_CASE("a wait for a timer that never fires ends as any other wait does") {
  bubble([] {
    const thrum::chan<int> other(0);
    thrum::go([other] {
      thrum::sleep_for(1s);
      other.send(1);
    });
    const thrum::timer never(std::chrono::hours::max());
    CHECK(thrum::select(thrum::on_recv(never.chan()), thrum::on_recv(other)) == 1);
    thrum::go([never] {
      thrum::sleep_for(1s);
      never.reset(0s);
    });
    CHECK(never.chan().recv().has_value());
  });
  CHECK(support::is_unwound_at_stop([] { thrum::after(std::chrono::hours::max()).recv(); }));
  CHECK(support::is_unwound_at_stop([] {
    const thrum::timer never(std::chrono::hours::max());
    thrum::select(thrum::on_recv(never.chan()), thrum::on_recv(thrum::chan<int>(0)));
  }));
}

TEST_CASE("a foreign thread waits for a timer that never fires until it is set again") {
  const thrum::timer never(std::chrono::hours::max());
  std::atomic<bool> has_received{false};
  std::thread waiter([&] { has_received = never.chan().recv().has_value(); });
  never.reset(1ms);
  waiter.join();
  CHECK(has_received);
  const thrum::chan<int> other(0);
  never.reset(std::chrono::hours::max());
  std::thread sender([&] { other.send(1); });
  CHECK(thrum::select(thrum::on_recv(never.chan()), thrum::on_recv(other)) == 1);
  sender.join();
}

TEST_CASE("an empty timer cannot be stopped or reset, and its channel is the nil channel") {
  const thrum::timer none;
  CHECK_FALSE(none.chan());
  CHECK(is_usage_error("timer::stop", [&] { none.stop(); }));
  CHECK(is_usage_error("timer::reset", [&] { none.reset(1s); }));
}

TEST_CASE("a foreign thread waits for a timer without any runtime") {
  const auto start = std::chrono::steady_clock::now();
  const thrum::timer timer(5ms);
  CHECK(timer.chan().recv().has_value());
  CHECK(std::chrono::steady_clock::now() - start >= 5ms);
  CHECK(thrum::select(thrum::on_recv(thrum::after(1ms)), thrum::on_timeout(1h)) == 0);
}

IN_BUBBLE("after_func calls its function in a goroutine of its own, in time") {
  const auto start = thrum::testing::now();
  const thrum::chan<thrum::goroutine_id> called(1);
  const auto timer = thrum::after_func(1s, [=] {
    CHECK(thrum::testing::now() == start + 1s);
    thrum::sleep_for(1s);
    called.send(thrum::this_goroutine::id());
  });
  CHECK_FALSE(timer.chan());
  const auto id = called.recv();
  CHECK(id != thrum::this_goroutine::id());
  CHECK(thrum::testing::now() == start + 2s);
  CHECK_FALSE(timer.stop());
}

IN_BUBBLE(
    "after_func that is stopped is not called, and one that is reset is called later, again") {
  int calls = 0;
  const auto timer = thrum::after_func(1s, [&] { ++calls; });
  CHECK(timer.stop());
  CHECK_FALSE(timer.stop());
  thrum::sleep_for(1h);
  CHECK(calls == 0);
  CHECK_FALSE(timer.reset(1s));
  CHECK(timer.reset(2s));
  thrum::sleep_for(1s + 500ms);
  CHECK(calls == 0);
  thrum::sleep_for(1s);
  CHECK(calls == 1);
  CHECK_FALSE(timer.reset(0s));
  thrum::testing::wait();
  thrum::sleep_for(1ns);
  CHECK(calls == 2);
}

IN_BUBBLE(
    "after_func is called although its timer was dropped, and then its function is destroyed") {
  const auto token = std::make_shared<int>(0);
  thrum::after_func(1s, [token] {});
  CHECK(token.use_count() == 2);
  thrum::sleep_for(2s);
  thrum::testing::wait();
  CHECK(token.use_count() == 1);
  {
    const auto timer = thrum::after_func(1h, [token] {});
    timer.stop();
    CHECK(token.use_count() == 2);
  }
  CHECK(token.use_count() == 1);
}

TEST_CASE("a runtime that stops calls no more functions, and frees them") {
  const auto token = std::make_shared<int>(0);
  std::atomic<int> called{0};
  with_runtime([&] {
    for (int i = 0; i != 100; ++i) {
      thrum::after_func(1h, [token, &called] { ++called; });
    }
    CHECK(token.use_count() == 101);
  });
  CHECK(called == 0);
  CHECK(token.use_count() == 1);
}

TEST_CASE("a timer of after_func that outlives its runtime can be stopped, but not set again") {
  const char* const reset = "timer::reset";
  thrum::timer armed;
  thrum::timer stopped;
  thrum::timer called;
  {
    thrum::runtime runtime(support::environment_options());
    runtime.block_on([&] {
      armed = thrum::after_func(1h, [] {});
      stopped = thrum::after_func(1h, [] {});
      stopped.stop();
      const thrum::chan<void> now(0);
      called = thrum::after_func(0s, [now] { now.send(); });
      now.recv();
    });
    CHECK_FALSE(called.reset(1h));
    CHECK(armed.reset(2h));
    runtime.stop();
    CHECK(is_usage_error(reset, [&] { armed.reset(1h); }));
  }
  for (const thrum::timer& left : {armed, stopped, called}) {
    CHECK(is_usage_error(reset, [&] { left.reset(1h); }));
    CHECK_FALSE(left.stop());
    // Another runtime, perhaps where the first was.
    with_runtime([&] { CHECK(is_usage_error(reset, [&] { left.reset(1h); })); });
  }
}

TEST_CASE("a timer of after_func may be set again by anybody while its runtime stops") {
  for (int round = 0; round != scaled(100); ++round) {
    thrum::timer timer;
    std::atomic<bool> began{false};
    std::atomic<bool> refused{false};
    std::thread other;
    {
      thrum::runtime runtime(support::environment_options());
      runtime.block_on([&] { timer = thrum::after_func(1h, [] {}); });
      other = std::thread([&refused, &began, timer] {
        while (!refused) {
          refused = is_usage_error("timer::reset", [&] { timer.reset(1h); });
          began = true;
        }
      });
      while (!began) {
        std::this_thread::yield();
      }
    }
    other.join();
    CHECK(refused);
    CHECK_FALSE(timer.stop());
  }
}

IN_RUNTIME("functions are called as often as the stops and resets that race with them say",
           with_procs(4)) {
  std::atomic<int> calls{0};
  std::atomic<int> stopped{0};
  const int n = scaled(2'000);
  in_goroutines(4, [&](int k) {
    for (int i = 0; i != n; ++i) {
      const auto timer =
          thrum::after_func(std::chrono::microseconds((i + k) % 5), [&] { ++calls; });
      if (i % 3 == 0) {
        thrum::this_goroutine::yield();
      }
      if (i % 2 == 0) {
        stopped += timer.stop() ? 1 : 0;
      } else {
        stopped += timer.reset(std::chrono::microseconds(i % 3)) ? 0 : -1;
      }
    }
  });
  CHECK(eventually([&] { return calls + stopped == 4 * n; }));
}

TEST_CASE("after_func outside of a runtime is an error of use") {
  CHECK(is_usage_error("after_func", [] { thrum::after_func(1s, [] {}); }));
}

TEST_CASE("a processor that is taken away while its runtime stops leaves no timer behind") {
  for (int round = 0; round != 20; ++round) {
    std::vector<thrum::timer> kept;
    thrum::runtime runtime(with_procs(2));
    const auto arm = [&] {
      for (int i = 0; i != 500; ++i) {
        kept.push_back(thrum::after_func(1h, [] {}));
      }
    };
    for (int i = 0; i != 4; ++i) {
      runtime.spawn(arm).join();
    }
    std::thread other([&] { runtime.procs(1); });
    runtime.stop();
    other.join();
    for (const thrum::timer& each : kept) {
      CHECK_FALSE(each.stop());
    }
  }
}

TEST_CASE("the last handle of a stopped timer may go while its runtime ends") {
  for (int round = 0; round != scaled(100); ++round) {
    int stopped = 0;
    std::atomic<int> fired{0};
    std::optional<thrum::runtime> runtime;
    runtime.emplace(with_procs(2));
    std::vector<thrum::timer> timers = runtime->block_on([&] {
      std::vector<thrum::timer> all;
      for (int i = 0; i != 50; ++i) {
        all.push_back(thrum::after_func(1h, [&] { ++fired; }));
        stopped += all.back().stop() ? 1 : 0;
      }
      return all;
    });
    std::thread other([&] { timers.clear(); });
    runtime.reset();
    other.join();
    REQUIRE(stopped == 50);
    REQUIRE(fired == 0);
  }
}

IN_BUBBLE("a ticker ticks every period, each tick with the moment at which it was due") {
  const auto start = thrum::testing::now();
  const thrum::ticker ticker(10ms);
  for (int i = 1; i <= 5; ++i) {
    CHECK(ticker.chan().recv() == start + i * 10ms);
    CHECK(thrum::testing::now() == start + i * 10ms);
  }
}

IN_BUBBLE("a receiver that is late gets one tick for those that it missed, and then the next") {
  const auto start = thrum::testing::now();
  const thrum::ticker ticker(1s);
  thrum::sleep_for(3500ms);
  CHECK(ticker.chan().recv() == start + 1s);
  CHECK(ticker.chan().recv() == start + 4s);
  CHECK(thrum::testing::now() == start + 4s);
}

IN_BUBBLE("a ticker that is stopped gives nothing more, one that is reset has a new period") {
  const thrum::ticker ticker(1s);
  thrum::sleep_for(1500ms);
  ticker.stop();
  thrum::time_point when;
  CHECK(ticker.chan().recv_for(when, 1h) == thrum::recv_status::timeout);
  const auto again = thrum::testing::now();
  ticker.reset(2s);
  CHECK(ticker.chan().recv() == again + 2s);
  CHECK(ticker.chan().recv() == again + 4s);
}

IN_BUBBLE("each tick of a ticker goes to one of its waiters") {
  const thrum::ticker ticker(1s);
  std::atomic<int> ticks{0};
  thrum::wait_group group;
  for (int i = 0; i != 10; ++i) {
    group.go([&] {
      thrum::time_point when;
      while (ticker.chan().recv_for(when, 20s) == thrum::recv_status::ok) {
        if (++ticks == 100) {
          ticker.stop();
        }
      }
    });
  }
  const auto start = thrum::testing::now();
  group.wait();
  CHECK(ticks == 100);
  CHECK(thrum::testing::now() - start == 120s);
}

IN_BUBBLE("a ticker in a select ticks beside other cases") {
  const thrum::ticker ticker(1s);
  const thrum::chan<int> items(0);
  thrum::go([items] {
    for (int i = 0; i != 3; ++i) {
      thrum::sleep_for(1500ms);
      items.send(i);
    }
    items.close();
  });
  int ticks = 0;
  int received = 0;
  for (bool open = true; open;) {
    thrum::select(thrum::on_recv(ticker.chan(), [&] { ++ticks; }),
                  thrum::on_recv(items, [&](std::optional<int> item) {
                    open = item.has_value();
                    received += open ? 1 : 0;
                  }));
  }
  CHECK(received == 3);
  CHECK(ticks == 4);
}

IN_BUBBLE("a ticker of a very long period does not tick in a lifetime") {
  const thrum::ticker ticker(std::chrono::hours::max());
  thrum::time_point when;
  CHECK(ticker.chan().recv_for(when, 24h * 365 * 100) == thrum::recv_status::timeout);
}

TEST_CASE("a wait for a ticker of a very long period ends as any other wait does") {
  CHECK(support::is_unwound_at_stop([] {
    const thrum::ticker ticker(std::chrono::hours::max());
    ticker.chan().recv();
  }));
  bubble([] {
    // One tick, and the next one is too far away to count.
    const thrum::ticker ticker(std::chrono::hours(24 * 365 * 200));
    CHECK(ticker.chan().recv().has_value());
    const thrum::chan<int> other(0);
    thrum::go([other] {
      thrum::sleep_for(1s);
      other.send(1);
    });
    CHECK(thrum::select(thrum::on_recv(ticker.chan()), thrum::on_recv(other)) == 1);
  });
}

TEST_CASE("a foreign thread receives ticks") {
  const thrum::ticker ticker(1ms);
  for (int i = 0; i != 3; ++i) {
    CHECK(ticker.chan().recv().has_value());
  }
}

TEST_CASE("a ticker that was moved from is an error of use, and its channel is the nil channel") {
  thrum::ticker first(1h);
  const thrum::ticker second(std::move(first));
  CHECK_FALSE(first.chan());  // NOLINT(bugprone-use-after-move)
  CHECK(is_usage_error("ticker::stop", [&] { first.stop(); }));
  CHECK(is_usage_error("ticker::reset", [&] { first.reset(1s); }));
  second.stop();
}

TEST_CASE("a period that is not positive is an error of use") {
  CHECK(is_usage_error("ticker:", [] { thrum::ticker t(0s); }));
  CHECK(is_usage_error("ticker:", [] { thrum::ticker t(-1s); }));
  const thrum::ticker ticker(1s);
  CHECK(is_usage_error("ticker::reset", [&] { ticker.reset(0s); }));
}
