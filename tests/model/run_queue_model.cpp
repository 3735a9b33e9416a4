// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// sched/queue/run_queue.hpp with a ring of 4, in every interleaving within the bounds; then its
// mutants, each of which must be found out.

#include "model/support/assertions.hpp"

#include <thrum/detail/sched/queue/run_queue.hpp>

#include "model/support/checks.hpp"
#include "model/support/model_traits.hpp"
#include "model/support/objects.hpp"
#include "support/catch.hpp"

namespace {

using model::holds;
using model::machine;
using model::mutation;
using model::require;

struct item {
  item* queue_next = nullptr;
  model::cell<int> put{0};    // plain: the queue must publish it to the thread that takes the item
  model::cell<int> taken{0};  // plain: only one may take it
};

// The queue of one owner (thread 0), those of two thieves, and items that come out once each.
template <class Traits>
struct scene {
  using queue_type = thrum::sched::run_queue<item, Traits>;
  using batch = thrum::base::intrusive_queue<item>;

  void take(item* g) {
    if (g != nullptr) {
      require(g->put == 1, "an item came out that nobody put in");
      g->taken = g->taken + 1;
      require(g->taken == 1, "an item came out twice");
    }
  }
  void take_all(batch all) {
    while (item* g = all.pop_front()) {
      take(g);
    }
  }
  item* fresh(int i) {
    items[i].put = items[i].put + 1;
    return &items[i];
  }
  void push(int i) { take_all(queue.push(fresh(i))); }
  void push_next(int i) {
    if (item* old = queue.exchange_runnext(fresh(i))) {
      take_all(queue.push(old));
    }
  }
  void pop() { take(queue.pop()); }
  void run_next() {
    item* g = queue.take_runnext();
    take(g != nullptr ? g : queue.pop());
  }
  void steal(queue_type& thief, bool runnext) {
    take(queue.steal_half_into(thief, [=] {
      model::explorer::active().point();
      return runnext;
    }));
  }

  // What is left is taken out too; then nothing is lost.
  void at_end() {
    take_all(queue.drain());
    take_all(first_thief.drain());
    take_all(second_thief.drain());
    for (item& g : items) {
      require(g.taken == g.put, "an item is lost");
    }
  }

  struct name {
    explicit name(const char* text) { model::name_atomics(text); }
  };
  item items[8];
  name queue_name{"queue"};  // .0 head, .1 tail, .2 runnext, .3 the first slot
  queue_type queue;
  name first_name{"first"};
  queue_type first_thief;
  name second_name{"second"};
  queue_type second_thief;
};

template <class Traits = model::traits>
struct pops_and_steals : scene<Traits> {
  static constexpr unsigned threads = 2;
  pops_and_steals() {
    for (int i = 0; i != 3; ++i) {
      this->push(i);
    }
  }
  void run(unsigned thread) {
    if (thread == 0) {
      this->pop();
      this->pop();
    } else {
      this->steal(this->first_thief, false);
      this->take(this->first_thief.pop());
    }
  }
};

template <class Traits = model::traits>
struct pushes_and_steals : scene<Traits> {
  static constexpr unsigned threads = 2;
  void run(unsigned thread) {
    if (thread == 0) {
      this->push(0);
      this->push(1);
      this->pop();
      this->push(2);
    } else {
      this->steal(this->first_thief, false);
      this->steal(this->first_thief, false);
    }
  }
};

// A full ring: the owner gives slots back and fills them again under the thief's hands.
template <class Traits = model::traits>
struct slots_are_reused : scene<Traits> {
  static constexpr unsigned threads = 2;
  slots_are_reused() {
    for (int i = 0; i != 4; ++i) {
      this->push(i);
    }
  }
  void run(unsigned thread) {
    if (thread == 0) {
      this->pop();
      this->push(4);
      this->pop();
      this->push(5);
    } else {
      this->steal(this->first_thief, false);
      this->take(this->first_thief.pop());
    }
  }
};

// The thief gives slots back, and the owner fills them.
template <class Traits = model::traits>
struct owner_refills : scene<Traits> {
  static constexpr unsigned threads = 2;
  owner_refills() {
    for (int i = 0; i != 4; ++i) {
      this->push(i);
    }
  }
  void run(unsigned thread) {
    if (thread == 0) {
      this->push(4);
      this->push(5);
    } else {
      this->steal(this->first_thief, false);
      this->steal(this->first_thief, false);
    }
  }
};

template <class Traits = model::traits>
struct runnext_is_stolen : scene<Traits> {
  static constexpr unsigned threads = 2;
  void run(unsigned thread) {
    if (thread == 0) {
      this->push_next(0);
      this->push_next(1);
      this->run_next();
      this->push_next(2);
      this->run_next();
    } else {
      this->steal(this->first_thief, true);
      this->steal(this->first_thief, true);
    }
  }
};

template <class Traits = model::traits>
struct batch_and_drain : scene<Traits> {
  static constexpr unsigned threads = 2;
  batch_and_drain() {
    this->push(0);
    this->push(1);
  }
  void run(unsigned thread) {
    if (thread == 0) {
      typename scene<Traits>::batch more;
      for (int i = 2; i != 5; ++i) {
        more.push_back(this->fresh(i));
      }
      this->queue.push_batch(more);
      this->take_all(static_cast<decltype(more)&&>(more));
      this->take_all(this->queue.drain());
    } else {
      this->steal(this->first_thief, false);
      this->steal(this->first_thief, true);
    }
  }
};

template <class Traits = model::traits>
struct two_thieves : scene<Traits> {
  static constexpr unsigned threads = 3;
  two_thieves() {
    for (int i = 0; i != 3; ++i) {
      this->push(i);
    }
  }
  void run(unsigned thread) {
    switch (thread) {
      case 0:
        this->push_next(3);
        this->push_next(4);
        this->run_next();
        this->pop();
        break;
      case 1:
        this->steal(this->first_thief, true);
        this->take(this->first_thief.pop());
        break;
      default: this->steal(this->second_thief, true); break;
    }
  }
};

// A thief is robbed of what it has just stolen.
template <class Traits = model::traits>
struct thief_of_a_thief : scene<Traits> {
  static constexpr unsigned threads = 3;
  thief_of_a_thief() {
    for (int i = 0; i != 4; ++i) {
      this->push(i);
    }
  }
  void run(unsigned thread) {
    switch (thread) {
      case 0: this->push(4); break;
      case 1:
        this->steal(this->first_thief, false);
        this->steal(this->first_thief, false);
        break;
      default:
        this->take(this->first_thief.steal_half_into(this->second_thief, [] { return false; }));
        break;
    }
  }
};

// The owner always has at least one item in the queue while the other thread asks.
template <bool FirstNext, bool SecondNext, class Traits = model::traits, bool Naive = false>
struct never_empty : scene<Traits> {
  static constexpr unsigned threads = 2;
  never_empty() { put(0, FirstNext); }

