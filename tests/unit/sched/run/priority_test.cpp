// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What goroutines of background priority are promised, and those beside them. Turns are counted where no
// monitor ends slices; what only the monitor gives is waited for.

#include <thrum/detail/sched/core/g_state.hpp>

#include <thrum/testing/bubble.hpp>

#include "support/hog.hpp"
#include "support/test.hpp"

using thrum::preemption;

namespace {

constexpr thrum::attributes low_attributes{.priority = thrum::priority::background};
constexpr int interval_of_turns = thrum::sched::background_interval;

/// Nothing happens by time.
thrum::options by_turns(unsigned procs = 1) {
  thrum::options options = support::with_procs(procs);
  options.preempt = preemption::none;
  options.time_slice = 1h;
  return options;
}

thrum::options by_time(preemption preempt, std::chrono::nanoseconds slice, unsigned procs = 1) {
  thrum::options options = support::with_procs(procs);
  options.preempt = preempt;
  options.time_slice = slice;
  return options;
}

/// Whether `claim()` becomes true while the goroutine computes. Where no signal interrupts it, it looks
/// itself whether it is asked to give way.
template <class Claim>
bool becomes_true_beside(preemption mode, Claim claim) {
  const auto end = std::chrono::steady_clock::now() + support::long_time;
  while (!claim()) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    if (mode != preemption::async) {
      thrum::this_goroutine::preemption_point();
    }
  }
  return true;
}

preemption a_way_to_interrupt() {
  return thrum::os::has_preempt_signal ? GENERATE(preemption::cooperative, preemption::async)
                                       : preemption::cooperative;
}

/// The next turn of the background is far from here. Nobody else is ready, and there is one processor.
void leave_the_turn_behind() {
  const auto turns = [] { return thrum::sched::current_m()->p->schedule_tick.get(); };
  while (turns() % thrum::sched::background_interval != 1) {
    thrum::this_goroutine::yield();
  }
}

/// Starts five goroutines of normal priority, each of which appends an n, and waits for them.
void append_five(std::string& order) {
  thrum::wait_group group;
  for (int i = 0; i != 5; ++i) {
    group.go([&] { order += 'n'; });
  }
  group.wait();
}

}  // namespace

IN_RUNTIME("goroutines have normal priority unless they are started with another one") {
  const auto own = [] { return thrum::this_goroutine::priority(); };
  CHECK(own() == thrum::priority::normal);
  CHECK(thrum::spawn(own).join() == thrum::priority::normal);
  CHECK(thrum::spawn(low_attributes, own).join() == thrum::priority::background);
  CHECK(thrum::spawn(low_attributes, [&] { return thrum::spawn(own).join(); }).join() ==
        thrum::priority::normal);
}

TEST_CASE("a runtime that is named starts goroutines with a priority, too") {
  std::atomic<bool> is_low{false};
  thrum::runtime runtime(support::environment_options());
  const auto own = [] { return thrum::this_goroutine::priority(); };
  CHECK(runtime.spawn(low_attributes, own).join() == thrum::priority::background);
  runtime.go(thrum::attributes{.priority = thrum::priority::background},
             [&] { is_low = own() == thrum::priority::background; });
  CHECK(support::eventually([&] { return is_low.load(); }));
}

IN_RUNTIME("the priority can be changed, and is no part of the next goroutine on that stack",
           by_turns()) {
  const auto changed = thrum::spawn([] {
                         thrum::this_goroutine::priority(thrum::priority::background);
                         const auto low = thrum::this_goroutine::priority();
                         thrum::this_goroutine::yield();
                         thrum::this_goroutine::priority(thrum::priority::normal);
                         thrum::this_goroutine::yield();
                         thrum::this_goroutine::priority(thrum::priority::background);
                         return low;
                       }).join();
  CHECK(changed == thrum::priority::background);
  CHECK(thrum::spawn([] { return thrum::this_goroutine::priority(); }).join() ==
        thrum::priority::normal);
}

TEST_CASE("outside of goroutines the priority is normal, and setting it does nothing") {
  thrum::this_goroutine::priority(thrum::priority::background);
  CHECK(thrum::this_goroutine::priority() == thrum::priority::normal);
}

