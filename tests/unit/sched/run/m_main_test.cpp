// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/sched/run/m_main.hpp>

#include <thrum.hpp>

#include "support/bare_scheduler.hpp"
#include "support/catch.hpp"
#include "support/child.hpp"
#include "support/eventually.hpp"
#include "support/process.hpp"
#include "support/with_runtime.hpp"

#include <algorithm>
#include <mutex>
#include <set>

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
    thrum::wait_group group;
    for (int i = 0; i != 10; ++i) {
      group.go([&] {
        thrum::blocking([&] {
          ::usleep(2'000);
          const std::lock_guard lock(mutex);
          ran_on.insert(support::os_thread());
        });
      });
    }
    group.wait();
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

TEST_CASE("a thread is known as its M's while goroutines run on it, and as nobody's else") {
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
