// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/detail/sched/queue/idle.hpp>

#include <thrum/detail/sched/core/traits.hpp>

#include "support/catch.hpp"

namespace {

struct p {
  p* idle_next = nullptr;
};
struct m {
  m* idle_next = nullptr;
  bool spinning = false;
};
using set = thrum::sched::idle_set<thrum::sched::traits, p, m>;

}  // namespace

TEST_CASE("a submitter wakes no M while one spins, and only one submitter starts a spinner") {
  set idle;
  m searcher;
  idle.begin_spinning(searcher);
  REQUIRE_FALSE(idle.claim_wake());
  idle.end_spinning(searcher);
  REQUIRE(idle.claim_wake());
  REQUIRE_FALSE(idle.claim_wake());
}

TEST_CASE("two searchers may be on their way once eight Ps are busy, and one when fewer are") {
  set idle;
  p ps[3];
  {
    thrum::sched::scoped guard(idle.lock());
    idle.expect_locked(10);
    for (p& each : ps) {
      idle.put_p_locked(each);
    }
  }
  REQUIRE(idle.claim_wake());
  REQUIRE_FALSE(idle.claim_wake());  // seven are busy
  {
    thrum::sched::scoped guard(idle.lock());
    REQUIRE(idle.take_p_to_spin_locked() == &ps[2]);
  }
  REQUIRE(idle.claim_wake());
  REQUIRE_FALSE(idle.claim_wake());  // the first spins still
  {
    thrum::sched::scoped guard(idle.lock());
    idle.expect_locked(4);
  }
  m first{nullptr, true};
  idle.end_spinning(first);
  REQUIRE_FALSE(idle.claim_wake());  // the second does, and is enough now
}

TEST_CASE("a submitter that finds no idle P asks the next idler to spin") {
  set idle;
  REQUIRE(idle.claim_wake());
  {
    thrum::sched::scoped guard(idle.lock());
    REQUIRE_FALSE(idle.spinner_wanted_locked());
    REQUIRE(idle.take_p_to_spin_locked() == nullptr);
    REQUIRE(idle.spinner_wanted_locked());
  }
  REQUIRE(idle.spinning() == 0);
  REQUIRE_FALSE(idle.claim_wake());  // it has been asked for already
  m idler;
  idle.begin_spinning(idler);
  thrum::sched::scoped guard(idle.lock());
  REQUIRE_FALSE(idle.spinner_wanted_locked());
}

TEST_CASE("an idle P goes to the submitter that claimed a wake-up") {
  set idle;
  p one;
  {
    thrum::sched::scoped guard(idle.lock());
    idle.put_p_locked(one);
  }
  REQUIRE(idle.idle_ps() == 1);
  REQUIRE(idle.claim_wake());
  thrum::sched::scoped guard(idle.lock());
  REQUIRE(idle.take_p_to_spin_locked() == &one);
  REQUIRE(idle.spinning() == 1);
  REQUIRE(idle.idle_ps() == 0);
}

TEST_CASE("a hand-off starts a spinner only if no M spins and no other P idles") {
  set idle;
  p one;
  {
    thrum::sched::scoped guard(idle.lock());
    idle.put_p_locked(one);
  }
  REQUIRE_FALSE(idle.claim_first_spinner());
  {
    thrum::sched::scoped guard(idle.lock());
    REQUIRE(idle.remove_p_locked(one));
    REQUIRE_FALSE(idle.remove_p_locked(one));
  }
  REQUIRE(idle.claim_first_spinner());
  REQUIRE_FALSE(idle.claim_first_spinner());
}

TEST_CASE("the M that went to sleep last is the first to be woken") {
  set idle;
  m a;
  m b;
  thrum::sched::scoped guard(idle.lock());
  idle.put_m_locked(a);
  idle.put_m_locked(b);
  REQUIRE(idle.idle_ms() == 2);
  REQUIRE(idle.take_m_locked() == &b);
  REQUIRE(idle.take_m_locked() == &a);
  REQUIRE(idle.take_m_locked() == nullptr);
}

TEST_CASE("of the Ms that went to sleep last one that suits is woken before the others") {
  set idle;
  m all[3];
  thrum::sched::scoped guard(idle.lock());
  for (m& each : all) {
    idle.put_m_locked(each);
  }
  const auto is_first = [&](const m& each) { return &each == &all[0]; };
  REQUIRE(idle.take_m_locked(is_first) == &all[0]);
  REQUIRE(idle.idle_ms() == 2);
  REQUIRE(idle.take_m_locked(is_first) == &all[2]);  // none suits
  REQUIRE(idle.take_m_locked(is_first) == &all[1]);
  REQUIRE(idle.take_m_locked(is_first) == nullptr);
}
