// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/detail/sched/thread/thread_creator.hpp>

#include <thrum/detail/sched/life/process_exit.hpp>

#include "support/test.hpp"

#include <csignal>

#if !defined(_WIN32)
#include <sys/resource.h>
#include <unistd.h>
#endif

#include "support/bare_scheduler.hpp"
#include "support/child.hpp"

namespace {

/// The configuration has one word for the user, which is the scheduler's here.
std::atomic<int> creator_dumps{0};
std::atomic<int> creator_checks{0};

}  // namespace

TEST_CASE("the creator shows the goroutines when it is asked to, once, and not by itself") {
  creator_dumps = 0;
  support::bare_scheduler scheduler(1, {.dump = [](void*) { ++creator_dumps; }});
  REQUIRE(scheduler.open() == 0);
  scheduler->creator.offer_idle();
  scheduler->creator.request_dump();
  CHECK(support::eventually([] { return creator_dumps == 1; }));
  scheduler->creator.offer_idle();
  scheduler->creator.close();
  CHECK(creator_dumps == 1);
}

TEST_CASE("the creator checks again and again what it is to check, though not before it is time") {
  constexpr std::int64_t hour = 3'600'000'000'000;
  for (const std::int64_t interval : {std::int64_t{100'000}, hour}) {
    creator_checks = 0;
    support::bare_scheduler scheduler(
        1, {.check = [](void*) { ++creator_checks; }, .check_every_ns = interval});
    REQUIRE(scheduler.open() == 0);
    scheduler->creator.request_dump();  // in vain: this runtime shows none
    for (int i = 1; i != 4; ++i) {
      scheduler->creator.request_spare();
      CHECK(support::eventually([&] { return scheduler.spares == i; }));
    }
    if (interval == hour) {
      CHECK(creator_checks == 0);
    } else {
      CHECK(support::eventually([] { return creator_checks >= 3; }));
    }
  }
}

TEST_CASE("the creator checks nothing while the process exits") {
  creator_checks = 0;
  support::bare_scheduler scheduler(
      1, {.check = [](void*) { ++creator_checks; }, .check_every_ns = 100'000});
  REQUIRE(scheduler.open() == 0);
  thrum::sched::process_exit::hold(*scheduler);
  int checks = 0;
  for (int i = 1; i != 4; ++i) {
    scheduler->creator.request_spare();
    CHECK(support::eventually([&] { return scheduler.spares == i; }));
    if (i == 1) {
      checks = creator_checks;  // from before the creator knew
    }
    thrum::os::sleep_ns(200'000);
  }
  CHECK(creator_checks == checks);
}

TEST_CASE("a thread that was made says that the system refuses no more") {
  support::bare_scheduler scheduler(1);
  REQUIRE(scheduler.open() == 0);
  scheduler->ms.set_limit(3);
  thrum::sched::machine* m;
  m = support::with_idle_lock(scheduler)->new_m_locked();
  scheduler->creator.request(*m);
  CHECK(support::eventually(
      [&] { return scheduler->ms.limit() == thrum::sched::m_table::any_number; }));
}

#if !defined(_WIN32)  // there is no limit to set

namespace {

/// In a child: opens the scheduler, with no P idle and a goroutine to run.
void open_with_work(support::bare_scheduler& scheduler, thrum::sched::goroutine& work) {
  if (scheduler.open() != 0) {
    ::_exit(2);
  }
  scheduler.take_all_ps();
  scheduler->global.push_back(work);
}

}  // namespace

TEST_CASE("a thread that was refused is asked for again, though the creator was woken meanwhile") {
  if (THRUM_ASAN || THRUM_TSAN || std::getenv("THRUM_TEST_EMULATOR") != nullptr) {
    return;  // these do without the limit
  }
  const support::child_result end = support::run_in_child([] {
    support::bare_scheduler scheduler(1);
    thrum::sched::goroutine work;
    open_with_work(scheduler, work);
    rlimit before{};
    ::getrlimit(RLIMIT_AS, &before);
    const rlimit nothing_more{0, before.rlim_max};
    ::setrlimit(RLIMIT_AS, &nothing_more);
    thrum::sched::machine* m;
    {
      const thrum::sched::scoped guard(scheduler->idle.lock());
      m = scheduler->new_m_locked();
      scheduler->ms.begin_locked(*m);
    }
    scheduler->pass_p(scheduler->ps[0], *m, false);
    scheduler->creator.request(*m);
    const bool was_refused = support::eventually([&] {
      const thrum::sched::scoped guard(scheduler->idle.lock());
      return scheduler->ms.holds_back();
    });
    scheduler->creator.offer_idle();  // nobody is
    ::setrlimit(RLIMIT_AS, &before);
    const bool is_granted = support::eventually([&] { return scheduler.threads == 1; });
    ::_exit(was_refused && is_granted ? 0 : 1);
  });
  CHECK(end.signal == 0);
  CHECK(end.exit_code == 0);
  CHECK(end.errors.find("the system refuses thread 1 of this runtime") != std::string::npos);
}

TEST_CASE("a runtime that is refused its only thread again and again ends with what to raise") {
  if (THRUM_ASAN || THRUM_TSAN || std::getenv("THRUM_TEST_EMULATOR") != nullptr) {
    return;  // as above
  }
  const support::child_result end = support::run_in_child([] {
    support::bare_scheduler scheduler(1);
    thrum::sched::goroutine work;
    open_with_work(scheduler, work);
    rlimit nothing_more{};
    ::getrlimit(RLIMIT_AS, &nothing_more);
    nothing_more.rlim_cur = 0;
    ::setrlimit(RLIMIT_AS, &nothing_more);
    scheduler->idle.lock().lock();
    scheduler->start_m(scheduler->ps[0], false);
    for (;;) {
      ::pause();
    }
  });
  CHECK(end.signal == SIGABRT);
  CHECK(end.errors.find("no other thread and tries again") != std::string::npos);
  CHECK(end.errors.find("no goroutine can run; raise the limit of processes") != std::string::npos);
}

#endif
