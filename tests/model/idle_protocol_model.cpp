// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// sched/queue/idle.hpp under a small scheduler, in every interleaving within the bounds: no work is left
// behind when everybody sleeps (ID3), and none waits for a P that idles. Then its mutants.
//
// The small scheduler does what sched/run/find_work.hpp and sched/core/scheduler.hpp do with an idle_set,
// step by step, and leaves out what is not part of the protocol: a P's queue is one word, and a
// thread that would be created is one that next goes to sleep. Whether an M may spin is a heuristic
// there, so here it is anybody's choice.

#include "model/support/assertions.hpp"

#include <thrum/sched/queue/idle.hpp>

#include "model/support/checks.hpp"
#include "model/support/idle_parts.hpp"
#include "model/support/model_traits.hpp"
#include "model/support/objects.hpp"
#include "support/catch.hpp"

#include <cstdint>
#include <cstring>

namespace {

using model::found_out;
using model::holds;
using model::machine;
using model::mutation;
using model::require;

constexpr int max_items = 4;
constexpr unsigned max_ps = 3;

// The idler's fence left out, and only that.
struct no_fence_at_end_spinning : model::traits {
  static void fence(std::memory_order how, const char* caller = __builtin_FUNCTION()) noexcept {
    if (std::strcmp(caller, "end_spinning") != 0) {
      model::traits::fence(how);
    }
  }
};

// What a mutant of the small scheduler leaves out.
enum class omission {
  nothing,
  fence_at_submit,
  look_again,
  wanted_spinner,
  wanted_while_spinning,
  wanted_at_hand_off,
  successor
};

template <class Traits>
struct idle_work {
  typename Traits::template atomic<int> work{0};  // an item, or 0; only the holder puts one in
};

template <class Traits, omission Omitted = omission::nothing>
class small_scheduler : public model::idle_parts<Traits, idle_work<Traits>> {
  using parts = model::idle_parts<Traits, idle_work<Traits>>;

 public:
  using parts::idle;
  using parts::start_m;
  using parts::stop_m;
  using parts::wake_claimed;
  using typename parts::m_type;
  using typename parts::name;
  using typename parts::p_type;

  static constexpr std::memory_order acquire = std::memory_order_acquire;
  static constexpr std::memory_order acq_rel = std::memory_order_acq_rel;
  static constexpr std::memory_order relaxed = std::memory_order_relaxed;
  static constexpr std::memory_order release = std::memory_order_release;
  static constexpr std::memory_order seq_cst = std::memory_order_seq_cst;

  template <class T>
  using atomic = typename Traits::template atomic<T>;

  // ---- submitting ----

  // Work for the own P, by a plain release store as the ring's.
  void submit(m_type& m, int item) {
    note_submitted(item);
    require(m.p->work.load(relaxed) == 0, "the model has room for one item a P");
    m.p->work.store(item, release);
    wake_processor();
  }

  // The same as into runnext: by a sequentially consistent exchange, and without a fence.
  void submit_next(m_type& m, int item) {
    note_submitted(item);
    require(m.p->work.exchange(item, seq_cst) == 0, "the model has room for one item a P");
    if (idle.claim_wake()) {
      wake_claimed();
    }
  }

  // Work for the global queue, from anywhere.
  void submit(int item) {
    note_submitted(item);
    global_lock.lock();
    global[global_size++] = item;
    global_count.store(global_size, release);
    global_lock.unlock();
    wake_processor();
  }

  void wake_processor() {
    if (Omitted != omission::fence_at_submit) {
      Traits::fence(seq_cst);
    }
    if (idle.claim_wake()) {
      wake_claimed();
    }
  }

  // The P of an M that stays away in a blocking call.
  void hand_off(p_type& p) {
    if (p.work.load(acquire) != 0 || global_count.load(seq_cst) != 0) {
      idle.lock().lock();
      start_m(p, false);
      return;
    }
    if (idle.claim_first_spinner()) {
      idle.lock().lock();
      start_m(p, true);
      return;
    }
    idle.lock().lock();
    if (global_count.load(seq_cst) != 0) {
      start_m(p, false);
      return;
    }
    if (idle.spinner_wanted_locked() && Omitted != omission::wanted_at_hand_off) {
      idle.add_unit();
      start_m(p, true);
      return;
    }
    idle.put_p_locked(p);
    idle.lock().unlock();
  }

