// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A world in which goroutines are items of work: each is made runnable by another one or from
// outside, and runs once, to its end. When all threads rest, no work must be left.
//
// Included before everything else of thrum's, as find_work_parts.hpp.

#ifndef THRUM_TESTS_MODEL_ITEMS_OF_WORK_HPP
#define THRUM_TESTS_MODEL_ITEMS_OF_WORK_HPP

#include "find_work_parts.hpp"

#include <thrum/detail/sched/queue/global_queue.hpp>
#include <thrum/detail/sched/run/ready.hpp>

#include "objects.hpp"

namespace model::finding {

constexpr int max_items = 4;

/// Goroutines that run once, each to its end: items of work.
template <mistake Made, unsigned Procs, unsigned Ms, unsigned MostMs>
struct small_world : search_world {
  static constexpr unsigned procs = Procs;
  static constexpr unsigned most_ms = MostMs;

  small_world() : search_world(Procs, Ms, MostMs) {
    model::finding::made = Made;
    model::finding::has_timers = false;
    model::finding::uses_runnext = false;
    model::finding::uses_yields = false;
    for (goroutine& each : items) {
      each.scheduler = &scheduler;
    }
  }

  // ---- submitting ----

  goroutine& submitted(int item) {
    ++submissions[item];
    return items[item];
  }
  int number(const goroutine& g) const { return static_cast<int>(&g - items); }

  // Makes the goroutine runnable, by an M or from outside.
  void submit(int item) { thrum::sched::ready(submitted(item), false); }
  // The same, to runnext.
  void submit_next(int item) { thrum::sched::ready(submitted(item), true); }
  // Queues it in the global queue, as a goroutine that yields does.
  void submit_behind(int item) {
    scheduler.global.push_back(submitted(item));
    scheduler.wake_processor();
  }
  // Queues it on the P of this M, as a goroutine that yields to one of the ring does.
  void submit_yielded(int item) {
    goroutine& g = submitted(item);
    auto& yielded = thrum::sched::current_m()->p->yielded;
    yielded.lock().lock();
    yielded.push_back_locked(g);
    yielded.lock().unlock();
    scheduler.wake_processor();
  }
  // Exchanges it for the oldest that yielded, and returns that one; -1, and queues none: there is none.
  int exchange_yielded(int item) {
    auto& yielded = thrum::sched::current_m()->p->yielded;
    yielded.lock().lock();
    goroutine* const next = yielded.exchange_locked(items[item]);
    submissions[item] += next != nullptr ? 1 : 0;
    yielded.lock().unlock();
    return next != nullptr ? number(*next) : -1;
  }
  // Makes a goroutine of background priority runnable.
  void submit_low(int item) {
    items[item].flags = thrum::sched::g_background;
    submit(item);
  }
  // Queues it on a P before the model starts.
  void put(unsigned p, int item) { static_cast<void>(ps[p]->queue.push(&submitted(item))); }

  // ---- running ----

  void executes(machine&, goroutine& g) final {
    const int item = number(g);
    runs(item);
    require(++ended[item] == 1, "a goroutine ran twice");
    if (awaited == item) {
      awaited_ended.wake();
    }
  }
  virtual void runs(int) {}

  // The running goroutine blocks its M, with its P, until another one has ended.
  void await(int item) {
    awaited = item;
    if (ended[item] == 0) {
      awaited_ended.sleep();
    }
  }
  // Called by three goroutines: each blocks until all three have begun.
  void meet_all() {
    if (++begun == 3) {
      for (model::note& each : all_begun) {
        each.wake();
      }
    }
    all_begun[model::explorer::active().self()].sleep();
  }

  // ---- what must hold ----

  void at_rest() { rests_with(procs); }
  void rests_with(unsigned idle_ps) {
    for (int i = 0; i != max_items; ++i) {
      require(ended[i] == submissions[i], "everybody sleeps and work is left");
    }
    require(scheduler.idle.spinning() == 0, "everybody sleeps and somebody spins");
    require(scheduler.idle.idle_ps() == idle_ps, "everybody sleeps and a P is not idle");
    close();
  }
  void at_end() {}

  goroutine items[max_items];
  int submissions[max_items] = {};
  int ended[max_items] = {};
  int awaited = 0;
  model::note awaited_ended;
  int begun = 0;
  model::note all_begun[model::max_threads];
};

}  // namespace model::finding

#endif
