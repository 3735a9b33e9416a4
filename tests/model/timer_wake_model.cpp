// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Whoever arms a timer and whoever goes to sleep until the first one, in every interleaving within
// the bounds: when all threads are at rest, one sleeps in the poller, and not for longer than until
// the first timer that is armed. Then the mutants.
//
// sched/queue/timer_heap.hpp, sched/queue/poll_turn.hpp and sched/queue/idle.hpp are the real ones. Around them a small scheduler does
// what sched/run/park.hpp, sched/core/scheduler.hpp and sched/run/find_work.hpp do with timers, step by step. No
// time passes, so none is due; the poller is a note.

#include "model/support/assertions.hpp"

#include <thrum/sched/queue/idle.hpp>
#include <thrum/sched/queue/poll_turn.hpp>
#include <thrum/sched/queue/timer_heap.hpp>

#include "model/support/checks.hpp"
#include "model/support/idle_parts.hpp"
#include "model/support/model_traits.hpp"
#include "model/support/objects.hpp"
#include "support/catch.hpp"

#include <cstdint>

namespace {

using model::found_out;
using model::holds;
using model::machine;
using model::mutation;
using model::require;

// What a mutant of the small scheduler leaves out.
enum class omission {
  nothing,
  other_heap_is_told,  // announce_timer, of a timer revived in another P's heap
  busy_p_is_told,      // announce_timer, when this M does not come to look for work
  sleeper_is_woken,    // wake_for_timer
  searcher_is_woken,   // the same, when nobody is in the poller
  timers_at_look_again,
  timers_before_sleep,  // sleep_in_poller's second look
  timers_at_hand_off
};

template <class Traits>
struct timer_work {
  thrum::sched::timer_heap<Traits> timers;
};

template <class Traits, omission Omitted = omission::nothing>
class small_scheduler : public model::idle_parts<Traits, timer_work<Traits>> {
  using parts = model::idle_parts<Traits, timer_work<Traits>>;

 public:
  using parts::idle;
  using parts::start_m;
  using parts::stop_m;
  using parts::wake_claimed;
  using typename parts::m_type;
  using typename parts::name;
  using typename parts::p_type;

  static constexpr std::memory_order relaxed = std::memory_order_relaxed;
  static constexpr std::memory_order seq_cst = std::memory_order_seq_cst;
  static constexpr unsigned procs = 2;

  template <class T>
  using atomic = typename Traits::template atomic<T>;
  using heap = thrum::sched::timer_heap<Traits>;
  using timer = thrum::sched::basic_timer<Traits>;
  using added = typename heap::added;

  // ---- whoever arms ----

  enum class then { looks_for_work, runs_another };

  // A goroutine of `m` parks, with a deadline.
  void arm(m_type& m, std::int64_t when, then next) {
    const added how = m.p->timers.add(t, when);
    if ((how == added::elsewhere && Omitted != omission::other_heap_is_told) ||
        (how == added::earliest && next == then::runs_another &&
         Omitted != omission::busy_p_is_told)) {
      wake_for_timer(when);
    }
  }

  // Somebody who is no M arms a timer.
  void arm(std::int64_t when) {
    if (ps[0].timers.add(t, when) != added::later) {
      wake_for_timer(when);
    }
  }

  void wake_for_timer(std::int64_t when) {
    if (poll.somebody_sleeps()) {
      if (poll.oversleeps(when) && Omitted != omission::sleeper_is_woken) {
        poller.wake();
      }
    } else if (Omitted != omission::searcher_is_woken) {
      wake_processor();
    }
  }

  void wake_processor() {
    Traits::fence(seq_cst);
    if (idle.claim_wake()) {
      wake_claimed();
    }
  }

  // The goroutine that has armed is locked to its thread, which lets others run elsewhere.
  void hand_off(p_type& p) {
    if (idle.claim_first_spinner()) {
      idle.lock().lock();
      start_m(p, true);
      return;
    }
    idle.lock().lock();
    if (idle.spinner_wanted_locked()) {
      idle.add_unit();
      start_m(p, true);
      return;
    }
    const std::int64_t when = p.timers.earliest();
    idle.put_p_locked(p);
    idle.lock().unlock();
    if (when != heap::never && Omitted != omission::timers_at_hand_off) {
      wake_for_timer(when);
    }
  }

