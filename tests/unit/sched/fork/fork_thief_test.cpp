// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/detail/sched/fork/fork_thief.hpp>

#include <thrum/testing/bubble.hpp>

#include "support/test.hpp"

namespace {

bool somebody_forks(thrum::sched::runtime_scheduler& scheduler) {
  const thrum::sched::section here;
  return scheduler.has_forks();
}

}  // namespace

IN_RUNTIME("a processor that has nothing else makes one goroutine for all halves that wait",
           with_endless_slices(1)) {
  const auto before = thrum::stats().created;
  thrum::latch all(3);
  std::string name;
  const auto arrive = [&] {
    name = thrum::this_goroutine::name();
    all.count_down();
  };
  thrum::fork_join(
      [&] { thrum::fork_join([&] { thrum::fork_join([&] { all.wait(); }, arrive); }, arrive); },
      arrive);
  CHECK(name == "fork_join");
  CHECK(thrum::stats().created == before + 1);
  CHECK(thrum::stats().steals >= 3);
}

IN_RUNTIME("goroutines that are runnable go before halves that wait", with_endless_slices(1)) {
  std::string order;
  thrum::latch both(2);
  thrum::fork_join(
      [&] {
        thrum::go([&] {
          order += 'r';
          both.count_down();
        });
        both.wait();
      },
      [&] {
        order += 'h';
        both.count_down();
      });
  CHECK(order == "rh");
}

IN_RUNTIME("a half is run in time also if its processor never runs out of other work",
           with_procs(1)) {
  std::atomic<bool> done{false};
  thrum::go([&] {
    thrum::latch both(2);
    thrum::fork_join([&] { both.arrive_and_wait(); }, [&] { both.arrive_and_wait(); });
    done = true;
  });
  CHECK(support::eventually_yielding([&] { return done.load(); }));
}

IN_RUNTIME("a thief has a stack of the usual size again when the large ones have forked no more",
           with_procs(1)) {
  auto& scheduler = *thrum::sched::current_m()->scheduler;
  const auto usual = scheduler.config().stack_class;
  CHECK(thrum::sched::helper_stack_class(scheduler) == usual);
  thrum::spawn(thrum::attributes{.stack_size = std::size_t{4} << 20}, [&] {
    thrum::fork_join([&] { CHECK(thrum::sched::helper_stack_class(scheduler) > usual); }, [] {});
  }).join();
  CHECK(thrum::sched::helper_stack_class(scheduler) == usual);
}

IN_RUNTIME("goroutines that are parked inside of forks are not looked at again and again",
           with_procs(1)) {
  constexpr int many = 1'000;
  auto& scheduler = *thrum::sched::current_m()->scheduler;
  thrum::latch gate(1);
  thrum::wait_group group;
  std::atomic<int> stolen{0};
  for (int i = 0; i != many; ++i) {
    group.go([&] {
      thrum::fork_join(
          [&] {
            gate.wait();
            // What it has forked since is found all the same: the first half waits for the second.
            thrum::latch taken(1);
            thrum::fork_join([&] { taken.wait(); }, [&] { taken.count_down(); });
          },
          [&] { ++stolen; });
    });
  }
  while (stolen != many) {
    thrum::sleep_for(std::chrono::milliseconds(1));
  }
  for (int i = 0; i != 3; ++i) {
    CHECK(!somebody_forks(scheduler));
  }
  CHECK(scheduler.ps[0].forks.listed() < thrum::sched::traits::fork_walk);
  gate.count_down();
  group.wait();
  CHECK(scheduler.ps[0].forks.largest_class() == 0);
}

IN_RUNTIME("a search that finds no half shows no goroutine to anybody", with_procs(1)) {
  auto& scheduler = *thrum::sched::current_m()->scheduler;
  std::atomic<bool> done{false};
  std::thread searcher([&] {
    for (int i = 0; i != 10'000; ++i) {
      thrum::sched::queue_forked(scheduler, 0);
    }
    done = true;
  });
  std::size_t shown = 0;
  while (!done) {
    shown += thrum::stats().runnable;
  }
  searcher.join();
  CHECK(shown == 0);
}

IN_BUBBLE("a virtual clock stands while the monitor holds a half that is in no queue yet") {
  auto values = thrum::make_chan<int>(1);
  std::atomic<int> step{0};
  thrum::sched::runtime_scheduler& scheduler = *thrum::sched::current_m()->scheduler;
  std::thread monitor([&] {
    while (step != 1) {
      std::this_thread::yield();
    }
    thrum::sched::goroutine* const g = thrum::sched::make_helper(scheduler, nullptr, 0);
    step = 2;
    // Long enough for the goroutine to park, and for its processor to be given up.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (g != nullptr) {
      scheduler.count_created_elsewhere();
      thrum::sched::ready_elsewhere(*g);
    }
  });
  const auto before = thrum::testing::now();
  thrum::fork_join(
      [&] {
        step = 1;
        while (step != 2) {
        }
        thrum::select(thrum::on_recv(values, [](auto&&...) {}),
                      thrum::on_timeout(std::chrono::hours(1), [] {}));
      },
      [&] { values.send(1); });
  CHECK(thrum::testing::now() == before);
  monitor.join();
}

IN_BUBBLE("a search by the monitor that finds no half lets a virtual clock go on") {
  thrum::sched::runtime_scheduler& scheduler = *thrum::sched::current_m()->scheduler;
  std::atomic<bool> stop{false};
  std::thread monitor([&] {
    while (!stop) {
      thrum::sched::queue_forked(scheduler, 0);
    }
  });
  const auto begin = thrum::testing::now();
  for (int i = 0; i != 100; ++i) {
    thrum::sleep_for(std::chrono::hours(1));
  }
  CHECK(thrum::testing::now() - begin == std::chrono::hours(100));
  stop = true;
  monitor.join();
}