  // ---- finding work ----

  int take_global() {
    if (global_count.load(seq_cst) == 0) {
      return 0;
    }
    global_lock.lock();
    int item = 0;
    if (global_size != 0) {
      item = global[--global_size];
      global_count.store(global_size, release);
    }
    global_lock.unlock();
    return item;
  }

  int take(p_type& p) {
    int item = p.work.load(acquire);
    if (item != 0 && p.work.compare_exchange_strong(item, 0, acq_rel, relaxed)) {
      return item;
    }
    return 0;
  }

  void look_again(m_type& m) {
    bool work = global_count.load(seq_cst) != 0;
    for (unsigned i = 0; i != procs && !work; ++i) {
      work = ps[i].work.load(acquire) != 0;
    }
    if (!work) {
      return;
    }
    idle.lock().lock();
    if (p_type* const p = idle.take_p_locked()) {
      m.p = p;
      idle.begin_spinning(m);
    } else {
      idle.ask_for_spinner_locked();
    }
    idle.lock().unlock();
  }

  int give_up_p(m_type& m) {
    idle.lock().lock();
    if (global_count.load(seq_cst) != 0) {
      const int item = take_global();
      idle.lock().unlock();
      return item;
    }
    if (idle.spinner_wanted_locked() && Omitted != omission::wanted_spinner &&
        !(Omitted == omission::wanted_while_spinning && m.spinning)) {
      if (m.spinning) {
        idle.take_request();
      } else {
        idle.begin_spinning(m);
      }
      idle.lock().unlock();
      return 0;
    }
    p_type* const p = m.p;
    m.p = nullptr;
    idle.put_p_locked(*p);
    idle.lock().unlock();
    if (m.spinning) {
      idle.end_spinning(m);
      if (Omitted != omission::look_again) {
        look_again(m);
      }
    }
    return 0;
  }

  int find_work(m_type& m) {
    for (;;) {
      if (m.p == nullptr && !stop_m(m)) {
        return 0;
      }
      if (const int item = take(*m.p)) {
        return item;
      }
      if (const int item = take_global()) {
        return item;
      }
      if (m.spinning || model::explorer::active().choose(2) == 0) {
        if (!m.spinning) {
          idle.begin_spinning(m);
        }
        for (unsigned i = 0; i != procs; ++i) {
          if (&ps[i] != m.p) {
            if (const int item = take(ps[i])) {
              return item;
            }
          }
        }
      }
      if (const int item = give_up_p(m)) {
        return item;
      }
    }
  }

  template <class Execute>
  void live(m_type& m, Execute execute) {
    while (const int item = find_work(m)) {
      if (m.spinning) {
        idle.end_spinning(m);
        if (Omitted != omission::successor && idle.claim_wake()) {
          wake_claimed();
        }
      }
      execute(item);
      finish(item);
    }
  }

  // Every item blocks its M until three have begun.
  void meet_all() {
    if (++begun == 3) {
      for (model::note& each : all_begun) {
        each.wake();
      }
    }
    all_begun[model::explorer::active().self()].sleep();
  }

  // ---- what must hold ----

  void note_submitted(int item) { ++submitted[item]; }
  void finish(int item) {
    require(++finished[item] == 1, "an item ran twice");
    if (awaited == item) {
      awaited_done.wake();
    }
  }
  // The running item blocks its M, with its P, until another item is finished.
  void await(int item) {
    awaited = item;
    if (finished[item] == 0) {
      awaited_done.sleep();
    }
  }

  void at_rest() {
    for (int i = 0; i != max_items; ++i) {
      require(finished[i] == submitted[i], "everybody sleeps and work is left");
    }
    require(idle.spinning() == 0, "everybody sleeps and somebody spins");
    require(idle.idle_ps() == procs, "everybody sleeps and a P is not idle");
  }
  void at_end() {}

  // ---- the initial state ----

  void hold(unsigned m, unsigned p, bool spinning) {
    ms[m].p = &ps[p];
    if (spinning) {
      idle.begin_spinning(ms[m]);
    }
  }
  void put_idle(unsigned p) { idle.put_p_locked(ps[p]); }

