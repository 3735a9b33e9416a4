// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/detail/sched/thread/thread_creator.hpp>

#include "support/bare_scheduler.hpp"
#include "support/interrupted_write.hpp"
#include "support/test.hpp"

namespace {

/// As the scheduler asks for a thread.
void request_thread(support::bare_scheduler& of) {
  thrum::sched::machine* m;
  {
    const thrum::sched::scoped guard(of->idle.lock());
    m = of->new_m_locked();
  }
  of->creator.request(*m);
}

/// An M that the scheduler does not know.
struct m_apart : thrum::sched::machine {
  explicit m_apart(support::bare_scheduler& of) : machine(*of, of->upcalls(), 7, 1) {}
  ~m_apart() {
    if (thread.joinable()) {
      thread.join();
    }
    for_signals.give_back();
  }
};

}  // namespace

TEST_CASE("each M that the creator is asked for gets a thread, which runs what Ms run") {
  constexpr int wanted = 5;
  std::atomic<unsigned> seen{0};  // a bit for each number
  support::bare_scheduler scheduler(1);
  scheduler.on_thread = [&](thrum::sched::machine& m) { seen |= 1U << m.id; };
  REQUIRE(scheduler.open() == 0);
  for (int i = 0; i != wanted; ++i) {
    request_thread(scheduler);
  }
  CHECK(support::eventually([&] { return scheduler.threads == wanted; }));
  CHECK(seen == (1U << wanted) - 1);
}

TEST_CASE("a creator that closes has started all the threads that it was asked for") {
  constexpr int wanted = 5;
  support::bare_scheduler scheduler(1);
  REQUIRE(scheduler.open() == 0);
  for (int i = 0; i != wanted; ++i) {
    request_thread(scheduler);
  }
  scheduler->creator.close();
  int started = 0;
  for (unsigned i = 0; i != scheduler->ms.made(); ++i) {
    started += scheduler->ms[i].thread.joinable();
  }
  CHECK(started == wanted);
}

TEST_CASE("a creator may be closed twice, and one that was never opened, too") {
  support::bare_scheduler never_opened(1);
  never_opened->creator.close();
  support::bare_scheduler scheduler(1);
  REQUIRE(scheduler.open() == 0);
  request_thread(scheduler);
  scheduler->creator.close();
  scheduler->creator.close();
  CHECK(scheduler->ms[0].thread.joinable());
}

TEST_CASE("the creator starts a spare thread on request, unless the scheduler wants none") {
  support::bare_scheduler scheduler(1);
  scheduler.on_spare = [&]() -> thrum::sched::machine* {
    if (scheduler.spares == 1) {  // the first time there is to be none
      return nullptr;
    }
    const thrum::sched::scoped guard(scheduler->idle.lock());
    return scheduler->new_m_locked();
  };
  REQUIRE(scheduler.open() == 0);
  scheduler->creator.request_spare();
  CHECK(support::eventually([&] { return scheduler.spares == 1; }));
  CHECK(scheduler->ms.made() == 0);
  scheduler->creator.request_spare();
  CHECK(support::eventually([&] { return scheduler.threads == 1; }));
  CHECK(scheduler.spares == 2);
}

TEST_CASE("a request is not lost if a signal's handler asks for another M in the middle of it") {
  support::bare_scheduler scheduler(1);
  const support::on_own_pages<m_apart> interrupted(scheduler);
  m_apart other(scheduler);
  bool was_between = false;
  {
    const support::interrupted_write once(interrupted, [&] {
      was_between = true;
      scheduler->creator.request(other);
    });
    scheduler->creator.request(*interrupted);  // it writes down which M comes after it
  }
  REQUIRE(was_between);
  REQUIRE(interrupted->idle_next == &other);
  REQUIRE(scheduler.open() == 0);
  CHECK(support::eventually([&] { return scheduler.threads == 2; }));
  scheduler->creator.close();
}
