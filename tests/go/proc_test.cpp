// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Go's tests of its scheduler, re-created from their descriptions.

#include "support/process.hpp"
#include "support/test.hpp"

IN_RUNTIME("YieldProgress: a loop that yields and never blocks lets others deliver to it") {
  thrum::chan<bool> stop(0);
  thrum::chan<bool> acknowledge(0);
  thrum::go([=]() mutable {
    bool ignored = false;
    while (stop.try_recv(ignored) != thrum::recv_status::ok) {
      thrum::this_goroutine::yield();
    }
    acknowledge.send(true);
  });
  thrum::sleep_for(10ms);
  stop.send(true);
  CHECK(acknowledge.recv() == true);
}

namespace {

/// `procs` goroutines that wait for each other by looping: they end only if all run at once.
template <class Start>
void loop_in_turn(unsigned procs, unsigned rounds, Start start) {
  thrum::chan<void> done(0);
  std::atomic<std::uint32_t> turn{0};
  for (unsigned p = 0; p != procs; ++p) {
    start([=, &turn]() mutable {
      for (unsigned round = 0; round != rounds; ++round) {
        const std::uint32_t mine = procs * round + p;
        while (turn.load() != mine) {
        }
        turn.store(mine + 1);
      }
      done.send();
    });
  }
  for (unsigned p = 0; p != procs; ++p) {
    done.recv();
  }
  CHECK(turn.load() == procs * rounds);
}

void parallelism_of_nested_goroutines(bool with_load) {
  constexpr unsigned procs = 4;
  with_runtime(with_procs(procs), [=] {
    for (int attempt = scaled(10, 3); attempt > 0; --attempt) {
      if (with_load) {
        // Goroutines beyond what the processors' own queues hold, most of them through the global
        // one, run and end before the loops begin.
        thrum::wait_group load;
        for (int i = 0; i != scaled(10'000); ++i) {
          load.go([] {});
        }
        load.wait();
      }
      thrum::spawn([] {
        loop_in_turn(procs, 3, [](auto loop) { thrum::go([loop]() mutable { thrum::go(loop); }); });
      }).join();
    }
  });
}

}  // namespace

TEST_CASE("GoroutineParallelism: as many loops as processors all run at the same time") {
  constexpr unsigned procs = 4;
  with_runtime(with_procs(procs), [] {
    for (int attempt = scaled(10, 3); attempt > 0; --attempt) {
      loop_in_turn(procs, 3, [](auto loop) { thrum::go(loop); });
    }
  });
}

TEST_CASE("GoroutineParallelism2: loops started by goroutines run at once, also after a load") {
  parallelism_of_nested_goroutines(false);
  parallelism_of_nested_goroutines(true);
}

IN_RUNTIME("NumGoroutine: the number of goroutines is that of those that have not ended") {
  CHECK(thrum::stats().goroutines == 1);
  thrum::chan<void> gate(0);
  thrum::wait_group group;
  constexpr int n = 100;
  for (int i = 0; i != n; ++i) {
    group.go([gate]() mutable { gate.recv(); });
    REQUIRE(thrum::stats().goroutines == static_cast<std::uint64_t>(i) + 2);
  }
  CHECK(support::eventually([] { return thrum::stats().waiting >= n; }));
  const thrum::stats_snapshot parked = thrum::stats();
  CHECK(parked.goroutines == n + 1);
  CHECK(parked.created - parked.finished == parked.goroutines);
  gate.close();
  group.wait();
  CHECK(support::eventually([] { return thrum::stats().goroutines == 1; }));
}

TEST_CASE("PingPongHog: a pair with long turns does not starve a pair with short ones") {
  // Both partners of a pair share one time slice through runnext, so both pairs get about the same
  // share of the one processor, whatever the length of a turn.
  with_runtime(with_procs(1), [] {
    // Where switching is expensive, most of the share of short turns goes there.
    const std::uint64_t factor = 20 * support::slowness();
    std::uint64_t long_count = 0;
    std::uint64_t short_count = 0;
    bool is_fair = false;
    // On a busy machine a short time has few turns, and chance decides who gets them.
    for (auto time = 200ms; !is_fair && time < support::long_time / 2; time *= 2) {
      std::atomic<bool> stop{false};
      std::atomic<std::uint64_t> counts[2] = {{0}, {0}};
      thrum::chan<bool> wakes[2] = {thrum::make_chan<bool>(), thrum::make_chan<bool>()};
      constexpr std::uint64_t turns[2] = {1'000'000, 1'000};
      thrum::wait_group players;
      for (int pair = 0; pair != 2; ++pair) {
        for (int player = 0; player != 2; ++player) {
          players.go([&, pair] {
            while (wakes[pair].recv()) {
              for (std::uint64_t i = 0; i != turns[pair]; ++i) {
                counts[pair].fetch_add(1, std::memory_order_relaxed);
              }
              if (stop.load()) {
                wakes[pair].close();  // only the player with the ball sends, and that is this one
                return;
              }
              wakes[pair].send(true);
            }
          });
        }
      }
      wakes[0].send(true);
      wakes[1].send(true);
      thrum::sleep_for(time);
      stop = true;
      long_count = counts[0];
      short_count = counts[1];
      players.wait();
      is_fair = long_count / factor <= short_count && short_count / factor <= long_count;
    }
    INFO("long turns " << long_count << ", short turns " << short_count);
    CHECK(is_fair);
  });
}

IN_RUNTIME("BigGOMAXPROCS: a runtime with 1,024 processors starts, works and ends",
           with_procs(1'024)) {
  CHECK(thrum::stats().procs == 1'024);
  std::atomic<int> ran{0};
  thrum::wait_group group;
  const int n = support::live_goroutines(5'000);
  for (int i = 0; i != n; ++i) {
    group.go([&] {
      thrum::this_goroutine::yield();
      ++ran;
    });
  }
  group.wait();
  CHECK(ran == n);
}

IN_RUNTIME("Preemption: two loops on one processor alternate at their preemption points",
           with_procs(1)) {
  const std::uint32_t rounds = scaled(10U, 3U);
  std::atomic<std::uint32_t> turn{0};
  thrum::wait_group players;
  for (std::uint32_t player = 0; player != 2; ++player) {
    players.go([&, player] {
      for (std::uint32_t round = 0; round != rounds; ++round) {
        while (turn.load() != 2 * round + player) {
          thrum::this_goroutine::preemption_point();
        }
        ++turn;
      }
    });
  }
  players.wait();
  CHECK(turn == 2 * rounds);
}

TEST_CASE("PreemptionAfterSyscall: goroutines in short blocking calls do not shut others out") {
  for (const auto length : {10us, 100us, 1000us}) {
    with_runtime(with_procs(2), [&] {
      constexpr int n = 8;
      std::atomic<bool> stop{false};
      std::atomic<int> started{0};
      thrum::wait_group group;
      for (int i = 0; i != n; ++i) {
        group.go([&] {
          ++started;
          while (!stop) {
            thrum::blocking([&] { std::this_thread::sleep_for(length); });
          }
        });
      }
      CHECK(support::eventually([&] { return started == n; }));
      stop = true;
      group.wait();
    });
  }
}

IN_RUNTIME("GetgThreadSwitch: a goroutine knows itself after every switch of threads") {
  const int rounds = scaled(2'000, 100);
  std::atomic<int> mistakes{0};
  in_goroutines(20, [&](int) {
    const thrum::goroutine_id mine = thrum::this_goroutine::id();
    for (int round = 0; round != rounds; ++round) {
      if (round % 100 == 0) {
        thrum::blocking([] { std::this_thread::sleep_for(std::chrono::microseconds(10)); });
      } else {
        thrum::this_goroutine::yield();
      }
      mistakes += thrum::this_goroutine::id() != mine ? 1 : 0;
    }
  });
  CHECK(mistakes == 0);
}