  // ---- whoever goes to sleep ----

  std::int64_t earliest_of_all(std::int64_t next) {
    for (p_type& each : ps) {
      const std::int64_t when = each.timers.earliest();
      next = when < next ? when : next;
    }
    return next;
  }

  void give_up_p(m_type& m, std::int64_t& next_timer) {
    idle.lock().lock();
    if (idle.spinner_wanted_locked()) {
      if (m.spinning) {
        idle.take_request();
      } else {
        idle.begin_spinning(m);
      }
      idle.lock().unlock();
      return;
    }
    p_type* const p = m.p;
    m.p = nullptr;
    idle.put_p_locked(*p);
    idle.lock().unlock();
    if (m.spinning) {
      idle.end_spinning(m);
      if (Omitted != omission::timers_at_look_again) {
        next_timer = earliest_of_all(next_timer);
      }
    }
  }

  enum class slept { no, with_p, for_ever };

  slept sleep_in_poller(m_type& m, std::int64_t next_timer) {
    if (next_timer == heap::never) {
      return slept::no;
    }
    if (!poll.begin_sleep(next_timer)) {
      if (poll.oversleeps(next_timer)) {
        poller.wake();
      }
      return slept::no;
    }
    if (Omitted != omission::timers_before_sleep) {
      next_timer = earliest_of_all(next_timer);
    }
    sleeps_until = next_timer;
    if (!poller.sleep()) {
      return slept::for_ever;
    }
    poller.clear();
    sleeps_until = heap::never;
    poll.end_sleep(1);

    idle.lock().lock();
    m.p = idle.take_p_locked();
    if (m.p == nullptr) {
      idle.ask_for_spinner_locked();
    }
    idle.lock().unlock();
    if (m.p == nullptr) {
      return slept::no;
    }
    idle.begin_spinning(m);
    return slept::with_p;
  }

  // Whether an M may spin is a heuristic in the scheduler, so here it is anybody's choice.
  void look_for_work(m_type& m) {
    for (;;) {
      if (m.p == nullptr && !stop_m(m)) {
        return;
      }
      std::int64_t next_timer = m.p->timers.earliest();
      if (m.spinning || model::explorer::active().choose(2) == 0) {
        if (!m.spinning) {
          idle.begin_spinning(m);
        }
        next_timer = earliest_of_all(next_timer);
      }
      give_up_p(m, next_timer);
      if (m.p == nullptr) {
        const slept how = sleep_in_poller(m, next_timer);
        if (how == slept::for_ever) {
          return;
        }
      }
    }
  }

  // ---- what must hold ----

  void at_rest() {
    const std::int64_t first = earliest_of_all(heap::never);
    require(first == 5, "the timer is lost");
    require(sleeps_until <= first, "nobody wakes for the first timer");
  }
  void at_end() {}

  // ---- the initial state ----

  small_scheduler() {
    for (unsigned i = 0; i != procs; ++i) {
      ms[i].p = &ps[i];
    }
  }

  // An earlier wait of the same goroutine began on that P, and ended.
  void leave_entry(unsigned p) {
    ps[p].timers.add(t, 100);
    heap::remove(t);
  }

  name t_name{"t"};
  timer t;
  name p_name{"p"};
  p_type ps[procs];
  m_type ms[procs];

