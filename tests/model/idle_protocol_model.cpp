// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Ms that search for work and go to sleep, in every interleaving within the bounds: when all of
// them sleep, no work is left (ID3), and no M waits for a P while one idles. Then the mutants.
//
// What runs is the scheduler's own code: the life of an M (loop.hpp), find_work.hpp and what it
// asks, threads.hpp, ready.hpp, idle.hpp and the scheduler around them, on the Gs, Ms and Ps of
// support/find_work_parts.hpp. Here no goroutine has a timer; timer_wake_model.cpp is about those.

#include "model/support/items_of_work.hpp"
//
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/queue/global_queue.hpp>
#include <thrum/detail/sched/queue/idle.hpp>
#include <thrum/detail/sched/run/find_work.hpp>
#include <thrum/detail/sched/run/loop.hpp>
#include <thrum/detail/sched/run/ready.hpp>
#include <thrum/detail/sched/run/steal.hpp>
#include <thrum/detail/sched/run/take.hpp>
#include <thrum/detail/sched/thread/threads.hpp>

#include "model/support/checks.hpp"
#include "support/catch.hpp"

namespace {

using model::found_out;
using model::holds;
using model::machine;
using model::finding::mistake;
using model::finding::small_world;

// Two Ps, two Ms, one of which is searching, and a thread that is no M.
template <mistake Made, int Items, bool Spinning, bool Low = false, bool TwoSearch = false>
struct foreign_submitter : small_world<Made, 2, 2, 3> {
  static constexpr unsigned threads = 4;
  foreign_submitter() {
    if (TwoSearch) {
      this->let_two_search();
    }
    model::finding::uses_background = Low;
    this->hold(0, 0, Spinning);
    this->put_idle(1);
    this->put_asleep(1);
  }
  void run(unsigned thread) {
    if (thread == 3) {
      for (int i = 1; i <= Items; ++i) {
        Low ? this->submit_low(i) : this->submit(i);
      }
    } else {
      this->live(thread);
    }
  }
};

// M 0 runs an item that makes another one ready and then keeps its P; M 1 is about to go idle.
template <mistake Made, bool Spinning, bool Next = false, bool Low = false, bool TwoSearch = false>
struct hog : small_world<Made, 2, 2, 4> {
  static constexpr unsigned threads = 4;
  hog() {
    if (TwoSearch) {
      this->let_two_search();
    }
    model::finding::uses_runnext = Next;
    model::finding::uses_background = Low;
    this->hold(0, 0, false);
    this->put(0, 1);
    this->hold(1, 1, Spinning);
  }
  void run(unsigned thread) { this->live(thread); }
  void runs(int item) override {
    if (item == 1) {
      if (Next) {
        this->submit_next(2);
      } else if (Low) {
        this->submit_low(2);
      } else {
        this->submit(2);
      }
      this->await(2);
    }
  }
};

// M 0 runs an item that hands its P on through runnext and ends, so that a thief that looks at it leaves the
// runnext alone; the next item does so, too, but then keeps the P.
template <mistake Made, bool Spinning>
struct hog_behind_a_hand_off : small_world<Made, 2, 2, 4> {
  static constexpr unsigned threads = 4;
  hog_behind_a_hand_off() {
    model::finding::uses_runnext = true;
    this->hold(0, 0, false);
    this->put(0, 1);
    this->hold(1, 1, Spinning);
  }
  void run(unsigned thread) { this->live(thread); }
  void runs(int item) override {
    if (item == 1) {
      this->submit_next(2);
    } else if (item == 2) {
      this->submit_next(3);
      this->await(3);
    }
  }
};

// The same twice: what the first round leaves behind must not spoil the second.
template <mistake Made>
struct second_hog : small_world<Made, 2, 2, 4> {
  static constexpr unsigned threads = 4;
  second_hog() {
    this->hold(0, 0, false);
    this->put(0, 1);
    this->hold(1, 1, false);
  }
  void run(unsigned thread) { this->live(thread); }
  void runs(int item) override {
    if (item == 1) {
      this->submit(2);
    } else if (item == 2) {
      this->submit(3);
      this->await(3);
    }
  }
};

// Two hogs want a third M, which is about to go idle, to run what they made ready.
template <mistake Made, bool TwoSearch = false>
struct two_hogs : small_world<Made, 3, 3, 5> {
  static constexpr unsigned threads = 5;
  two_hogs() {
    if (TwoSearch) {
      this->let_two_search();
    }
    this->hold(0, 0, false);
    this->put(0, 1);
    this->hold(1, 1, true);
    this->hold(2, 2, false);
  }
  void run(unsigned thread) { this->live(thread); }
  void runs(int item) override {
    if (item == 1) {
      this->submit(2);
      this->await(3);
    } else if (item == 2) {
      this->submit(3);
      this->await(3);
    }
  }
};

// The spinner finds two items and only runs one; a third M sleeps.
template <mistake Made, bool TwoSearch = false>
struct burst : small_world<Made, 3, 3, 5> {
  static constexpr unsigned threads = 5;
  burst() {
    if (TwoSearch) {
      this->let_two_search();
    }
    this->hold(0, 0, false);
    this->put(0, 1);
    this->hold(1, 1, true);
    this->put_idle(2);
    this->put_asleep(2);
  }
  void run(unsigned thread) { this->live(thread); }
  void runs(int item) override {
    if (item == 1) {
      this->submit_behind(2);
      this->submit(3);
    }
    this->meet_all();
  }
};

// A hog, and the P of an M in a blocking call, which a monitor (the last thread) hands on.
template <mistake Made>
struct retaken : small_world<Made, 2, 2, 3> {
  static constexpr unsigned threads = 4;
  retaken() {
    this->put_asleep(1);
    this->hold(0, 0, false);
    this->put(0, 1);
  }
  void run(unsigned thread) {
    if (thread == 3) {
      this->scheduler.hand_off(*this->ps[1]);
    } else {
      this->live(thread);
    }
  }
  void runs(int item) override {
    if (item == 1) {
      this->submit(2);
      this->await(2);
    }
  }
};

// M 0 runs an item during which another one yields on its P, which it keeps; M 1 is about to go idle.
template <mistake Made, bool Spinning>
struct hog_behind_a_yield : small_world<Made, 2, 2, 4> {
  static constexpr unsigned threads = 4;
  hog_behind_a_yield() {
    model::finding::uses_yields = true;
    this->hold(0, 0, false);
    this->put(0, 1);
    this->hold(1, 1, Spinning);
  }
  void run(unsigned thread) { this->live(thread); }
  void runs(int item) override {
    if (item == 1) {
      this->submit_yielded(2);
      this->await(2);
    }
  }
};

// It is the global queue's turn on the P of M 0, and M 1 takes the one goroutine of that queue meanwhile.
template <mistake Made>
struct emptied_in_its_turn : small_world<Made, 2, 2, 4> {
  static constexpr unsigned threads = 4;
  emptied_in_its_turn() {
    model::finding::uses_yields = true;
    this->hold(0, 0, false);
    this->ps[0]->yielded.push_back_locked(this->submitted(1));
    this->ps[0]->global_is_next = true;
    this->scheduler.global.push_back(this->submitted(2));
    this->hold(1, 1, false);
  }
  void run(unsigned thread) { this->live(thread); }
};

// The yield leaves as many waiting as before, so it wakes no M: the one that searches finds what yielded last.
template <mistake Made, bool Naive = false>
struct yield_to_a_yielder : small_world<Made, 2, 2, 4> {
  static constexpr unsigned threads = 4;
  yield_to_a_yielder() {
    model::finding::uses_yields = true;
    this->hold(0, 0, false);
    this->put(0, 1);
    auto& yielded = this->ps[0]->yielded;
    yielded.push_back_locked(this->submitted(2));
    this->hold(1, 1, true);
  }
  void run(unsigned thread) { this->live(thread); }
  void runs(int item) override {
    if (item != 1) {
      return;
    }
    int next = -1;
    if (Naive) {
      auto& yielded = this->ps[0]->yielded;
      if (auto* const g = yielded.pop()) {
        next = this->number(*g);
        yielded.lock().lock();
        yielded.push_back_locked(this->submitted(3));
        yielded.lock().unlock();
      }
    } else {
      next = this->exchange_yielded(3);
    }
    if (next != -1) {
      ++this->ended[next];
      this->await(3);
    }
  }
};

constexpr mistake none = mistake::nothing;

}  // namespace

