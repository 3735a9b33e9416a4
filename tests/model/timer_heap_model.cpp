// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// sched/queue/timer_heap.hpp with one or two timers, in every interleaving within the bounds; then
// its mutants, each of which must be found out.

#include "model/support/assertions.hpp"

#include <thrum/detail/sched/queue/timer_heap.hpp>

#include "model/support/checks.hpp"
#include "model/support/model_traits.hpp"
#include "model/support/objects.hpp"
#include "support/catch.hpp"

#include <cstdint>

namespace {

using model::holds;
using model::machine;
using model::mutation;
using model::require;

// A heap, and a timer whose owner is thread 0. Each time it is armed it must either fire once or be
// removed by one caller.
template <class Traits>
struct scene {
  using heap = thrum::sched::timer_heap<Traits>;

  struct timer : thrum::sched::basic_timer<Traits> {
    model::cell<int> armed{0};  // plain: written by the owner before it arms
    model::cell<int> fired{0};  // plain: written by the function
    timer() {
      this->fire = [](thrum::sched::basic_timer<Traits>& base, bool) noexcept {
        auto& self = static_cast<timer&>(base);
        require(self.armed > self.fired, "a timer fired that was not armed");
        self.fired = self.fired + 1;
      };
    }
  };

  void arm(heap& where, std::int64_t when) {
    t.armed = t.armed + 1;
    where.add(t, when);
  }

  /// By the owner. What the function did is seen once this has returned.
  void disarm() {
    if (heap::remove(t)) {
      removed_by_owner = removed_by_owner + 1;
    } else {
      require(t.fired + removed_by_owner + (others_may_remove ? 1 : 0) >= t.armed,
              "a timer was neither removed nor had it fired");
    }
  }

  void at_end() {
    first.run_due(1'000);
    second.run_due(1'000);
    require(t.fired + removed_by_owner + removed_by_other == t.armed,
            "an armed timer was lost, or ended twice");
    require(first.size() + second.size() == 0, "an entry is left over");
    require(first.earliest() == heap::never && second.earliest() == heap::never,
            "an empty heap has an earliest timer");
  }

  timer t;
  heap first;
  heap second;
  model::cell<int> removed_by_owner{0};
  model::cell<int> removed_by_other{0};
  bool others_may_remove = false;
};

// The next time is later than the entry that is left, and another thread runs the heap meanwhile.
template <class Traits = model::traits>
struct armed_for_later : scene<Traits> {
  static constexpr unsigned threads = 2;
  void run(unsigned thread) {
    if (thread == 0) {
      this->arm(this->first, 10);
      this->disarm();
      this->arm(this->first, 20);
      this->disarm();
    } else {
      this->first.run_due(15);
      this->first.run_due(25);
    }
  }
};

// The next time is earlier, and the timer is armed from another heap's processor.
template <class Traits = model::traits>
struct armed_for_earlier : scene<Traits> {
  static constexpr unsigned threads = 2;
  void run(unsigned thread) {
    if (thread == 0) {
      this->arm(this->first, 20);
      this->disarm();
      this->arm(this->second, 5);
      this->disarm();
    } else {
      this->first.run_due(10);
      this->first.run_due(30);
      this->second.run_due(30);
    }
  }
};

// Two threads want to stop it while a third runs it: the owner, and one that ends its runtime.
template <class Traits = model::traits>
struct removed_by_two : scene<Traits> {
  static constexpr unsigned threads = 3;
  using heap = typename scene<Traits>::heap;
  removed_by_two() {
    this->others_may_remove = true;
    this->arm(this->first, 10);
  }
  void run(unsigned thread) {
    switch (thread) {
      case 0: this->disarm(); break;
      case 1:
        if (heap::remove(this->t)) {
          this->removed_by_other = this->removed_by_other + 1;
        }
        break;
      default: this->first.run_due(10);
    }
  }
};

// The heap is emptied into another one meanwhile.
template <class Traits = model::traits>
struct moved_meanwhile : scene<Traits> {
  static constexpr unsigned threads = 2;
  void run(unsigned thread) {
    if (thread == 0) {
      this->arm(this->second, 10);
      this->disarm();
      this->arm(this->second, 5);
      this->disarm();
    } else {
      this->first.take_all(this->second);
      this->first.run_due(10);
    }
  }
};

// The timer's memory goes after detach.
template <class Traits = model::traits>
struct detached : scene<Traits> {
  static constexpr unsigned threads = 2;
  using heap = typename scene<Traits>::heap;
  void run(unsigned thread) {
    if (thread == 0) {
      this->arm(this->first, 10);
      this->disarm();
      this->arm(this->first, 20);
      if (heap::detach(this->t)) {
        this->removed_by_owner = this->removed_by_owner + 1;
      }
      require(this->first.size() == 0, "a heap refers to a timer that was detached");
    } else {
      this->first.run_due(15);
      this->first.run_due(25);
    }
  }
};

template <template <class> class Model>
void holds_on_every_machine(unsigned preemptions, unsigned stale_reads) {
  holds<Model<model::traits>>({machine::sequential, preemptions + 1, 0});
  holds<Model<model::traits>>({machine::tso, preemptions, stale_reads});
  holds<Model<model::traits>>({machine::weak, preemptions, stale_reads});
}

template <template <class> class Model, mutation Mistake>
bool found_out(machine on) {
  return model::found_out<Model<model::mutant_traits<Mistake>>>({on, 3, 2});
}

}  // namespace

TEST_CASE("model: a timer that is armed again for later fires or is removed, once each time") {
  holds_on_every_machine<armed_for_later>(3, 2);
}

TEST_CASE("model: a timer that is armed again for earlier fires or is removed, once each time") {
  holds_on_every_machine<armed_for_earlier>(3, 2);
}

TEST_CASE("model: of two threads that remove a timer and one that fires it, one succeeds") {
  holds_on_every_machine<removed_by_two>(3, 2);
}

TEST_CASE("model: a timer fires or is removed, once, while its entry moves to another heap") {
  holds_on_every_machine<moved_meanwhile>(3, 2);
}

TEST_CASE("model: no heap refers to a timer that was detached") {
  holds_on_every_machine<detached>(3, 2);
}

TEST_CASE("model: the mutants of the timer heap are found out") {
  CHECK(found_out<armed_for_later, mutation::torn_cas>(machine::sequential));
  CHECK(found_out<removed_by_two, mutation::torn_cas>(machine::sequential));
  CHECK(found_out<armed_for_later, mutation::relaxed_cas>(machine::weak));
  CHECK(found_out<armed_for_later, mutation::relaxed_store>(machine::weak));
  CHECK(found_out<armed_for_later, mutation::relaxed_load>(machine::weak));
}