  unsigned procs = max_ps;
  name p_name{"p"};
  p_type ps[max_ps];
  m_type ms[max_ps];

  model::mutex global_lock;
  name global_name{"global"};
  atomic<std::uint32_t> global_count{0};
  std::uint32_t global_size = 0;
  int global[max_items] = {};

  int submitted[max_items] = {};
  int finished[max_items] = {};
  int awaited = 0;
  model::note awaited_done;
  int begun = 0;
  model::note all_begun[max_ps];
};

// Two Ps, two Ms, one of which is searching, and a thread that is no M.
template <class Scheduler, int Items, bool Spinning>
struct foreign_submitter : Scheduler {
  static constexpr unsigned threads = 3;
  foreign_submitter() {
    this->procs = 2;
    this->hold(0, 0, Spinning);
    this->put_idle(1);
  }
  void run(unsigned thread) {
    if (thread == 2) {
      for (int i = 1; i <= Items; ++i) {
        this->submit(i);
      }
    } else {
      this->live(this->ms[thread], [](int) {});
    }
  }
};

// M 0 runs an item that makes another one ready and then keeps its P; M 1 is about to go idle.
template <class Scheduler, bool Spinning, bool Next = false>
struct hog : Scheduler {
  static constexpr unsigned threads = 2;
  hog() {
    this->procs = 2;
    this->hold(0, 0, false);
    this->note_submitted(1);
    this->ps[0].work.store(1, std::memory_order_release);
    this->hold(1, 1, Spinning);
  }
  void run(unsigned thread) {
    auto& m = this->ms[thread];
    this->live(m, [&](int item) {
      if (item == 1) {
        if (Next) {
          this->submit_next(m, 2);
        } else {
          this->submit(m, 2);
        }
        this->await(2);
      }
    });
  }
};

// The same twice: what the first round leaves behind must not spoil the second.
template <class Scheduler>
struct second_hog : Scheduler {
  static constexpr unsigned threads = 2;
  second_hog() {
    this->procs = 2;
    this->hold(0, 0, false);
    this->note_submitted(1);
    this->ps[0].work.store(1, std::memory_order_release);
    this->hold(1, 1, false);
  }
  void run(unsigned thread) {
    auto& m = this->ms[thread];
    this->live(m, [&](int item) {
      if (item == 1) {
        this->submit(m, 2);
      } else if (item == 2) {
        this->submit(m, 3);
        this->await(3);
      }
    });
  }
};

// Two hogs want a third M, which is about to go idle, to run what they made ready.
template <class Scheduler>
struct two_hogs : Scheduler {
  static constexpr unsigned threads = 3;
  two_hogs() {
    this->hold(0, 0, false);
    this->note_submitted(1);
    this->ps[0].work.store(1, std::memory_order_release);
    this->hold(1, 1, true);
    this->hold(2, 2, false);
  }
  void run(unsigned thread) {
    auto& m = this->ms[thread];
    this->live(m, [&](int item) {
      if (item == 1) {
        this->submit(m, 2);
        this->await(3);
      } else if (item == 2) {
        this->submit(m, 3);
        this->await(3);
      }
    });
  }
};

// The spinner finds two items and only runs one; a third M sleeps.
template <class Scheduler>
struct burst : Scheduler {
  static constexpr unsigned threads = 3;
  burst() {
    this->hold(0, 0, false);
    this->note_submitted(1);
    this->ps[0].work.store(1, std::memory_order_release);
    this->hold(1, 1, true);
    this->put_idle(2);
  }
  void run(unsigned thread) {
    auto& m = this->ms[thread];
    this->live(m, [&](int item) {
      if (item == 1) {
        this->submit(2);
        this->submit(m, 3);
      }
      this->meet_all();
    });
  }
};

// A hog, and the P of an M in a blocking call, which a monitor (thread 2) hands on.
template <class Scheduler>
struct retaken : Scheduler {
  static constexpr unsigned threads = 3;
  retaken() {
    this->procs = 2;
    this->hold(0, 0, false);
    this->note_submitted(1);
    this->ps[0].work.store(1, std::memory_order_release);
  }
  void run(unsigned thread) {
    if (thread == 2) {
      this->hand_off(this->ps[1]);
      return;
    }
    auto& m = this->ms[thread];
    this->live(m, [&](int item) {
      if (item == 1) {
        this->submit(m, 2);
        this->await(2);
      }
    });
  }
};

using original = small_scheduler<model::traits>;
template <mutation Mistake>
using mutant = small_scheduler<model::mutant_traits<Mistake>>;
template <omission Omitted>
using incomplete = small_scheduler<model::traits, Omitted>;

using unfenced_idler = small_scheduler<no_fence_at_end_spinning>;

}  // namespace

