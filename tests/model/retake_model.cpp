// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The hand-shake over a P that the monitor takes from a thread that blocks, in every interleaving
// within the bounds: nobody else uses a P while its M does, the M never goes on with a P that was
// taken from it, and never waits for an answer that does not come. Then its mutants.
//
// What runs is the scheduler's own code: sections (section.hpp), the answer and the handler
// (preempt.hpp), blocking calls (syscall.hpp), R1 to R5 and the watch (retake.hpp), on the Gs, Ms
// and Ps of support/retake_parts.hpp. Where the kernel has no membarrier, both fences are ordinary
// ones; so each is tried as either pair.
//
// Likewise what makes the monitor come soon (monitor_sleep.hpp): it never sleeps for long once a
// goroutine has queued up that found every P busy.
//
// No mutants: weaker orders for R3 and for forget_p. They hand nothing over; the order of changes
// to `retake` alone decides which thread has won. In this model they hold with `relaxed`, too.

#include "model/support/retake_parts.hpp"
//
#include <thrum/detail/sched/core/monitor_sleep.hpp>

#include "model/support/checks.hpp"
#include "model/support/objects.hpp"
#include "support/catch.hpp"

#include <cstdint>

namespace {

using model::every_machine;
using model::found_out;
using model::holds;
using model::machine;
using model::require;
using model::retaking::mistake;
using model::retaking::sunk;
using model::retaking::the_monitor;
using model::retaking::the_other;
using thrum::sched::p_status;
using thrum::sched::retake_state;

// ---- three threads: an M whose P is wanted, the monitor, and an M that takes what comes free ----

template <mistake Made, bool Membarrier>
struct small_world {
  static constexpr unsigned threads = 3;
  using m_type = thrum::sched::machine;
  using p_type = thrum::sched::processor;

  small_world() {
    sunk = {};
    model::retaking::made = Made;
    model::retaking::membarrier = Membarrier;
    thrum::sched::set_current_m(&m);
    m.scheduler = &scheduler;
    other.scheduler = &scheduler;
    scheduler.robbed = &m;
    scheduler.acquire_p(m, ps[0]);
    m.g = &gs[0];
    thrum::sched::leave_scheduler(m);
    m.p.as_before = &ps[0];
    ps[0].m.as_before = &m;
  }
  ~small_world() { thrum::sched::set_current_m(nullptr); }

  // ---- the M ----

  // A call of the library that does something with the P.
  template <class Body>
  void section(Body body) {
    m_type& here = thrum::sched::enter_scheduler(m);
    require(&here == &m, "the model moves no goroutine to another M");
    body();
    thrum::sched::leave_scheduler(m);
  }
  // The same by the way in that does not answer the monitor.
  template <class Body>
  void section_at_once(Body body) {
    if (!thrum::sched::enter_scheduler_at_once(&m)) {
      section(body);
      return;
    }
    body();
    thrum::sched::leave_scheduler(m);
  }
  void use() {
    scheduler.use(*m.p, &m);
    m.g = m.g == &gs[0] ? &gs[1] : &gs[0];  // the monitor looks at m.g, too
  }
  // One P for another, as by parking on the one and waking on the other.
  void change_p() {
    scheduler.idle.lock().lock();
    p_type* const next = scheduler.idle.take_p_locked();
    scheduler.idle.lock().unlock();
    if (next != nullptr) {
      scheduler.give(scheduler.release_p(m));
      scheduler.acquire_p(m, *next);
    }
  }
  void perhaps_interrupted() {
    if (model::explorer::active().choose(2) != 0) {
      thrum::sched::interrupt(&m);
    }
  }

  // ---- the monitor ----

  void look_at(p_type& p) {
    if (p.status.load(std::memory_order_acquire) == p_status::running &&
        p.m.load(std::memory_order_relaxed) == &m) {
      retaker.retake(p, m);
    }
    std::int64_t next_look = 0;
    retaker.watch(now += 1'000'000, next_look);
  }

  // ---- the other M ----

  void live_on_gifts() {
    for (;;) {
      scheduler.idle.lock().lock();
      scheduler.idle.put_m_locked(other);
      scheduler.idle.lock().unlock();
      if (!scheduler.wait_for_p(other)) {
        return;
      }
      scheduler.use(*other.p, &other);
      scheduler.give(scheduler.release_p(other));
    }
  }

