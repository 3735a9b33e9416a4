// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/detail/sched/run/m_main.hpp>

#include <thrum/detail/sched/run/loop.hpp>

#include "support/bare_scheduler.hpp"
#include "support/child.hpp"
#include "support/lone_scheduler.hpp"
#include "support/process.hpp"
#include "support/test.hpp"

#include <unistd.h>

TEST_CASE("the hooks run once on each thread of the runtime, first and last") {
  std::mutex mutex;
  std::multiset<unsigned> started;
  std::multiset<unsigned> stopped;
  std::set<long> started_on;
  std::set<long> stopped_on;
  thrum::options options = support::with_procs(3);
  options.on_thread_start = [&](unsigned m) {
    const std::lock_guard lock(mutex);
    started.insert(m);
    started_on.insert(support::os_thread());
  };
  options.on_thread_stop = [&](unsigned m) {
    const std::lock_guard lock(mutex);
    stopped.insert(m);
    stopped_on.insert(support::os_thread());
  };
  std::set<long> ran_on;
  support::with_runtime(options, [&] {
    in_goroutines(10, [&](int) {
      thrum::blocking([&] {
        ::usleep(2'000);
        const std::lock_guard lock(mutex);
        ran_on.insert(support::os_thread());
      });
    });
    const std::lock_guard lock(mutex);
    CHECK(stopped.empty());
  });
  CHECK(!started.empty());
  CHECK(started == stopped);
  CHECK(started_on == stopped_on);
  CHECK(started.size() == std::set<unsigned>(started.begin(), started.end()).size());
  CHECK(std::includes(started_on.begin(), started_on.end(), ran_on.begin(), ran_on.end()));
}

TEST_CASE("the threads of a runtime carry its name") {
  thrum::options options = support::with_procs(2);
  options.name = "loom";
  support::with_runtime(options, [] {
    thrum::spawn([] {}).join();
    CHECK(support::eventually([] {
      const auto names = support::thread_names();
      return names.count("loom/0") == 1 && names.count("loom/sysmon") == 1;
    }));
  });
}

TEST_CASE("a thread is known as its M's, and no other M's, while goroutines run on it") {
  CHECK(thrum::sched::current_m() == nullptr);
  support::with_runtime([] {
    const thrum::sched::section here;
    const thrum::sched::machine& m = here.this_m();
    CHECK(thrum::sched::current_m() == &m);
    CHECK(m.self.is_calling_thread());
    CHECK(m.error_number == thrum::os::thread_error_number());
  });
}

TEST_CASE("SC1: a lock of the scheduler taken outside of it is noticed once a runtime has run") {
  support::with_runtime([] {});
  CHECK(support::breaks("SC1", [] {
    support::bare_scheduler scheduler(1);
    const support::pretended_m goroutine(scheduler);
    thrum::sched::spin_lock lock{thrum::sched::lock_rank::heap};
    lock.lock();
  }));
}

TEST_CASE("an M that finds work while it searches leaves a successor that searches on") {
  // Goroutines that start together wake one searcher; only its successors can find the rest.
  // Nothing else wakes an M: no processor is given back before all have met, and no goroutine stays
  // in runnext, where the monitor would see it.
  constexpr int all = 4;
  constexpr int rounds = 20;
  thrum::options options = support::with_procs(all);
  options.preempt = thrum::preemption::none;
  support::with_runtime(options, [&] {
    for (int round = 0; round != rounds; ++round) {
      thrum::sleep_for(200us);  // the others find nothing and go to sleep
      std::atomic<int> there{0};
      const auto end = std::chrono::steady_clock::now() + support::long_time;
      in_goroutines(all, [&](int) {
        ++there;
        while (there != all && std::chrono::steady_clock::now() < end) {
          std::this_thread::yield();
        }
      });
      const bool met_in_time = std::chrono::steady_clock::now() < end;
      REQUIRE(met_in_time);
    }
  });
}

TEST_CASE("an M whose search takes the last work wakes no other searcher") {
  support::lone_scheduler scheduler(2);
  thrum::sched::machine& m = scheduler.holder_of(0);
  const auto found_all = [&] {
    scheduler->idle.begin_spinning(m);
    thrum::sched::end_search(m);
    REQUIRE_FALSE(m.spinning);
    return scheduler.started() == 0;
  };
  CHECK(found_all());
  SECTION("unless another goroutine is queued") {
    scheduler.push(0, scheduler.g());
    CHECK_FALSE(found_all());
  }
  constexpr std::int64_t some_day = INT64_MAX / 2;
  thrum::sched::basic_timer<thrum::sched::traits> timer;
  SECTION("unless a timer is armed and nobody sleeps until it is due") {
    scheduler.p(1).timers.add(timer, some_day);
    CHECK_FALSE(found_all());
  }
  SECTION("though a timer is armed, if somebody sleeps until it is due") {
    scheduler.p(1).timers.add(timer, some_day);
    REQUIRE(scheduler->poll.begin_sleep(some_day));
    CHECK(found_all());
  }
}