TEST_CASE("model: work from outside is found by who goes idle or by who is woken") {
  holds<foreign_submitter<original, 1, true>>({machine::sequential, 3, 0});
  holds<foreign_submitter<original, 1, false>>({machine::sequential, 3, 0});
  holds<foreign_submitter<original, 1, true>>({machine::weak, 2, 2});
  holds<foreign_submitter<original, 1, false>>({machine::weak, 2, 2});
  holds<foreign_submitter<original, 2, true>>({machine::weak, 2, 2});
}

TEST_CASE("model: work behind a hog is run by an M that was about to go idle") {
  for (const machine on : {machine::sequential, machine::tso, machine::weak}) {
    holds<hog<original, true>>({on, 3, 2});
    holds<hog<original, false>>({on, 3, 1});
    holds<hog<original, true, true>>({on, 3, 1});
  }
}

TEST_CASE("model: a hog that comes later finds the protocol as the first one found it") {
  holds<second_hog<original>>({machine::sequential, 3, 0});
  holds<second_hog<original>>({machine::tso, 2, 2});
  holds<second_hog<original>>({machine::weak, 2, 2});
}

TEST_CASE("model: two hogs are served by an M that was about to go idle") {
  holds<two_hogs<original>>({machine::sequential, 1, 0});
  holds<two_hogs<original>>({machine::weak, 1, 1});
}

TEST_CASE("model: a spinner that finds work leaves a successor") {
  holds<burst<original>>({machine::sequential, 1, 0});
  holds<burst<original>>({machine::weak, 1, 1});
}

TEST_CASE("model: a P that is handed on serves a hog") {
  for (const machine on : {machine::sequential, machine::tso, machine::weak}) {
    holds<retaken<original>>({on, 2, 1});
  }
}

// Not run by default: a minute or two.
TEST_CASE("model: the idle protocol holds with one preemption more", "[.long]") {
  holds<foreign_submitter<original, 1, false>>({machine::weak, 3, 2});
  holds<hog<original, false>>({machine::weak, 4, 2});
  holds<second_hog<original>>({machine::weak, 3, 2});
  holds<two_hogs<original>>({machine::sequential, 2, 0});
  holds<burst<original>>({machine::weak, 2, 1});
  holds<retaken<original>>({machine::weak, 3, 2});
}

TEST_CASE("model: each mutant of the idle protocol is found out") {
  CHECK(found_out<hog<mutant<mutation::no_fence>, true>>({machine::tso, 3, 2}));
  CHECK(found_out<hog<mutant<mutation::no_fence>, true>>({machine::weak, 3, 2}));
  CHECK(found_out<hog<unfenced_idler, true>>({machine::weak, 3, 2}));
  CHECK(found_out<hog<mutant<mutation::release_acquire>, true, true>>({machine::weak, 3, 2}));
  CHECK(found_out<hog<incomplete<omission::fence_at_submit>, true>>({machine::tso, 3, 2}));
  CHECK(found_out<hog<incomplete<omission::fence_at_submit>, true>>({machine::weak, 3, 2}));
  CHECK(found_out<hog<incomplete<omission::look_again>, true>>({machine::sequential, 3, 0}));
  CHECK(found_out<hog<incomplete<omission::wanted_spinner>, false>>({machine::sequential, 3, 0}));
  CHECK(found_out<second_hog<incomplete<omission::wanted_while_spinning>>>(
      {machine::sequential, 3, 0}));
  CHECK(found_out<retaken<incomplete<omission::wanted_at_hand_off>>>({machine::sequential, 3, 0}));
  CHECK(found_out<burst<incomplete<omission::successor>>>({machine::sequential, 2, 0}));
}
