// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// One M arms a timer while another goes to sleep until the first timer, in every interleaving
// within the bounds: when all Ms are at rest, one sleeps in the poller, and not for longer than
// until the first timer that is armed. Then the mutants.
//
// What runs is the scheduler's own code, as in idle_protocol_model.cpp, with arm.hpp,
// timer_heap.hpp and poll_turn.hpp. No time passes, so no timer is due; the poller is a note.
//
// No mutants: the second look of sleep_in_poller left out; sequential consistency or the fences
// weakened alone. A thread that armed a timer that the sleeper has not seen then finds the
// sleeper's P idle and starts another M on it, which looks at all timers before it sleeps, and
// wakes the sleeper.

#include "model/support/find_work_parts.hpp"
//
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/queue/idle.hpp>
#include <thrum/detail/sched/queue/poll_turn.hpp>
#include <thrum/detail/sched/queue/timer_heap.hpp>
#include <thrum/detail/sched/run/arm.hpp>
#include <thrum/detail/sched/run/find_work.hpp>
#include <thrum/detail/sched/run/loop.hpp>
#include <thrum/detail/sched/thread/threads.hpp>

#include "model/support/checks.hpp"
#include "model/support/objects.hpp"
#include "support/catch.hpp"

#include <cstdint>

namespace {

using model::found_out;
using model::holds;
using model::machine;
using model::require;
using model::finding::mistake;
using model::finding::search_world;

using thrum::sched::timer_heap;
using thrum::sched::traits;

constexpr std::int64_t armed_for = 5;
constexpr mistake none = mistake::nothing;

// One timer, and two Ps, each with an M.
template <mistake Made>
struct small_world : search_world {
  using heap = timer_heap<traits>;
  using added = heap::added;
  static constexpr unsigned most_ms = 4;

  small_world() : search_world(2, 2, most_ms) {
    model::finding::made = Made;
    model::finding::has_timers = true;
    model::finding::uses_runnext = false;
    sleeper.scheduler = &scheduler;
    hold(0, 0, false);
    hold(1, 1, false);
  }

  // An earlier wait of the same goroutine began on that P, and ended.
  void leave_entry(unsigned p) {
    ps[p]->timers.add(t, 100);
    heap::remove(t);
  }

  // A goroutine of `m` parks, with a deadline.
  void arm(machine& m) {
    added how = m.p->timers.add(t, armed_for);
    if ((Made == mistake::other_heap_is_not_told && how == added::elsewhere) ||
        (Made == mistake::busy_p_is_not_told && how == added::earliest)) {
      how = added::later;
    }
    thrum::sched::announce_timer(m, how, armed_for);
  }

  void executes(machine& m, goroutine&) override { m.locked_g = nullptr; }

  // ---- what must hold ----

  void at_rest() {
    model::finding::made = none;  // what is looked at here is what there is
    require(scheduler.first_timer(heap::never) == armed_for, "the timer is lost");
    require(scheduler.poller.sleeps_until() <= armed_for, "nobody wakes for the first timer");
    close();
  }
  void at_end() {}

  thrum::sched::basic_timer<traits> t;
  goroutine sleeper;
};

// What becomes of the M whose goroutine has armed the timer.
enum class armer { idles, stays_busy, is_locked };

// One M arms, the other one is about to go to sleep. `Elsewhere`: the timer's entry is still in the
// other one's heap.
template <mistake Made, armer Armer, bool Elsewhere>
struct two_ms : small_world<Made> {
  static constexpr unsigned threads = small_world<Made>::most_ms;
  two_ms() {
    if (Elsewhere) {
      this->leave_entry(1);
    }
  }
  void run(unsigned thread) {
    if (thread == 0) {
      auto& m = this->scheduler.ms[0];
      if (Armer == armer::stays_busy) {
        m.g = &this->sleeper;  // another goroutine goes on
        this->arm(m);
        this->busy.sleep();
        m.g = nullptr;
      } else if (Armer == armer::is_locked) {
        m.locked_g = &this->sleeper;
        this->arm(m);
        run_goroutines(m, wait_for_locked(m));
        return;
      } else {
        this->arm(m);
      }
    }
    this->live(thread);
  }
  model::note busy;
};

// Both Ms are about to go to sleep when a thread that is no M arms the timer.
template <mistake Made, bool Elsewhere>
struct armed_from_outside : small_world<Made> {
  static constexpr unsigned threads = small_world<Made>::most_ms + 1;
  armed_from_outside() {
    if (Elsewhere) {
      this->leave_entry(1);
    }
  }
  void run(unsigned thread) {
    if (thread == small_world<Made>::most_ms) {
      thrum::sched::arm(this->scheduler, this->t, armed_for);
    } else {
      this->live(thread);
    }
  }
};

}  // namespace

TEST_CASE("model: an M wakes for a timer whose own M goes to sleep") {
  holds<two_ms<none, armer::idles, false>>({machine::weak, 2, 1});
  holds<two_ms<none, armer::idles, true>>({machine::sequential, 2, 0});
}

TEST_CASE("model: an M wakes for a timer whose own M stays busy") {
  holds<two_ms<none, armer::stays_busy, false>>({machine::weak, 2, 2});
  holds<two_ms<none, armer::stays_busy, true>>({machine::weak, 2, 2});
}

TEST_CASE("model: an M wakes for the timer of a goroutine that is locked to its thread") {
  holds<two_ms<none, armer::is_locked, false>>({machine::sequential, 2, 0});
  holds<two_ms<none, armer::is_locked, true>>({machine::weak, 1, 1});
}

TEST_CASE("model: an M wakes for a timer that is armed from outside") {
  holds<armed_from_outside<none, false>>({machine::weak, 1, 1});
  holds<armed_from_outside<none, true>>({machine::weak, 1, 1});
}

// Not run by default: some minutes.
TEST_CASE("model: an M wakes for a timer, with one preemption more", "[.long]") {
  holds<two_ms<none, armer::idles, true>>({machine::sequential, 3, 0});
  holds<two_ms<none, armer::stays_busy, true>>({machine::weak, 3, 2});
  holds<two_ms<none, armer::is_locked, true>>({machine::sequential, 3, 0});
  holds<armed_from_outside<none, true>>({machine::weak, 2, 1});
}

TEST_CASE("model: each mutant of the way to sleep until the first timer is found out") {
  constexpr model::options bounds{machine::sequential, 2, 0};
  CHECK(found_out<two_ms<mistake::other_heap_is_not_told, armer::is_locked, true>>(bounds));
  CHECK(found_out<two_ms<mistake::busy_p_is_not_told, armer::stays_busy, false>>(bounds));
  CHECK(found_out<two_ms<mistake::sleeper_is_not_woken, armer::stays_busy, true>>(bounds));
  CHECK(found_out<two_ms<mistake::searcher_is_not_woken, armer::stays_busy, false>>(bounds));
  CHECK(found_out<two_ms<mistake::no_timers_at_look_again, armer::stays_busy, false>>(bounds));
  CHECK(found_out<two_ms<mistake::no_timers_at_hand_off, armer::is_locked, false>>(bounds));
  CHECK(found_out<two_ms<mistake::no_order, armer::stays_busy, false>>({machine::weak, 2, 1}));
}