IN_RUNTIME("background goroutines run behind all others, but for one turn of 61", by_turns()) {
  constexpr int turns = 20;
  constexpr int others = interval_of_turns * turns;
  int low = 0;
  int ran = 0;
  int low_before = 0;  // the last of the others
  thrum::wait_group group;
  thrum::wait_group all_low;
  all_low.add(5 * turns);
  for (int i = 0; i != 5 * turns; ++i) {
    thrum::go(low_attributes, [&] {
      ++low;
      all_low.done();
    });
  }
  for (int i = 0; i != others; ++i) {
    group.go([&] { low_before = ++ran == others ? low : 0; });
  }
  group.wait();
  CHECK(low_before >= turns - 2);
  CHECK(low_before <= turns + 2);
  all_low.wait();
  CHECK(low == 5 * turns);
}

TEST_CASE("goroutines that yield for ever leave the background its turns") {
  const int yielding = GENERATE(1, 2, 5);
  support::with_runtime(by_turns(), [&] {
    bool ran = false;
    int turns = 0;
    constexpr int too_many = 1'000'000;
    thrum::go(low_attributes, [&] { ran = true; });
    std::vector<thrum::join_handle<void>> handles;
    for (int i = 0; i != yielding; ++i) {
      handles.push_back(thrum::spawn([&] {
        while (!ran && turns != too_many) {
          ++turns;
          thrum::this_goroutine::yield();
        }
      }));
    }
    for (auto& each : handles) {
      each.join();
    }
    CHECK(turns <= 2 * interval_of_turns + yielding);
  });
}

TEST_CASE("background goroutines that yield for ever leave each other turns") {
  support::with_runtime(by_turns(), [&] {
    std::vector<int> turns(3);
    std::vector<thrum::join_handle<void>> handles;
    handles.reserve(turns.size());
    for (int& own : turns) {
      handles.push_back(thrum::spawn(low_attributes, [&] {
        for (; turns[0] + turns[1] + turns[2] < 300; ++own) {
          thrum::this_goroutine::yield();
        }
      }));
    }
    for (auto& each : handles) {
      each.join();
    }
    for (const int each : turns) {
      CHECK(each >= 99);
    }
  });
}

TEST_CASE("two goroutines that hand each other the processor leave the background its share") {
  const auto mode = GENERATE(preemption::none, preemption::cooperative);
  support::with_runtime(by_time(mode, 1ms), [] {
    bool ran = false;
    thrum::go(low_attributes, [&] { ran = true; });
    thrum::chan<int> there(0), back(0);
    auto other = thrum::spawn([&] {
      while (there.recv().has_value()) {
        back.send(0);
      }
    });
    constexpr int too_often = 100'000'000;
    int n = 0;
    for (; n != too_often && !ran; ++n) {
      there.send(0);
      back.recv();
    }
    CHECK(n < too_often);
    there.close();
    other.join();
  });
}

TEST_CASE("goroutines that compute for ever leave the background its share") {
  const preemption mode = a_way_to_interrupt();
  const int computing = GENERATE(1, 2);
  support::with_runtime(by_time(mode, 1ms), [&] {
    std::atomic<bool> ran{false};
    std::atomic<bool> over{false};
    thrum::go(low_attributes, [&] { ran = true; });
    auto other = thrum::spawn([&, computing] {
      return computing == 1 || becomes_true_beside(mode, [&] { return over.load(); });
    });
    CHECK(becomes_true_beside(mode, [&] { return ran.load(); }));
    over = true;
    CHECK(other.join());
  });
}

TEST_CASE("a background goroutine that is interrupted with a mutex goes on after a slice, not 61") {
  if (!thrum::os::has_preempt_signal || thrum::base::signals_are_deferred) {
    return;
  }
  constexpr std::uint32_t rounds = 5;
  std::uint64_t slices = 0;
  support::with_runtime(by_time(preemption::async, 1ms), [&] {
    for (std::uint32_t i = 0; i != rounds; ++i) {
      std::atomic<bool> held{false};
      std::atomic<bool> wanted{false};
      std::atomic<bool> released{false};
      const auto is_released = [&] {
        return becomes_true_beside(preemption::async, [&] { return released.load(); });
      };
      auto low = thrum::spawn(low_attributes, [&] {
        held = true;  // as by a mutex
        const bool came = becomes_true_beside(preemption::async, [&] { return wanted.load(); });
        released = true;
        return came;
      });
      CHECK(support::eventually([&] { return held.load(); }));
      auto another = thrum::spawn(is_released);  // so that slices end
      const auto* const p = thrum::sched::current_m()->p;
      const std::uint64_t before = p->counts.preemptions.get();
      wanted = true;
      CHECK(is_released());
      slices += p->counts.preemptions.get() - before;
      CHECK(another.join());
      CHECK(low.join());
    }
  });
  CHECK(slices < rounds * interval_of_turns / 4);
}

