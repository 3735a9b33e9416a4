// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// sched/fork/fork_deque.hpp with a ring of 4, in every interleaving within the bounds; then its
// mutants, each of which must be found out.

#include "model/support/assertions.hpp"

#include <thrum/detail/sched/fork/fork_deque.hpp>

#include "model/support/checks.hpp"
#include "model/support/model_traits.hpp"
#include "model/support/objects.hpp"
#include "support/catch.hpp"

#include <atomic>
#include <cstdint>

namespace {

using model::holds;
using model::machine;
using model::mutation;
using model::require;

struct half {
  model::cell<int> put{0};     // plain: the deque must publish it to the thread that takes the half
  model::cell<int> taken{0};   // plain: only one may take it
  model::cell<int> stolen{0};  // plain: the lock must show it to the owner
};

// The deque of one owner (thread 0), which takes back what it has added, newest first, and the
// thieves. Every half is taken once.
template <class Traits>
struct scene {
  using list_type = thrum::sched::fork_list<half, Traits>;
  using deque_type = thrum::sched::fork_deque<half, Traits>;

  scene() { list.add(deque); }

  void take(half& one) {
    require(one.put == 1, "a half was taken that nobody put in");
    one.taken = one.taken + 1;
    require(one.taken == 1, "a half was taken twice");
  }
  void push(int i) {
    halves[i].put = 1;
    require(deque.push(halves[i]), "there is no room");
  }
  void take_back(int i) {
    if (deque.pop() || deque.pop_slow()) {
      take(halves[i]);
    } else {
      require(halves[i].stolen == 1, "the owner does not see who has stolen a half");
    }
  }
  void steal() {
    if (half* const one = list.steal([](half& taken) { taken.stolen = 1; })) {
      take(*one);
    }
  }

  void at_end() {
    require(!list.has_work(), "an empty deque says that it has work");
    for (half& one : halves) {
      require(one.taken == one.put, "a half is lost");
    }
  }

