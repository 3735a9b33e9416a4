// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/detail/sched/core/scheduler.hpp>

#include "support/test.hpp"

#if !defined(_WIN32)
#include <sys/resource.h>
#include <unistd.h>
#endif

#include "support/bare_scheduler.hpp"
#include "support/child.hpp"

TEST_CASE("a scheduler that opens has its Ps, all idle, and no thread that runs goroutines") {
  support::bare_scheduler scheduler(3);
  REQUIRE(scheduler.open() == 0);
  CHECK(scheduler->procs() == 3);
  CHECK(scheduler->ps.live() == 3);
  CHECK(scheduler->idle.idle_ps() == 3);
  CHECK(scheduler->ms.made() == 0);
  CHECK(scheduler->started_at != 0);
  CHECK_FALSE(scheduler->closing);
}

#if !defined(_WIN32)  // there is no limit to set

TEST_CASE("a scheduler for which there is no memory says so when it opens, and can be destroyed") {
  if (THRUM_ASAN || THRUM_TSAN || std::getenv("THRUM_TEST_EMULATOR") != nullptr) {
    return;  // these do without the limit
  }
  constexpr int as_it_should_be = 7;
  const support::child_result end = support::run_in_child([] {
    int error = 0;
    {
      support::bare_scheduler scheduler(1);
      const rlimit nothing_more{0, 0};
      ::setrlimit(RLIMIT_AS, &nothing_more);
      error = scheduler.open();
    }
    ::_exit(error == thrum::os::no_memory ? as_it_should_be : 0);
  });
  CHECK(end.signal == 0);
  CHECK(end.exit_code == as_it_should_be);
}

#endif

TEST_CASE("a scheduler that closes wakes each idle M, without a P, and its monitor") {
  support::bare_scheduler scheduler(1);
  REQUIRE(scheduler.open() == 0);
  const auto first = scheduler.stray_m();
  const auto second = scheduler.stray_m();
  {
    const thrum::sched::scoped guard(scheduler->idle.lock());
    scheduler->idle.put_m_locked(*first);
    scheduler->idle.put_m_locked(*second);
  }
  scheduler->close();
  CHECK(scheduler->closing);
  CHECK(scheduler->idle.idle_ms() == 0);
  CHECK(first->park.is_set());
  CHECK(second->park.is_set());
  CHECK(first->next_p == nullptr);
  CHECK(scheduler->monitor.sleep_for(0));
}

TEST_CASE("threads and wakers are gone when a scheduler's threads have been joined") {
  support::bare_scheduler scheduler(1);
  std::atomic<bool> waits{false};
  REQUIRE(scheduler.open() == 0);
  thrum::sched::machine* m;
  m = support::with_idle_lock(scheduler)->new_m_locked();
  scheduler->creator.request(*m);
  scheduler->wakers.enter();
  int touched = 0;
  std::thread visitor([&] {
    support::eventually([&] { return waits.load(); });
    thrum::os::sleep_ns(1'000'000);
    touched = 1;
    scheduler->wakers.leave();
  });
  waits = true;
  scheduler->join_threads();
  const int seen = touched;
  visitor.join();
  CHECK(seen == 1);
  CHECK(scheduler.threads == 1);
  CHECK_FALSE(m->thread.joinable());
}

TEST_CASE("a scheduler that is destroyed without having been closed ends its creator") {
  support::bare_scheduler scheduler(1);
  // As if that had failed at the end: then nobody closes it.
  REQUIRE(scheduler->open() == 0);
}