TEST_CASE("a background goroutine that computes makes room before its slice is over") {
  const preemption mode = a_way_to_interrupt();
  support::with_runtime(by_time(mode, 1h), [&] {
    std::atomic<bool> begun{false};
    std::atomic<bool> over{false};
    auto low = thrum::spawn(low_attributes, [&] {
      begun = true;
      return becomes_true_beside(mode, [&] { return over.load(); });
    });
    CHECK(support::eventually([&] { return begun.load(); }));  // a timer of this goroutine's
    over = true;
    CHECK(low.join());
  });
}

TEST_CASE("a background goroutine makes room for what waits at another processor") {
  const preemption mode = a_way_to_interrupt();
  support::with_runtime(by_time(mode, 1h, 2), [&] {
    std::atomic<bool> begun{false};
    std::atomic<int> ran{0};
    auto low = thrum::spawn(low_attributes, [&] {
      begun = true;
      return becomes_true_beside(mode, [&] { return ran == 2; });
    });
    CHECK(support::eventually([&] { return begun.load(); }));
    thrum::wait_group group;
    for (int i = 0; i != 2; ++i) {
      group.go([&] { ++ran; });
    }
    // This one does not give way: the slice is an hour.
    CHECK(becomes_true_beside(mode, [&] { return ran != 0; }));
    group.wait();
    CHECK(low.join());
  });
}

TEST_CASE(
    "background goroutines share a processor by slices, and no processor idles while they wait") {
  for (const unsigned procs : {1U, 4U}) {
    const preemption mode = procs == 1 ? a_way_to_interrupt() : preemption::none;
    support::with_runtime(procs == 1 ? by_time(mode, 1ms) : by_turns(procs), [=] {
      std::atomic<int> begun{0};
      const auto all_have = [&] { return begun == 3; };
      std::vector<thrum::join_handle<bool>> handles;
      for (int i = 0; i != 3; ++i) {
        handles.push_back(thrum::spawn(low_attributes, [&] {
          ++begun;
          return becomes_true_beside(mode, all_have);
        }));
      }
      if (procs != 1) {
        CHECK(becomes_true_beside(mode, all_have));  // with the fourth processor
      }
      for (auto& each : handles) {
        CHECK(each.join());
      }
    });
  }
}

TEST_CASE("a background goroutine that is woken, or joins another one that ends, goes behind") {
  for (const bool joins : {false, true}) {
    support::with_runtime(by_turns(), [joins] {
      std::string order;
      bool waits = false;
      thrum::chan<int> values(0);
      const auto wait = [&] {
        waits = true;
        values.recv();
      };
      auto low = thrum::spawn(low_attributes, [&] {
        if (joins) {
          thrum::spawn(wait).join();
        } else {
          wait();
        }
        order += 'b';
      });
      support::eventually([&] { return waits; });
      leave_the_turn_behind();
      values.send(1);
      append_five(order);
      low.join();
      CHECK(order == "nnnnnb");
    });
  }
}

IN_RUNTIME("a background goroutine that is released together with others goes behind them",
           by_turns()) {
  std::string order;
  int waiting = 0;
  thrum::latch latch(1);
  const auto wait_for = [&](char what) {
    ++waiting;
    latch.wait();
    order += what;
  };
  auto low = thrum::spawn(low_attributes, wait_for, 'b');
  support::eventually([&] { return waiting == 1; });
  auto first = thrum::spawn(wait_for, 'n');
  auto second = thrum::spawn(wait_for, 'n');
  support::eventually([&] { return waiting == 3; });
  leave_the_turn_behind();
  latch.count_down();
  first.join();
  second.join();
  low.join();
  CHECK(order == "nnb");
}

IN_RUNTIME("a goroutine that has lowered its priority goes behind when it yields", by_turns()) {
  std::string order;
  leave_the_turn_behind();
  auto low = thrum::spawn([&] {
    thrum::this_goroutine::priority(thrum::priority::background);
    order += 'l';
    thrum::this_goroutine::yield();
    order += 'b';
  });
  append_five(order);
  low.join();
  CHECK(order.substr(order.find('l')) == "lnnnnb");
}

IN_RUNTIME("stats count the background goroutines that wait to run", by_turns()) {
  std::vector<thrum::join_handle<void>> handles;
  for (int i = 0; i != 3; ++i) {
    handles.push_back(thrum::spawn(low_attributes, [] {}));
  }
  const thrum::stats_snapshot seen = thrum::stats();
  CHECK(seen.background_queue == 3);
  CHECK(seen.global_queue == 0);
  CHECK(seen.runnable == 3);
  for (auto& each : handles) {
    each.join();
  }
  CHECK(thrum::stats().background_queue == 0);
}