  half halves[6];
  list_type list;
  deque_type deque{list};
};

template <class Traits = model::traits>
struct last_entry : scene<Traits> {
  static constexpr unsigned threads = 2;
  void run(unsigned thread) {
    if (thread == 0) {
      this->push(0);
      this->take_back(0);
    } else {
      this->steal();
    }
  }
};

// The owner fills the slot that a thief is about to read.
template <class Traits = model::traits>
struct slot_is_filled_again : scene<Traits> {
  static constexpr unsigned threads = 2;
  void run(unsigned thread) {
    if (thread == 0) {
      this->push(0);
      this->take_back(0);
      this->push(1);
      this->take_back(1);
    } else {
      this->steal();
      this->steal();
    }
  }
};

template <class Traits = model::traits>
struct nested_forks : scene<Traits> {
  static constexpr unsigned threads = 2;
  void run(unsigned thread) {
    if (thread == 0) {
      this->push(0);
      this->push(1);
      this->take_back(1);
      this->take_back(0);
    } else {
      this->steal();
      this->steal();
    }
  }
};

// The ring is full, and goes round as far as the thief gives room.
template <class Traits = model::traits>
struct ring_goes_round : scene<Traits> {
  static constexpr unsigned threads = 2;
  ring_goes_round() {
    for (int i = 0; i != 3; ++i) {
      this->push(i);
    }
  }
  void run(unsigned thread) {
    if (thread == 0) {
      int n = 3;
      for (; n != 5; ++n) {
        this->halves[n].put = 1;
        if (!this->deque.push(this->halves[n])) {
          this->halves[n].put = 0;
          break;
        }
      }
      while (n != 0) {
        this->take_back(--n);
      }
    } else {
      this->steal();
      this->steal();
    }
  }
};

template <class Traits = model::traits>
struct two_thieves : scene<Traits> {
  static constexpr unsigned threads = 3;
  void run(unsigned thread) {
    if (thread == 0) {
      this->push(0);
      this->push(1);
      this->take_back(1);
      this->take_back(0);
    } else {
      this->steal();
    }
  }
};

// The owner's stack frame is gone when it has left the list.
template <class Traits = model::traits>
struct owner_leaves : scene<Traits> {
  static constexpr unsigned threads = 2;
  void run(unsigned thread) {
    if (thread == 0) {
      this->push(0);
      this->take_back(0);
      this->list.remove(this->deque);
      gone = 1;
    } else if (half* const one = this->list.steal([this](half& taken) {
                 taken.stolen = 1;
                 require(gone == 0, "a thief looks at a deque that has left");
               })) {
      this->take(*one);
    }
  }
  model::cell<int> gone{0};
};

// A thief that is done with one half forks for the next one. Who waits for the first looks whether it
// is done, and again when it has claimed an entry: it wants no part of another half.
template <class Traits, bool LooksAgain>
struct thief_and_helper : scene<Traits> {
  static constexpr unsigned threads = 2;
  void run(unsigned thread) {
    if (thread == 0) {
      this->push(0);
      this->take_back(0);
      done.store(1, std::memory_order_relaxed);
      this->push(1);
      this->take_back(1);
      return;
    }
    const auto is_part = [this] { return done.load(std::memory_order_relaxed) == 0; };
    half* part = nullptr;
    {
      const thrum::sched::scoped guard(this->list.lock());
      if (is_part()) {
        part = this->deque.steal_locked([&] { return !LooksAgain || is_part(); });
      }
      if (part != nullptr) {
        part->stolen = 1;
      }
    }
    if (part != nullptr) {
      this->take(*part);
      require(part == &this->halves[0], "a part of another half was taken");
    }
  }
  typename Traits::template atomic<int> done{0};
};
template <class Traits = model::traits>
struct thief_goes_on : thief_and_helper<Traits, true> {};

// A walk that finds nothing puts the deque aside while the owner pushes: one of the two sees it.
struct walking_traits : model::traits {
  static constexpr std::uint32_t fork_walk = 1;
};
struct unfenced_traits : walking_traits {
  static void heavy_fence() noexcept {}
};

template <class Traits>
struct put_aside_in : scene<Traits> {
  static constexpr unsigned threads = 2;
  void run(unsigned thread) {
    if (thread == 1) {
      static_cast<void>(this->list.has_work());
      return;
    }
    for (int i = 0; i != 2; ++i) {
      this->push(i);
      if (this->deque.is_aside()) {
        this->list.list_again(this->deque);
      }
      require(this->list.has_work(), "a half is where nobody looks");
      this->take_back(i);
    }
  }
};
template <class>
struct put_aside : put_aside_in<walking_traits> {};

// Who finds nothing, perhaps without the lock, sees what a thief has done with the last half. The thief's walk
// has put all deques aside, or the owner has left.
template <class Traits>
struct last_half_is_gone : scene<Traits> {
  static constexpr unsigned threads = 3;
  last_half_is_gone() {
    this->list.remove(this->deque);
    this->list.add(empty);  // the first on the walk
    this->list.add(this->deque);
    this->push(0);
  }
  void run(unsigned thread) {
    if (thread == 0) {
      this->take_back(0);
      this->list.remove(this->deque);
      this->list.remove(empty);
    } else if (thread == 1) {
      if (half* const one = this->list.steal([this](half& taken) {
            taken.stolen = 1;
            known.store(1, std::memory_order_relaxed);
          })) {
        this->take(*one);
      }
    } else if (!this->list.has_work()) {
      missed = known.load(std::memory_order_relaxed) == 0 ? 1 : 0;
    }
  }
  void at_end() {
    scene<Traits>::at_end();
    require(missed == 0 || this->halves[0].stolen == 0,
            "a half was gone, and it did not show who had it");
  }
  typename scene<Traits>::deque_type empty{this->list};
  typename Traits::template atomic<int> known{0};
  model::cell<int> missed{0};
};
template <class>
struct last_half_is_taken : last_half_is_gone<walking_traits> {};

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

TEST_CASE("model: the last half of a fork goes to its owner or to one thief") {
  holds_on_every_machine<last_entry>(6, 4);
}

TEST_CASE("model: a half that is put where a thief reaches for another goes to one of the two") {
  holds_on_every_machine<slot_is_filled_again>(5, 3);
}

TEST_CASE("model: of nested forks a thief takes the oldest, and the owner all others") {
  holds_on_every_machine<nested_forks>(5, 3);
}

TEST_CASE("model: a slot of a deque is not written while a thief reads it") {
  holds_on_every_machine<ring_goes_round>(4, 2);
}

TEST_CASE("model: two thieves and the owner take each half of a fork once") {
  holds_on_every_machine<two_thieves>(4, 2);
}

TEST_CASE("model: no thief looks at a deque that has left its list") {
  holds_on_every_machine<owner_leaves>(6, 3);
}

TEST_CASE("model: a goroutine that helps a thief takes no part of the thief's later work") {
  holds_on_every_machine<thief_goes_on>(5, 3);
  CHECK(model::found_out<thief_and_helper<model::traits, false>>({machine::sequential, 3, 0}));
}

TEST_CASE("model: a deque that is put aside while its owner pushes is listed") {
  holds_on_every_machine<put_aside>(4, 3);
  CHECK(model::found_out<put_aside_in<unfenced_traits>>({machine::tso, 3, 2}));
  CHECK(model::found_out<put_aside_in<unfenced_traits>>({machine::weak, 3, 2}));
}

TEST_CASE("model: an owner that finds no half sees what became of the last one") {
  holds_on_every_machine<last_half_is_gone>(3, 2);
  holds_on_every_machine<last_half_is_taken>(3, 1);
  CHECK(found_out<last_half_is_gone, mutation::relaxed_store>(machine::weak));
  CHECK(found_out<last_half_is_gone, mutation::relaxed_load>(machine::weak));
}

TEST_CASE("model: each mutant of the deque is found out") {
  CHECK(found_out<last_entry, mutation::release_acquire>(machine::weak));    // the last entry
  CHECK(found_out<last_entry, mutation::relaxed_store>(machine::weak));      // the slot
  CHECK(found_out<last_entry, mutation::relaxed_load>(machine::weak));       // the slot
  CHECK(found_out<nested_forks, mutation::release_acquire>(machine::weak));  // as the first
}
