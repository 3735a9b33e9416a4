// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The system refuses threads, in every interleaving within the bounds: a P that was meant for one
// goes to an M that would sleep, as soon as there is one, and to a thread that is granted later.
// When all rest, no work is left and no P is held back. Then the mutants.
//
// What runs is the scheduler's own code, as in idle_protocol_model.cpp, with take_back and
// release_held. The creator's thread does here what it does in thread_creator_work.hpp, one step after
// the other. No time passes: it tries again at once, or never.

#include "model/support/items_of_work.hpp"
//
#include <thrum/detail/sched/thread/thread_table.hpp>
#include <thrum/detail/sched/thread/threads.hpp>

#include "model/support/checks.hpp"
#include "support/catch.hpp"

namespace {

using model::found_out;
using model::holds;
using model::machine;
using model::require;
using model::finding::mistake;
using model::finding::small_world;

constexpr mistake none = mistake::nothing;

enum class system { refuses_for_ever, grants_the_next };

// The thread behind those of the Ms is the creator's.
template <mistake Made, system System, unsigned Procs, unsigned Ms, unsigned MostMs>
struct refusing_world : small_world<Made, Procs, Ms, MostMs> {
  static constexpr unsigned creator = MostMs;
  static constexpr unsigned threads = MostMs + 1;

  refusing_world() { this->scheduler.creator.has_thread = true; }

  void run(unsigned thread) {
    if (thread == creator) {
      create();
    } else {
      this->live(thread);
    }
  }
  void create() {
    auto& shared = this->scheduler;
    while (is_time_to_retry() || shared.creator.wait()) {
      if (is_to_retry) {
        const bool again = is_time_to_retry();
        is_to_retry = !again;
        shared.release_held(again);
      }
      for (auto* m = shared.creator.take_requests(); m != nullptr;) {
        auto* const next = static_cast<thrum::sched::machine*>(m->idle_next);
        start(*m);
        m = next;
      }
    }
  }
  void start(thrum::sched::machine& m) {
    if (System == system::grants_the_next && refused != 0) {
      this->scheduler.creator.begin(m);
      return;
    }
    ++refused;
    is_to_retry = true;
    this->scheduler.take_back(m);
  }
  bool is_time_to_retry() const { return System == system::grants_the_next && is_to_retry; }

  void at_rest() {
    require(!this->scheduler.ms.holds_back(), "everybody sleeps and a P is held back");
    small_world<Made, Procs, Ms, MostMs>::at_rest();
  }

  int refused = 0;
  bool is_to_retry = false;
};

// M 0 runs an item that makes another one ready and then keeps its P; M 1 is about to go idle.
template <mistake Made, bool Spinning>
struct refused_beside_hog : refusing_world<Made, system::refuses_for_ever, 2, 2, 3> {
  refused_beside_hog() {
    this->hold(0, 0, false);
    this->put(0, 1);
    this->hold(1, 1, Spinning);
  }
  void runs(int item) override {
    if (item == 1) {
      this->submit(2);
      this->await(2);
    }
  }
};

// The same with a third P, which idles already: for an M that it might have, nobody searches.
template <mistake Made>
struct refused_beside_idle_p : refusing_world<Made, system::refuses_for_ever, 3, 2, 3> {
  refused_beside_idle_p() {
    this->hold(0, 0, false);
    this->put(0, 1);
    this->put_idle(1);
    this->hold(1, 2, false);
  }
  void runs(int item) override {
    if (item == 1) {
      this->submit(2);
      this->await(2);
    }
  }
};

// The same as the first, with a timer that is not due: the M that goes idle sleeps in the poller.
template <mistake Made>
struct refused_beside_poller : refused_beside_hog<Made, false> {
  refused_beside_poller() {
    model::finding::has_timers = true;
    this->ps[1]->timers.add(undue, 100);
  }
  thrum::sched::basic_timer<thrum::sched::traits> undue;
};

// The same with nobody but M 0: the other item waits until a thread is granted.
template <mistake Made>
struct granted_to_hog : refusing_world<Made, system::grants_the_next, 2, 1, 2> {
  granted_to_hog() {
    this->hold(0, 0, false);
    this->put(0, 1);
    this->put_idle(1);
  }
  void runs(int item) override {
    if (item == 1) {
      this->submit(2);
      this->await(2);
    }
  }
};

// The same with a third P: the one for which a thread was refused is laid down when another is
// granted, as nothing is left on it.
template <mistake Made>
struct granted_beside_idle_p : refusing_world<Made, system::grants_the_next, 3, 1, 3> {
  granted_beside_idle_p() {
    this->hold(0, 0, false);
    this->put(0, 1);
    this->put_idle(1);
    this->put_idle(2);
  }
  void runs(int item) override {
    if (item == 1) {
      this->submit(2);
      this->await(2);
    }
  }
};

// The thread of the P that a monitor hands on, with an item in its ring, is refused.
template <mistake Made>
struct refused_at_hand_off : refusing_world<Made, system::refuses_for_ever, 2, 1, 2> {
  static constexpr unsigned monitor = 3;
  static constexpr unsigned threads = 4;
  refused_at_hand_off() {
    this->hold(0, 0, false);
    this->put(0, 1);
    this->put(1, 2);
  }
  void run(unsigned thread) {
    if (thread == monitor) {
      this->scheduler.hand_off(*this->ps[1]);
    } else {
      refusing_world<Made, system::refuses_for_ever, 2, 1, 2>::run(thread);
    }
  }
};

}  // namespace

TEST_CASE("model: work behind a hog is run by an M that idles, where the system refuses another") {
  holds<refused_beside_hog<none, false>>({machine::sequential, 2, 0});
  holds<refused_beside_hog<none, true>>({machine::sequential, 2, 0});
  holds<refused_beside_hog<none, false>>({machine::weak, 1, 1});
  holds<refused_beside_idle_p<none>>({machine::sequential, 2, 0});
}

TEST_CASE("model: work behind a hog is run by an M that was about to sleep in the poller") {
  holds<refused_beside_poller<none>>({machine::sequential, 2, 0});
  holds<refused_beside_poller<none>>({machine::tso, 1, 1});
}

TEST_CASE("model: work behind a hog is run by a thread that is granted later") {
  holds<granted_to_hog<none>>({machine::sequential, 2, 0});
  holds<granted_to_hog<none>>({machine::weak, 2, 1});
  holds<granted_beside_idle_p<none>>({machine::sequential, 1, 0});
}

TEST_CASE("model: what a P that is handed on has in its ring is run, though no thread is granted") {
  holds<refused_at_hand_off<none>>({machine::sequential, 1, 0});
}

// Not run by default: some minutes.
TEST_CASE("model: a refused thread leaves no work, with one preemption more", "[.long]") {
  holds<refused_beside_hog<none, false>>({machine::sequential, 3, 0});
  holds<refused_beside_hog<none, true>>({machine::weak, 2, 1});
  holds<granted_to_hog<none>>({machine::weak, 3, 1});
  holds<refused_at_hand_off<none>>({machine::weak, 1, 1});
}

TEST_CASE("model: each mutant of the ways that a P which is held back is offered is found out") {
  constexpr model::options on_any{machine::sequential, 2, 0};
  CHECK(found_out<refused_beside_hog<mistake::refused_is_not_offered, false>>(on_any));
  CHECK(found_out<refused_at_hand_off<mistake::idle_is_not_offered>>(on_any));
}