  name poll_name{"poll"};
  thrum::sched::poll_turn<Traits> poll;
  model::note poller;
  std::int64_t sleeps_until = heap::never;  // of whoever is in the poller
};

// What becomes of the M whose goroutine has armed the timer.
enum class armer { idles, stays_busy, is_locked };

// One M arms, the other one is about to go to sleep. `Elsewhere`: the timer's entry is still in the
// other one's heap.
template <class Scheduler, armer Armer, bool Elsewhere>
struct two_ms : Scheduler {
  static constexpr unsigned threads = 2;
  two_ms() {
    if (Elsewhere) {
      this->leave_entry(1);
    }
  }
  void run(unsigned thread) {
    auto& m = this->ms[thread];
    if (thread == 0) {
      const bool busy = Armer == armer::stays_busy;
      this->arm(m, 5, busy ? Scheduler::then::runs_another : Scheduler::then::looks_for_work);
      if (busy) {
        return;
      }
      if (Armer == armer::is_locked) {
        this->hand_off(*m.p);
        m.p = nullptr;
        return;
      }
    }
    this->look_for_work(m);
  }
};

// Both Ms are about to go to sleep when a thread arms that is none.
template <class Scheduler, bool Elsewhere>
struct armed_from_outside : Scheduler {
  static constexpr unsigned threads = 3;
  armed_from_outside() {
    if (Elsewhere) {
      this->leave_entry(1);
    }
  }
  void run(unsigned thread) {
    if (thread == 2) {
      this->arm(5);
    } else {
      this->look_for_work(this->ms[thread]);
    }
  }
};

using original = small_scheduler<model::traits>;
template <mutation Mistake>
using mutant = small_scheduler<model::mutant_traits<Mistake>>;
template <omission Omitted>
using incomplete = small_scheduler<model::traits, Omitted>;

template <class Model>
void holds_on_every_machine(unsigned preemptions, unsigned stale_reads) {
  holds<Model>({machine::sequential, preemptions, 0});
  holds<Model>({machine::tso, preemptions, stale_reads});
  holds<Model>({machine::weak, preemptions, stale_reads});
}

}  // namespace

TEST_CASE("model: somebody wakes for a timer whose M goes to sleep itself") {
  holds_on_every_machine<two_ms<original, armer::idles, false>>(3, 2);
  holds_on_every_machine<two_ms<original, armer::idles, true>>(3, 2);
}

TEST_CASE("model: somebody wakes for a timer whose M stays busy") {
  holds_on_every_machine<two_ms<original, armer::stays_busy, false>>(3, 2);
  holds_on_every_machine<two_ms<original, armer::stays_busy, true>>(3, 2);
}

TEST_CASE("model: somebody wakes for the timer of a goroutine that is locked to its thread") {
  holds_on_every_machine<two_ms<original, armer::is_locked, false>>(3, 2);
  holds_on_every_machine<two_ms<original, armer::is_locked, true>>(3, 2);
}

TEST_CASE("model: somebody wakes for a timer that is armed from outside") {
  holds_on_every_machine<armed_from_outside<original, false>>(2, 1);
  holds_on_every_machine<armed_from_outside<original, true>>(2, 1);
}

TEST_CASE("model: each mutant of the way to sleep until the first timer is found out") {
  const model::options bounds{machine::sequential, 3, 0};
  CHECK(
      found_out<two_ms<incomplete<omission::other_heap_is_told>, armer::is_locked, true>>(bounds));
  CHECK(found_out<two_ms<incomplete<omission::other_heap_is_told>, armer::idles, true>>(bounds));
  CHECK(found_out<two_ms<incomplete<omission::busy_p_is_told>, armer::stays_busy, false>>(bounds));
  CHECK(found_out<two_ms<incomplete<omission::sleeper_is_woken>, armer::stays_busy, true>>(bounds));
  CHECK(
      found_out<two_ms<incomplete<omission::searcher_is_woken>, armer::stays_busy, false>>(bounds));
  CHECK(found_out<two_ms<incomplete<omission::timers_at_look_again>, armer::stays_busy, false>>(
      bounds));
  CHECK(found_out<two_ms<incomplete<omission::timers_before_sleep>, armer::stays_busy, true>>(
      bounds));
  CHECK(
      found_out<two_ms<incomplete<omission::timers_at_hand_off>, armer::is_locked, false>>(bounds));
  CHECK(found_out<two_ms<mutant<mutation::release_acquire>, armer::stays_busy, true>>(
      {machine::weak, 3, 2}));
}