TEST_CASE("model: work from outside is found by the M that goes idle or by one that is woken") {
  holds<foreign_submitter<none, 1, true>>({machine::weak, 2, 1});
  holds<foreign_submitter<none, 1, false>>({machine::weak, 2, 1});
  holds<foreign_submitter<none, 2, true>>({machine::sequential, 2, 0});
}

TEST_CASE("model: work behind a hog is run by an M that was about to go idle") {
  for (const machine on : {machine::tso, machine::weak}) {
    holds<hog<none, true>>({on, 2, 1});
    holds<hog<none, false>>({on, 2, 1});
  }
  holds<hog<none, true, true>>({machine::weak, 2, 1});
}

TEST_CASE("model: work behind a second hog is run as behind the first") {
  holds<second_hog<none>>({machine::sequential, 2, 0});
  holds<second_hog<none>>({machine::weak, 1, 2});
}

TEST_CASE("model: two hogs are served by an M that was about to go idle") {
  holds<two_hogs<none>>({machine::sequential, 1, 0});
  holds<two_hogs<none>>({machine::tso, 1, 1});
}

TEST_CASE("model: a spinner that finds work leaves a successor") {
  holds<burst<none>>({machine::sequential, 1, 0});
  holds<burst<none>>({machine::tso, 1, 1});
}

TEST_CASE("model: a P that is handed on serves a hog") {
  holds<retaken<none>>({machine::sequential, 2, 0});
  holds<retaken<none>>({machine::weak, 1, 1});
}