  // ---- what must hold ----

  void at_rest() { require(m_is_done, "an M waits for a P that nobody gives it"); }
  void at_end() {
    const retake_state left = m.retake.load(std::memory_order_acquire);
    require(left != retake_state::decided, "a request is left without an answer");
    if (left != retake_state::taken && m.p != nullptr) {
      require(ps[0].holder == &m || ps[1].holder == &m, "an M has a P that it does not hold");
    }
  }

  struct name {
    explicit name(const char* text) { model::name_atomics(text); }
  };
  name p_name{"p"};  // .0 status, .1 m, .2 attention; the same of another from .3
  p_type ps[2];
  name g_name{"g"};
  thrum::sched::goroutine gs[2];
  name m_name{"m"};  // .0 inside, .1 retake; the same of the other M from .2
  m_type m;
  m_type other;
  thrum::sched::runtime_scheduler scheduler;
  thrum::sched::retaker retaker{scheduler};
  std::int64_t now = 0;
  bool m_is_done = false;
};

// The M calls the library twice, by either way in; the monitor looks as often as it is told.
template <class World, int Looks = 1, bool AtOnce = false>
struct caller : World {
  void run(unsigned thread) {
    if (thread == the_monitor) {
      for (int i = 0; i != Looks; ++i) {
        this->look_at(this->ps[0]);
      }
    } else if (thread == the_other) {
      this->live_on_gifts();
    } else {
      for (int i = 0; i != 2; ++i) {
        if constexpr (AtOnce) {
          this->section_at_once([this] { this->use(); });
        } else {
          this->section([this] { this->use(); });
        }
      }
      this->m_is_done = true;
    }
  }
};

// The same where the M takes the short way in.
template <class World, int Looks = 1>
using hasty = caller<World, Looks, true>;

// Meanwhile the M leaves its P for another one.
template <class World, int Looks = 1>
struct changer : World {
  changer() { this->scheduler.idle.put_p_locked(this->ps[1]); }
  void run(unsigned thread) {
    if (thread == the_monitor) {
      for (int i = 0; i != Looks; ++i) {
        this->look_at(this->ps[i % 2]);
      }
    } else if (thread == the_other) {
      this->live_on_gifts();
    } else {
      for (int i = 0; i != 2; ++i) {
        this->section([this] {
          this->change_p();
          this->use();
        });
      }
      this->m_is_done = true;
    }
  }
};

// Meanwhile the M is inside blocking(), from which it comes back to take its P itself.
template <class World>
struct blocker : World {
  void run(unsigned thread) {
    if (thread == the_monitor) {
      this->look_at(this->ps[0]);
    } else if (thread == the_other) {
      this->live_on_gifts();
    } else {
      this->section([this] { thrum::sched::enter_syscall(this->m); });
      this->section([this] {
        thrum::sched::exit_syscall(this->m);
        this->use();
      });
      this->m_is_done = true;
    }
  }
};

// The same by a goroutine whose calls are long, while others wait: it gives its P away itself.
template <class World>
struct eager_blocker : blocker<World> {
  eager_blocker() {
    this->gs[0].flags = thrum::sched::g_long_calls;
    this->scheduler.global.others_wait = true;
  }
};

// The M is interrupted where it computes, and inside the library, where that must not matter. The
// monitor has asked for the P as from code that computes, and takes it as from code that blocks.
template <class World>
struct interrupted : World {
  void run(unsigned thread) {
    if (thread == the_monitor) {
      this->ps[0].attention.fetch_or(thrum::sched::attention_preempt, std::memory_order_release);
      this->look_at(this->ps[0]);
    } else if (thread == the_other) {
      this->live_on_gifts();
    } else {
      this->perhaps_interrupted();
      this->section([this] {
        this->perhaps_interrupted();
        this->use();
      });
      this->perhaps_interrupted();
      this->section([this] { this->use(); });
      this->m_is_done = true;
    }
  }
};

// The monitor plans two sleeps while a goroutine queues up.
template <mistake Made>
struct returner {
  static constexpr unsigned threads = 2;
  returner() { model::retaking::made = Made; }

