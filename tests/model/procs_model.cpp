// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The number of Ps falls, and rises again, while Ms run goroutines, search and go to sleep, in
// every interleaving within the bounds: when all rest, no work is left, and as many Ps idle as are
// wanted; the others are dead, and nobody searches them. Then the mutants.
//
// What runs is the scheduler's own code: set_procs and retire_p (procs.hpp), p_table.hpp, and what
// runs in idle_protocol_model.cpp. Here no P has a timer.

#include "model/support/items_of_work.hpp"
//
#include <thrum/detail/sched/core/p_table.hpp>
#include <thrum/detail/sched/core/procs.hpp>

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

enum class number { falls, falls_and_rises };

// M 0 holds P 0 and is about to go idle; M 1 holds the last P, which is one too many when the last
// thread has changed the number, and runs an item.
template <mistake Made, unsigned Procs, unsigned MostMs, number Changes>
struct changing_world : small_world<Made, Procs, 2, MostMs> {
  static constexpr unsigned setter = MostMs;
  static constexpr unsigned threads = MostMs + 1;
  static constexpr unsigned wanted = Changes == number::falls ? Procs - 1 : Procs;

  explicit changing_world(bool spinning) {
    model::finding::procs_change = true;
    model::finding::procs_wanted = Procs;
    this->hold(0, 0, spinning);
    for (unsigned i = 1; i != Procs - 1; ++i) {
      this->put_idle(i);
    }
    this->hold(1, Procs - 1, false);
  }

  void run(unsigned thread) {
    if (thread == setter) {
      static_cast<void>(this->scheduler.set_procs(Procs - 1));
      if (Changes == number::falls_and_rises) {
        static_cast<void>(this->scheduler.set_procs(Procs));
      }
    } else if (thread == 1) {
      run_goroutines(this->scheduler.ms[1], &this->submitted(1));
    } else {
      this->live(thread);
    }
  }

  void at_rest() {
    model::finding::made = none;  // what is looked at here is what there is
    this->rests_with(wanted);
    require(this->scheduler.ps.live() == wanted, "dead Ps are searched");
    for (unsigned i = 0; i != Procs; ++i) {
      const auto status = this->ps[i]->status.load(std::memory_order_relaxed);
      require((status == thrum::sched::p_status::dead) == (i >= wanted), "the wrong P is dead");
    }
  }
};

// The item makes another one ready and then keeps its P. Of three Ps: where one is wanted, nobody
// else has to run meanwhile.
template <mistake Made, number Changes, bool Spinning>
struct hog_on_surplus : changing_world<Made, 3, 4, Changes> {
  hog_on_surplus() : changing_world<Made, 3, 4, Changes>(Spinning) {}
  void runs(int item) override {
    if (item == 1) {
      this->submit(2);
      this->await(2);
    }
  }
};

// The same, but it ends: there may be work in the ring of the P that is laid down.
template <mistake Made, number Changes, bool Spinning, unsigned MostMs = 3>
struct work_on_surplus : changing_world<Made, 2, MostMs, Changes> {
  work_on_surplus() : changing_world<Made, 2, MostMs, Changes>(Spinning) {}
  void runs(int item) override {
    if (item == 1) {
      this->submit(2);
    }
  }
};

// One P at first, whose M runs an item that makes another one ready and then keeps the P; another M
// sleeps. Meanwhile the number rises to two.
template <mistake Made>
struct hog_before_rise : small_world<Made, 2, 2, 3> {
  static constexpr unsigned setter = 3;
  static constexpr unsigned threads = 4;

  hog_before_rise() {
    model::finding::procs_change = true;
    model::finding::procs_wanted = 2;
    this->hold(0, 0, false);
    this->put_idle(1);
    static_cast<void>(this->scheduler.set_procs(1));
    this->put_asleep(1);
  }
  void run(unsigned thread) {
    if (thread == setter) {
      static_cast<void>(this->scheduler.set_procs(2));
    } else if (thread == 0) {
      run_goroutines(this->scheduler.ms[0], &this->submitted(1));
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

}  // namespace

TEST_CASE("model: what is made ready on the only P is run by the one that comes at that moment") {
  holds<hog_before_rise<none>>({machine::sequential, 2, 0});
  holds<hog_before_rise<none>>({machine::tso, 1, 1});
}

TEST_CASE("model: work behind a hog is run, though the hog's P is one too many") {
  holds<hog_on_surplus<none, number::falls, false>>({machine::sequential, 1, 0});
}

TEST_CASE("model: a P that is laid down leaves no work behind") {
  holds<work_on_surplus<none, number::falls, false>>({machine::sequential, 2, 0});
  holds<work_on_surplus<none, number::falls, true>>({machine::tso, 1, 1});
  holds<work_on_surplus<none, number::falls, false>>({machine::weak, 1, 1});
}

TEST_CASE("model: a P stays in service if the number of Ps rises before it is laid down") {
  holds<work_on_surplus<none, number::falls_and_rises, false>>({machine::sequential, 1, 0});
  holds<work_on_surplus<none, number::falls_and_rises, true>>({machine::weak, 1, 1});
}

// Not run by default: some minutes.
TEST_CASE("model: the number of Ps changes, within wider bounds", "[.long]") {
  holds<hog_on_surplus<none, number::falls, true>>({machine::weak, 1, 1});
  holds<hog_on_surplus<none, number::falls_and_rises, false>>({machine::sequential, 1, 0});
  holds<work_on_surplus<none, number::falls, false>>({machine::weak, 2, 1});
  holds<work_on_surplus<none, number::falls_and_rises, false, 4>>({machine::sequential, 2, 0});
}

TEST_CASE("model: each mutant of the ways in which the number of Ps changes is found out") {
  constexpr model::options one{machine::sequential, 1, 0};
  constexpr model::options two{machine::sequential, 2, 0};
  CHECK(found_out<hog_on_surplus<mistake::surplus_is_not_searched, number::falls, false>>(one));
  CHECK(found_out<hog_before_rise<mistake::rise_is_not_fenced>>({machine::tso, 2, 3}));
  CHECK(found_out<work_on_surplus<mistake::surplus_p_idles, number::falls, false>>(two));
  CHECK(found_out<work_on_surplus<mistake::retires_in_silence, number::falls, false>>(two));
  CHECK(
      found_out<work_on_surplus<mistake::number_is_not_seen_again, number::falls_and_rises, false>>(
          two));
}