TEST_CASE("model: nothing is left behind where a submitter wakes a second searcher") {
  holds<foreign_submitter<none, 1, true, false, true>>({machine::weak, 2, 1});
  holds<foreign_submitter<none, 2, true, false, true>>({machine::sequential, 2, 0});
  for (const machine on : {machine::tso, machine::weak}) {
    holds<hog<none, true, false, false, true>>({on, 2, 1});
    holds<hog<none, false, false, false, true>>({on, 2, 1});
  }
  holds<two_hogs<none, true>>({machine::sequential, 1, 0});
  holds<burst<none, true>>({machine::sequential, 1, 0});
  constexpr model::options on_any{machine::sequential, 2, 0};
  CHECK(found_out<hog<mistake::looks_not_again, true, false, false, true>>(on_any));
  CHECK(found_out<burst<mistake::no_successor, true>>(on_any));
}

TEST_CASE("model: no P idles while work of background priority waits") {
  holds<foreign_submitter<none, 1, true, true>>({machine::weak, 2, 1});
  holds<foreign_submitter<none, 1, false, true>>({machine::weak, 2, 1});
  for (const machine on : {machine::tso, machine::weak}) {
    holds<hog<none, true, false, true>>({on, 2, 1});
    holds<hog<none, false, false, true>>({on, 2, 1});
  }
}

TEST_CASE(
    "model: a thief that leaves a runnext alone comes back for the one that waits behind a hog") {
  for (const machine on : {machine::tso, machine::weak}) {
    holds<hog_behind_a_hand_off<none, true>>({on, 1, 1});
    holds<hog_behind_a_hand_off<none, false>>({on, 1, 1});
  }
  holds<hog_behind_a_hand_off<none, true>>({machine::sequential, 2, 0});
  constexpr model::options on_any{machine::sequential, 2, 0};
  CHECK(found_out<hog_behind_a_hand_off<mistake::looks_not_again, true>>(on_any));
  CHECK(found_out<hog_behind_a_hand_off<mistake::refused_once_and_for_all, true>>(on_any));
}

TEST_CASE("model: a goroutine that yielded behind a hog is run by an M that was about to go idle") {
  for (const machine on : {machine::tso, machine::weak}) {
    holds<hog_behind_a_yield<none, true>>({on, 2, 1});
    holds<hog_behind_a_yield<none, false>>({on, 2, 1});
  }
  CHECK(found_out<hog_behind_a_yield<mistake::no_fence_at_submit, true>>({machine::weak, 2, 1}));
  CHECK(found_out<hog_behind_a_yield<mistake::looks_not_again, true>>({machine::sequential, 2, 0}));
}

TEST_CASE(
    "model: a yield to another that yielded needs no wake-up, as the queue is empty at no time") {
  for (const machine on : {machine::tso, machine::weak}) {
    holds<yield_to_a_yielder<none>>({on, 2, 1});
  }
  CHECK(found_out<yield_to_a_yielder<none, true>>({machine::sequential, 2, 0}));
}

TEST_CASE(
    "model: no P idles with a goroutine that yielded when another P empties the global queue") {
  for (const machine on : {machine::tso, machine::weak}) {
    holds<emptied_in_its_turn<none>>({on, 2, 1});
  }
}

// Not run by default: some minutes.
TEST_CASE("model: the idle protocol holds with one preemption more", "[.long]") {
  holds<foreign_submitter<none, 1, false>>({machine::sequential, 3, 0});
  holds<foreign_submitter<none, 2, true>>({machine::weak, 2, 2});
  holds<hog<none, true>>({machine::weak, 3, 1});
  holds<hog<none, false>>({machine::tso, 3, 1});
  holds<second_hog<none>>({machine::weak, 2, 2});
  holds<two_hogs<none>>({machine::sequential, 2, 0});
  holds<burst<none>>({machine::sequential, 2, 0});
  holds<retaken<none>>({machine::weak, 2, 1});
}

TEST_CASE("model: each mutant of the idle protocol is found out") {
  constexpr model::options on_any{machine::sequential, 2, 0};
  constexpr model::options on_tso{machine::tso, 2, 1};
  constexpr model::options on_weak{machine::weak, 2, 1};
  CHECK(found_out<hog<mistake::no_fence, true>>(on_tso));
  CHECK(found_out<hog<mistake::no_fence, true>>(on_weak));
  CHECK(found_out<hog<mistake::no_fence_at_end, true>>(on_weak));
  CHECK(found_out<hog<mistake::no_fence_at_submit, true>>(on_tso));
  CHECK(found_out<hog<mistake::no_fence_at_submit, true>>(on_weak));
  CHECK(found_out<hog<mistake::release_acquire, true, true>>(on_weak));
  CHECK(found_out<hog<mistake::looks_not_again, true>>(on_any));
  CHECK(found_out<hog<mistake::looks_not_again, true, false, true>>(on_any));
  CHECK(found_out<hog<mistake::wanted_is_ignored, false>>(on_any));
  CHECK(found_out<hog<mistake::wanted_is_ignored, false, false, true>>(on_any));
  CHECK(found_out<second_hog<mistake::wanted_while_spinning>>(on_any));
  CHECK(found_out<retaken<mistake::wanted_at_hand_off>>(on_any));
  CHECK(found_out<burst<mistake::no_successor>>(on_any));
}