  void run(unsigned thread) {
    if (thread != 0) {
      sleep.note_return(thrum::sched::traits::least_run_ns);
      return;
    }
    for (int i = 0; i != 2; ++i) {
      const bool too_soon = sleep.returns() != 0;
      sleep.plan(thrum::sched::traits::monitor_max_sleep_ns);
      is_noticed = Made == mistake::looks_before_plan ? too_soon : sleep.returns() != 0;
      if (i == 0) {
        sleep.end_plan();
      }
    }
  }
  void at_end() { require(is_noticed || sleep.sleep_for(0), "the monitor sleeps for long"); }

  thrum::sched::monitor_sleep sleep;
  bool is_noticed = false;
};

// Its rounds meanwhile, in which it asks a P to make room: in vain, as often as not.
template <mistake Made>
struct returner_in_rounds : returner<Made> {
  void run(unsigned thread) {
    if (thread == 0) {
      for (int i = 0; i != 3; ++i) {
        look();
      }
      return;
    }
    if (Made == mistake::counts_first) {
      this->sleep.note_return(thrum::sched::traits::least_run_ns);
    }
    is_queued.store(true, std::memory_order_seq_cst);
    if (Made != mistake::counts_first) {
      this->sleep.note_return(thrum::sched::traits::least_run_ns);
    }
  }
  void at_end() {
    look();
    require(!is_queued.load(std::memory_order_seq_cst) || returned.wait_for(this),
            "MS1, MS2: the monitor forgets one that waits");
  }
  void look() {
    returned.look(this->sleep.returns(),
                  [this] { return !is_queued.load(std::memory_order_seq_cst); });
    if (has_switched || Made == mistake::serves_by_asking) {
      has_switched = false;
      returned.serve(this);
    }
    if (returned.wait_for(this) && is_queued.load(std::memory_order_seq_cst)) {
      returned.ask(this);
      has_switched = model::explorer::active().choose(2) != 0;
      if (has_switched) {
        is_queued.store(false, std::memory_order_seq_cst);
      }
    }
  }

  thrum::sched::returned returned;
  thrum::sched::atomic<bool> is_queued{false};
  bool has_switched = false;
};

template <bool Membarrier = true>
using original = small_world<mistake::nothing, Membarrier>;
template <mistake Made, bool Membarrier = true>
using mutant = small_world<Made, Membarrier>;

}  // namespace

TEST_CASE("model: a P is taken from an M that blocks, or the M keeps it, never both") {
  for (const machine on : every_machine) {
    holds<caller<original<>>>({on, 3, 2});
    holds<caller<original<>, 2>>({on, 2, 2});
    holds<caller<original<false>>>({on, 3, 2});
  }
}

TEST_CASE("model: a thread that enters at once either has the P, or takes the slow path") {
  for (const machine on : every_machine) {
    holds<hasty<original<>>>({on, 3, 2});
    holds<hasty<original<>, 2>>({on, 2, 2});
    holds<hasty<original<false>>>({on, 3, 2});
  }
}

TEST_CASE("model: a request for a P that the M has left takes nothing from anybody") {
  for (const machine on : every_machine) {
    holds<changer<original<>>>({on, 3, 2});
    holds<changer<original<>, 2>>({on, 2, 2});
    holds<blocker<original<>>>({on, 3, 2});
    holds<eager_blocker<original<>>>({on, 3, 2});
  }
}

TEST_CASE(
    "model: an M that is interrupted gives up the P that it has, and waits for the one it lost") {
  for (const machine on : every_machine) {
    holds<interrupted<original<>>>({on, 2, 1});
    holds<interrupted<original<false>>>({on, 2, 1});
  }
}

TEST_CASE("model: the monitor never sleeps for long after a goroutine has found every P busy") {
  for (const machine on : every_machine) {
    holds<returner<mistake::nothing>>({on, 3, 2});
  }
  constexpr model::options on_weak{machine::weak, 3, 2};
  CHECK(found_out<returner<mistake::weak_plan>>(on_weak));
  CHECK(found_out<returner<mistake::weak_return>>(on_weak));
  CHECK(found_out<returner<mistake::looks_before_plan>>({machine::sequential, 3, 0}));
}

