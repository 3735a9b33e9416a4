// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/detail/sched/core/section.hpp>

#include "support/bare_scheduler.hpp"
#include "support/child.hpp"
#include "support/test.hpp"

using thrum::sched::is_lock_allowed;
using thrum::sched::section;

TEST_CASE("a thread is inside from the begin of the outermost section to its end, on its own M") {
  support::bare_scheduler scheduler(1);
  support::pretended_m m(scheduler);
  CHECK_FALSE(m.is_inside());
  {
    const section outer;
    CHECK(m.is_inside());
    {
      const section inner;
      CHECK(m.is_inside());
    }
    CHECK(m.is_inside());
    CHECK(outer.m() == &*m);
    CHECK(&outer.this_m() == &*m);
    CHECK(outer.g() == &m.g);
  }
  CHECK_FALSE(m.is_inside());
}

TEST_CASE("a goroutine with a P enters at once, from outside only") {
  support::bare_scheduler scheduler(1);
  support::pretended_m m(scheduler);
  REQUIRE(thrum::sched::enter_scheduler_at_once(&*m));
  CHECK(m.is_inside());
  CHECK_FALSE(thrum::sched::enter_scheduler_at_once(&*m));
  CHECK(m.is_inside());
  {
    const section goes_on(*m);
    CHECK(goes_on.m() == &*m);
    CHECK(goes_on.thread_m() == &*m);
  }
  CHECK_FALSE(m.is_inside());
}

TEST_CASE(
    "a thread without a P, or whose P is wanted, does not enter at once, and is outside "
    "afterwards") {
  CHECK_FALSE(thrum::sched::enter_scheduler_at_once(nullptr));
  support::bare_scheduler scheduler(1);
  support::pretended_m m(scheduler);
  m->p = nullptr;
  CHECK_FALSE(thrum::sched::enter_scheduler_at_once(&*m));
  CHECK_FALSE(m.is_inside());
  m->p = &m.p;
  m->retake.store(thrum::sched::retake_state::wanted, std::memory_order_relaxed);
  CHECK_FALSE(thrum::sched::enter_scheduler_at_once(&*m));
  CHECK_FALSE(m.is_inside());
  m->retake.store(thrum::sched::retake_state::none, std::memory_order_relaxed);
}

TEST_CASE("a section of a thread that may not park gives no M and no goroutine") {
  {
    const section on_a_foreign_thread;
    CHECK(on_a_foreign_thread.m() == nullptr);
    CHECK(on_a_foreign_thread.g() == nullptr);
  }
  support::bare_scheduler scheduler(1);
  support::pretended_m m(scheduler);
  m->p = nullptr;
  {
    const section without_a_p;
    CHECK(without_a_p.m() == nullptr);
    CHECK(without_a_p.g() == nullptr);
    CHECK(m.is_inside());
  }
  m->p = &m.p;
  m->g = nullptr;
  {
    const section on_g0;
    CHECK(on_g0.m() == nullptr);
    CHECK_FALSE(m.is_inside());
  }
}

TEST_CASE("asking for the M of a section that has none is refused") {
  CHECK(support::breaks("SC5", [] {
    const section here;
    static_cast<void>(here.this_m());
  }));
}

TEST_CASE("the monitor that wants a P has its answer before the section begins") {
  using thrum::sched::retake_state;
  support::bare_scheduler scheduler(1);
  support::pretended_m m(scheduler);
  {
    const section not_asked;
    CHECK(scheduler.answers == 0);
  }
  m->retake.store(retake_state::wanted);
  {
    const section asked;
    CHECK(scheduler.answers == 1);
    m->retake.store(retake_state::wanted);
    const section inner;  // the answer is given by the outermost alone
    CHECK(scheduler.answers == 1);
  }
  const section next;
  CHECK(scheduler.answers == 2);
}

TEST_CASE("what a section runs outside is user's code, unless it stands within another section") {
  support::bare_scheduler scheduler(1);
  support::pretended_m m(scheduler);
  bool was_inside = true;
  const auto look = [&] { was_inside = m.is_inside(); };
  {
    section here;
    here.outside(look);
    CHECK_FALSE(was_inside);
    CHECK(m.is_inside());
    CHECK(here.m() == &*m);
    section inner;
    inner.outside(look);
    CHECK(was_inside);
  }
  CHECK_FALSE(m.is_inside());
}

TEST_CASE("an exception that leaves what a section runs outside has left the section, too") {
  support::bare_scheduler scheduler(1);
  support::pretended_m m(scheduler);
  bool was_inside = true;
  try {
    section here;
    here.outside([&] {
      was_inside = m.is_inside();
      m->inside.store(1);  // another goroutine's: this one may have moved to another M
      throw 1;
    });
  } catch (int) {
    CHECK_FALSE(was_inside);
  }
  CHECK(m.is_inside());
}

TEST_CASE("a section goes on, and ends, on the M to which its goroutine has moved") {
  support::bare_scheduler scheduler(1);
  support::pretended_m m(scheduler);
  const auto other = scheduler.stray_m();
  other->g = m->g;
  other->p = m->p;
  {
    section here;
    here.moved_to(*other);
    other->inside.store(1);
    CHECK(here.m() == other.get());
  }
  CHECK(other->inside == 0);
  CHECK(m.is_inside());  // whatever runs there now says when it leaves
}

TEST_CASE("SC4: a section within another one does not park") {
  CHECK(support::breaks("SC4", [] {
    support::bare_scheduler scheduler(1);
    support::pretended_m m(scheduler);
    const section outer;
    section inner;
    inner.moved_to(*m);
  }));
}

TEST_CASE("SC1: a goroutine may take a lock of the scheduler inside only, others always") {
  CHECK(is_lock_allowed());
  support::bare_scheduler scheduler(1);
  support::pretended_m m(scheduler);
  CHECK_FALSE(is_lock_allowed());
  {
    const section here;
    CHECK(is_lock_allowed());
  }
  m->p = nullptr;
  CHECK(is_lock_allowed());
  m->p = &m.p;
  m->g = nullptr;
  CHECK(is_lock_allowed());
}