  void put(int i, bool next) {
    if (next) {
      this->push_next(i);
    } else {
      this->push(i);
    }
  }
  void run(unsigned thread) {
    if (thread == 0) {
      put(1, SecondNext);
      this->run_next();
      put(2, FirstNext);
      this->run_next();
    } else {
      for (int i = 0; i != 2; ++i) {
        const bool empty = Naive ? this->queue.size() == 0 && this->queue.peek_runnext() == nullptr
                                 : this->queue.empty();
        require(!empty, "a queue that holds an item says that it is empty");
      }
    }
  }
};
template <class Traits>
using never_empty_with_runnext = never_empty<true, true, Traits>;

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

TEST_CASE("model: an owner that pops and a thief take each G once") {
  holds_on_every_machine<pops_and_steals>(6, 3);
}

TEST_CASE("model: a thief sees what the owner pushed and never more") {
  holds_on_every_machine<pushes_and_steals>(5, 3);
}

TEST_CASE("model: a slot is not filled again while a thief reads it") {
  holds_on_every_machine<slots_are_reused>(5, 3);
  holds_on_every_machine<owner_refills>(5, 3);
}

TEST_CASE("model: a runnext is run by its owner or by one thief") {
  holds_on_every_machine<runnext_is_stolen>(4, 3);
}

TEST_CASE("model: batches and a drain lose nothing to a thief") {
  holds_on_every_machine<batch_and_drain>(5, 3);
}

TEST_CASE("model: two thieves and the owner take each G once") {
  holds_on_every_machine<two_thieves>(3, 2);
}

TEST_CASE("model: a thief may be robbed while it steals") {
  holds_on_every_machine<thief_of_a_thief>(3, 2);
}

TEST_CASE("model: a queue that always holds a G never says that it is empty") {
  for (const machine on : model::every_machine) {
    holds<never_empty<false, false>>({on, 5, 3});
    holds<never_empty<false, true>>({on, 5, 3});
    holds<never_empty<true, false>>({on, 5, 3});
    holds<never_empty<true, true>>({on, 5, 3});
  }
}

TEST_CASE("model: two reads in a row are not enough to say that a queue is empty") {
  using naive = never_empty<true, true, model::traits, true>;
  CHECK(model::found_out<naive>({machine::sequential, 3, 0}));
}

TEST_CASE("model: each mutant of the ring is found out") {
  CHECK(found_out<pushes_and_steals, mutation::relaxed_store>(machine::weak));     // RQ3, tail
  CHECK(found_out<slots_are_reused, mutation::relaxed_load>(machine::weak));       // tail
  CHECK(found_out<owner_refills, mutation::relaxed_load>(machine::weak));          // RQ3, head
  CHECK(found_out<owner_refills, mutation::relaxed_cas>(machine::weak));           // RQ3, head
  CHECK(found_out<pops_and_steals, mutation::torn_cas>(machine::sequential));      // RQ4
  CHECK(found_out<runnext_is_stolen, mutation::relaxed_exchange>(machine::weak));  // *g
  CHECK(found_out<never_empty_with_runnext, mutation::relaxed_exchange>(machine::weak));  // empty
  CHECK(found_out<never_empty_with_runnext, mutation::relaxed_load>(machine::weak));      // empty
  CHECK(found_out<runnext_is_stolen, mutation::torn_exchange>(machine::sequential));
  CHECK(found_out<runnext_is_stolen, mutation::torn_cas>(machine::sequential));
}