TEST_CASE("model: the monitor forgets no goroutine that waits after it has found every P busy") {
  for (const machine on : every_machine) {
    holds<returner_in_rounds<mistake::nothing>>({on, 3, 2});
  }
  CHECK(found_out<returner_in_rounds<mistake::counts_first>>({machine::sequential, 3, 0}));
  CHECK(found_out<returner_in_rounds<mistake::serves_by_asking>>({machine::sequential, 3, 0}));
}

// Not run by default: half a minute.
TEST_CASE("model: the hand-shake over a P holds with one preemption more", "[.long]") {
  holds<caller<original<>, 2>>({machine::weak, 4, 2});
  holds<changer<original<>, 2>>({machine::weak, 3, 2});
  holds<blocker<original<>>>({machine::weak, 4, 2});
  holds<interrupted<original<>>>({machine::weak, 3, 1});
}

TEST_CASE("model: each mutant of the hand-shake over a P is found out") {
  constexpr model::options on_tso{machine::tso, 3, 2};
  constexpr model::options on_weak{machine::weak, 3, 2};
  constexpr model::options on_any{machine::sequential, 3, 0};
  // Both halves of either pair of fences.
  CHECK(found_out<caller<mutant<mistake::no_heavy_fence>>>(on_tso));
  CHECK(found_out<caller<mutant<mistake::no_heavy_fence>>>(on_weak));
  CHECK(found_out<caller<mutant<mistake::no_light_fence>>>(on_any));
  CHECK(found_out<hasty<mutant<mistake::no_heavy_fence>>>(on_weak));
  CHECK(found_out<hasty<mutant<mistake::no_light_fence>>>(on_any));
  CHECK(found_out<interrupted<mutant<mistake::no_handler_fence>>>(on_any));
  CHECK(found_out<caller<mutant<mistake::no_heavy_fence, false>>>(on_tso));
  CHECK(found_out<caller<mutant<mistake::no_heavy_fence, false>>>(on_weak));
  CHECK(found_out<caller<mutant<mistake::no_light_fence, false>>>(on_tso));
  CHECK(found_out<caller<mutant<mistake::no_light_fence, false>>>(on_weak));
  CHECK(found_out<interrupted<mutant<mistake::no_handler_fence, false>>>(on_tso));
  // Orders.
  CHECK(found_out<changer<mutant<mistake::weak_leave>>>(on_weak));
  CHECK(found_out<changer<mutant<mistake::weak_look>>>(on_weak));
  CHECK(found_out<changer<mutant<mistake::weak_give_back>>>(on_weak));
  CHECK(found_out<changer<mutant<mistake::weak_request>, 2>>({machine::weak, 2, 2}));
  CHECK(found_out<caller<mutant<mistake::weak_take>>>(on_weak));
  CHECK(found_out<caller<mutant<mistake::weak_answer>>>(on_weak));
  CHECK(found_out<changer<mutant<mistake::weak_objection>>>(on_weak));
  // Steps.
  CHECK(found_out<caller<mutant<mistake::torn_decision>>>(on_any));
  CHECK(found_out<caller<mutant<mistake::torn_objection>>>(on_any));
  CHECK(found_out<changer<mutant<mistake::looks_not_inside>>>(on_any));
  CHECK(found_out<changer<mutant<mistake::looks_not_at_p>>>(on_any));
  CHECK(found_out<blocker<mutant<mistake::looks_not_at_p>>>(on_any));
  CHECK(found_out<eager_blocker<mutant<mistake::looks_not_at_p>>>(on_any));
  CHECK(found_out<changer<mutant<mistake::never_gives_back>>>(on_any));
  CHECK(found_out<changer<mutant<mistake::gives_back_as_none>>>(on_any));
  CHECK(found_out<caller<mutant<mistake::enters_blindly>>>(on_any));
  CHECK(found_out<hasty<mutant<mistake::enters_blindly>>>(on_any));
  CHECK(found_out<caller<mutant<mistake::waits_not>>>(on_any));
  CHECK(found_out<interrupted<mutant<mistake::handler_is_blind>>>(on_any));
  CHECK(found_out<interrupted<mutant<mistake::handler_cuts_in>>>(on_any));
}
