// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/sync/barrier.hpp>
#include <thrum/sync/latch.hpp>

#include "support/test.hpp"

IN_RUNTIME("a latch opens when its count reaches zero, for its waiters and for later calls") {
  thrum::latch latch(3);
  std::atomic<int> through{0};
  thrum::wait_group group;
  for (int i = 0; i != 5; ++i) {
    group.go([&] {
      latch.wait();
      ++through;
    });
  }
  REQUIRE(are_waiting(5));
  latch.count_down();
  latch.count_down();
  CHECK_FALSE(latch.try_wait());
  CHECK(through == 0);
  latch.count_down();
  group.wait();
  CHECK(through == 5);
  CHECK(latch.try_wait());
  latch.wait();
}

IN_RUNTIME("a latch counts down by any number, and arrive_and_wait does both") {
  thrum::latch latch(4);
  auto other = thrum::spawn([&] { latch.arrive_and_wait(); });
  latch.count_down(0);
  latch.count_down(2);
  latch.arrive_and_wait();
  other.join();
  CHECK(latch.try_wait());
}

IN_RUNTIME("a latch may be destroyed as soon as a wait has returned", with_procs(4)) {
  std::atomic<int> arrivals{0};
  int missed = 0;
  const int rounds = scaled(2'000);
  for (int i = 0; i != rounds; ++i) {
    auto latch = std::make_unique<thrum::latch>(2);
    auto* const shared = latch.get();
    for (int k = 0; k != 2; ++k) {
      thrum::go([&, shared] {
        ++arrivals;
        shared->count_down();
      });
    }
    latch->wait();
    latch.reset();
    missed += arrivals == 2 * (i + 1) ? 0 : 1;
  }
  CHECK(missed == 0);
}

IN_RUNTIME("a foreign thread waits for goroutines at a latch, and they for it") {
  thrum::latch ready(1);
  thrum::latch done(2);
  std::atomic<bool> is_ready{false};
  std::atomic<bool> was_early{true};
  std::atomic<int> came{0};
  std::thread thread([&] {
    ready.wait();
    was_early = !is_ready;
    ++came;
    done.arrive_and_wait();
  });
  auto other = thrum::spawn([&] {
    ++came;
    done.arrive_and_wait();
  });
  is_ready = true;
  ready.count_down();
  done.wait();
  CHECK(came == 2);
  thrum::blocking([&] { thread.join(); });
  CHECK_FALSE(was_early);
  other.join();  // it may still be inside wait, and the latch must outlive that
}

TEST_CASE("a latch that counts below zero is an error of use") {
  thrum::latch latch(1);
  CHECK(is_usage_error("latch::count_down", [&] { latch.count_down(2); }));
  CHECK(is_usage_error("latch::count_down", [&] { latch.count_down(-1); }));
  CHECK(is_usage_error("latch:", [] { thrum::latch bad(-1); }));
  latch.count_down();
  CHECK(is_usage_error("latch::count_down", [&] { latch.count_down(); }));
}

TEST_CASE(
    "if two threads count a latch of 1 down at once, one gets an error, and the latch opens") {
  for (int round = 0; round != scaled(300); ++round) {
    thrum::latch latch(1);
    std::atomic<int> ready{0};
    std::atomic<int> errors{0};
    const auto count_down = [&] {
      ++ready;
      while (ready != 2) {
      }
      errors += is_usage_error("latch::count_down", [&] { latch.count_down(); }) ? 1 : 0;
    };
    std::thread other(count_down);
    count_down();
    other.join();
    REQUIRE(errors == 1);
    REQUIRE(latch.try_wait());
  }
}

// A lock that is checked is larger.
static_assert(sizeof(thrum::sched::spin_lock) != 4 || sizeof(thrum::latch) <= 24);

IN_RUNTIME("a stop ends arrive_and_wait at a latch, whose count is lowered all the same") {
  thrum::latch gate(2);
  std::stop_source stop;
  auto waiting = thrum::spawn([&] { return gate.arrive_and_wait(1, stop.get_token()); });
  thrum::sleep_for(std::chrono::milliseconds(1));
  stop.request_stop();
  CHECK_FALSE(waiting.join());
  CHECK(gate.arrive_and_wait(1, stop.get_token()));
}

IN_RUNTIME("no participant passes a barrier before all have arrived, phase after phase",
           with_procs(4)) {
  constexpr int n = 5;
  const int phases = scaled(500);
  thrum::barrier<> barrier(n);
  std::vector<std::atomic<int>> arrived(static_cast<std::size_t>(phases));
  std::atomic<bool> early{false};
  in_goroutines(n, [&](int) {
    for (auto& here : arrived) {
      ++here;
      barrier.arrive_and_wait();
      early = early || here != n;
    }
  });
  CHECK_FALSE(early);
}

IN_RUNTIME("the completion runs once each phase, before any participant continues", with_procs(4)) {
  int completions = 0;
  thrum::barrier barrier(3, [&]() noexcept { ++completions; });
  std::atomic<bool> wrong{false};
  in_goroutines(3, [&](int) {
    for (int phase = 1; phase <= 100; ++phase) {
      barrier.arrive_and_wait();
      wrong = wrong || completions != phase;
      barrier.arrive_and_wait();
      wrong = wrong || completions != ++phase;
    }
  });
  CHECK_FALSE(wrong);
}

IN_RUNTIME("an arrival that does not wait lets the others go on") {
  int phases = 0;
  const auto count = [&]() noexcept { ++phases; };
  thrum::barrier<decltype(count)> barrier(2, count);
  auto token = barrier.arrive();
  CHECK(phases == 0);
  barrier.arrive_and_wait();
  CHECK(phases == 1);
  barrier.wait(std::move(token));  // of a phase that is over
  CHECK(phases == 1);
}

IN_RUNTIME("later phases do not wait for a goroutine that has dropped out") {
  int phases = 0;
  const auto count = [&]() noexcept { ++phases; };
  thrum::barrier<decltype(count)> barrier(2, count);
  thrum::go([&] { barrier.arrive_and_drop(); });
  for (int expected = 1; expected != 4; ++expected) {
    barrier.arrive_and_wait();
    CHECK(phases == expected);
  }
}

IN_RUNTIME("goroutines and foreign threads meet at a barrier") {
  thrum::barrier<> barrier(4);
  std::atomic<int> rounds{0};
  const auto work = [&] {
    for (int i = 0; i != scaled(200); ++i) {
      barrier.arrive_and_wait();
      ++rounds;
    }
  };
  std::thread a(work);
  std::thread b(work);
  thrum::wait_group group;
  group.go(work);
  group.go(work);
  group.wait();
  thrum::blocking([&] {
    a.join();
    b.join();
  });
  CHECK(rounds == 4 * scaled(200));
}

TEST_CASE("a completion that is cancelled, or throws, lets the others go and leaves the arrival") {
  std::atomic<int> unwound{0};
  with_runtime(with_procs(2), [&] {
    thrum::chan<void> never(0);
    const auto block = [never] { never.recv(); };
    auto barrier = std::make_shared<thrum::barrier<decltype(block)>>(2, block);
    for (int i = 0; i != 2; ++i) {
      thrum::go([&unwound, barrier] {
        try {
          barrier->arrive_and_wait();
        } catch (const thrum::goroutine_exit&) {
          ++unwound;
          throw;
        }
      });
    }
    CHECK(support::eventually([] { return thrum::stats().waiting >= 2; }));
  });
  CHECK(unwound == 2);

  with_runtime(with_procs(2), [] {
    const auto fail = [] { throw std::runtime_error("completion"); };
    thrum::barrier<decltype(fail)> barrier(2, fail);
    auto first = thrum::spawn([&] { barrier.arrive_and_wait(); });
    CHECK(support::eventually([] { return thrum::stats().waiting >= 1; }));
    CHECK_THROWS_AS(barrier.arrive_and_wait(), std::runtime_error);
    first.join();
  });
}

TEST_CASE("more arrivals than participants are an error of use") {
  thrum::barrier<> barrier(2);
  CHECK(is_usage_error("barrier::arrive", [&] { (void)barrier.arrive(3); }));
  CHECK(is_usage_error("barrier::arrive", [&] { (void)barrier.arrive(0); }));
  CHECK(is_usage_error("barrier:", [] { thrum::barrier<> bad(-1); }));
}

IN_RUNTIME("a stop ends arrive_and_wait at a barrier, and the arrival stays") {
  thrum::barrier meet(2);
  std::stop_source stop;
  auto waiting = thrum::spawn([&] { return meet.arrive_and_wait(stop.get_token()); });
  thrum::sleep_for(std::chrono::milliseconds(1));
  stop.request_stop();
  CHECK_FALSE(waiting.join());
  CHECK(meet.arrive_and_wait(thrum::context()));
}