TEST_CASE("stop ends background goroutines, those that have not begun as well") {
  auto alive = std::make_shared<int>(0);
  support::with_runtime(support::with_procs(1), [&] {
    for (int i = 0; i != 100; ++i) {
      thrum::go(low_attributes, [alive] { thrum::sleep_for(24h); });
    }
  });
  CHECK(alive.use_count() == 1);
}

TEST_CASE(
    "a host that runs until nothing is left runs background goroutines; one that polls does not") {
  std::atomic<bool> ran{false};
  thrum::runtime runtime(by_turns());
  const support::hog_of_a_processor hog(runtime);
  support::wait_until_it_runs(hog);
  runtime.go(low_attributes, [&] { ran = true; });
  runtime.poll();
  CHECK_FALSE(ran);
  runtime.run_until_idle();
  CHECK(ran);
}

TEST_CASE("a host runs background goroutines while it has time") {
  std::atomic<bool> ran{false};
  thrum::runtime runtime(by_turns());
  const support::hog_of_a_processor hog(runtime);
  support::wait_until_it_runs(hog);
  runtime.go(low_attributes, [&] {
    thrum::this_goroutine::yield();
    ran = true;
  });
  const auto end = std::chrono::steady_clock::now() + support::long_time;
  while (!ran && std::chrono::steady_clock::now() < end) {
    runtime.run_for(1ms);
  }
  CHECK(ran);
}

TEST_CASE("the clock of a bubble stands while a background goroutine can run") {
  const unsigned procs = GENERATE(1U, 4U);
  thrum::testing::bubble(support::with_procs(procs), [] {
    const auto begin = thrum::testing::now();
    std::atomic<bool> in_time{false};
    thrum::go(low_attributes, [&] {
      for (int i = 0; i != support::scaled(1'000); ++i) {
        thrum::this_goroutine::yield();
      }
      in_time = thrum::testing::now() == begin;
    });
    thrum::sleep_for(1h);
    CHECK(in_time);
  });
}

TEST_CASE("background goroutines that wait for each other are a deadlock of the bubble") {
  CHECK_THROWS_AS(thrum::testing::bubble([] {
                    thrum::chan<int> never(0);
                    thrum::spawn(low_attributes, [&] { never.recv(); }).join();
                  }),
                  thrum::testing::deadlock);
}

TEST_CASE("goroutines of both priorities that do all that there is come to an end") {
  thrum::options options = support::environment_options();
  options.time_slice = 100us;
  support::with_runtime(options, [] {
    const int rounds = support::scaled(200);
    thrum::mutex mutex;
    int locked = 0;
    thrum::chan<int> values(4);
    thrum::wait_group group;
    const auto live = [&](int number) {
      for (int i = 0; i != rounds; ++i) {
        switch ((number + i) % 9) {
          case 0: thrum::this_goroutine::yield(); break;
          case 1: thrum::sleep_for(10us); break;
          case 2: {
            const std::lock_guard guard(mutex);
            ++locked;
            break;
          }
          case 3: thrum::blocking([] {}); break;
          case 4: {
            const thrum::thread_lock here;
            thrum::this_goroutine::yield();
            break;
          }
          case 5: static_cast<void>(values.try_send(i)); break;
          case 6: static_cast<void>(values.try_recv()); break;
          case 7: thrum::spawn([] {}).join(); break;
          default:
            thrum::this_goroutine::priority(thrum::this_goroutine::priority() ==
                                                    thrum::priority::normal
                                                ? thrum::priority::background
                                                : thrum::priority::normal);
        }
      }
      group.done();
    };
    constexpr int all = 32;
    group.add(all);
    for (int i = 0; i != all; ++i) {
      thrum::go(i % 2 == 0 ? low_attributes : thrum::attributes{}, live, i);
    }
    group.wait();
    CHECK(locked > 0);
  });
}

TEST_CASE("background goroutines outlive changes of the number of processors") {
  std::atomic<int> ran{0};
  thrum::runtime runtime(support::with_procs(4));
  const int all = support::scaled(1'000);
  for (int i = 0; i != all; ++i) {
    if (i % 100 == 0) {
      runtime.procs(1 + static_cast<unsigned>(i / 100) % 4);
    }
    runtime.go(low_attributes, [&] {
      thrum::this_goroutine::yield();
      ++ran;
    });
  }
  CHECK(support::eventually([&] { return ran == all; }));
}
