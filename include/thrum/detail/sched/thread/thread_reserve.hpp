// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// One thread is kept for goroutines that are no loops.
//
// Purpose
//   A goroutine that computes without calling the library keeps its thread until it ends or waits,
//   also while others have its P: its stack cannot move (preempt.hpp). When as many of them have
//   begun as there may be threads, they pass the Ps among themselves, and what is new or has slept
//   never runs. So the last thread that is free of them does not begin another one.
//
// Which goroutine is another loop? That is known only after it has run. But loops come in numbers, from one
// place. Two goroutines are of one kind if they run the same function, started at the same place. A
// goroutine that has not begun is taken for a loop if one of its kind has used up a slice and goes on
// doing so: each loop that occupies a thread is stopped again after about as many stops as there are
// threads, as they take turns. A kind that was not stopped for four times as long was no loop, but had
// lost its CPU for a slice, or has ended. Goroutines of a loop's kind are held back until a thread is
// free for them. All others begin; one of them may be a loop of a new kind after all, and then the
// thread is taken until some loop ends or waits.
//
// When
//   A thread is free while its M idles or sleeps in the poller, from where the monitor calls it when it is
//   the last (call_last_thread in monitor.hpp), or if it could still be made. TR1 says that the M
//   that takes the last one finds the state on, so of two Ms that begin goroutines at the same time
//   at least one looks. When two threads are free, one to keep and one for the next goroutine, the
//   monitor ends the state and lets the goroutines continue that were held back. Where there
//   are no more threads than Ps, none can be kept.
//
// Where
//   A new goroutine looks itself, on its own stack, before its function is called (run/start.hpp),
//   and waits there: one look a goroutine, whatever way led to it.
//
// Invariants
//   TR1  is_active() is true from the moment on in which no thread is free: it becomes so under the
//        scheduler's lock, before the P is handed over for which the last one was taken.
//   TR2  a goroutine held back while is_active() turns false is let go by the same call of release():
//        hold_back() looks at the state under the lock of this object.
//
// Rejected: to note that threads are short when a loop is stopped, and to have g0 look at each that
// begins from then on. The two are steps of different Ms, and between them a loop began on the last
// thread, once in a thousand starts.
#ifndef THRUM_DETAIL_SCHED_THREAD_THREAD_RESERVE_HPP
#define THRUM_DETAIL_SCHED_THREAD_THREAD_RESERVE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/intrusive_queue.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/sched/core/g.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/queue/lock.hpp>

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

class thread_reserve {
 public:
  /// Whether new goroutines must be looked at before they begin.
  bool is_active() const noexcept { return active_.get(); }
  /// No thread is free. The caller holds the scheduler's lock: TR1
  void begin_locked() noexcept { active_.set(true); }
  /// Threads are free again. The caller holds the scheduler's lock, and then calls release().
  void end_locked() noexcept { active_.set(false); }

  /// Goroutines that are stopped: each occupies a thread.
  unsigned stopped() const noexcept {
    return stopped_.load(relaxed);  // relaxed: a thread that was stopped before matters
  }
  void begin_stop() noexcept { stopped_.fetch_add(1, relaxed); }  // relaxed: published with its P
  void end_stop() noexcept { stopped_.fetch_sub(1, relaxed); }  // relaxed: seen late, it counts on

  /// The system refuses more threads than these; any_number: it has made one.
  static constexpr unsigned any_number = ~0U;
  void set_limit(unsigned threads) noexcept { limit_.set(threads); }
  unsigned limit() const noexcept { return limit_.get(); }

  /// A goroutine has used up a slice without a call.
  void note_loop(const goroutine& g) noexcept {
    scoped guard(lock_);
    kind* known = find(g);
    if (known == nullptr) {
      known = &kinds_[next_kind_++ % kinds];
      *known = kind{g.entry, g.started_at};
    }
    known->last_stop = ++stops_;
  }

  /// Whether one that is about to begin is of a loop's kind.
  bool is_of_loops(const goroutine& g) noexcept {
    scoped guard(lock_);
    return find(g) != nullptr;
  }

  /// Holds back a goroutine of a loop's kind, if there is still reason to.
  bool hold_back(goroutine& g) noexcept {
    scoped guard(lock_);
    if (!is_active() || find(g) == nullptr) {  // TR2
      return false;
    }
    held_.push_back(&g);
    ever_held_ = true;
    return true;
  }

  /// Returns those that need not be held back any more: all if the state has ended; else those whose
  /// kind is no loop's, where there may be so many threads.
  base::intrusive_queue<goroutine> release(std::size_t threads) noexcept {
    scoped guard(lock_);
    base::intrusive_queue<goroutine> free;
    if (!is_active()) {
      free.append(static_cast<base::intrusive_queue<goroutine>&&>(held_));
      return free;
    }
    forget_kinds(4 * threads);
    base::intrusive_queue<goroutine> still;
    while (goroutine* const g = held_.pop_front()) {
      (find(*g) != nullptr ? still : free).push_back(g);
    }
    held_.append(static_cast<base::intrusive_queue<goroutine>&&>(still));
    return free;
  }

  /// Whether a goroutine was held back; true only once.
  bool is_to_be_reported() noexcept {
    scoped guard(lock_);
    return ever_held_ && !reported_ && (reported_ = true);
  }

 private:
  struct kind {
    void (*entry)(goroutine&) = nullptr;
    const void* started_at = nullptr;
    std::uint64_t last_stop = 0;
  };
  static constexpr std::uint32_t kinds = 16;

  kind* find(const goroutine& g) noexcept {
    for (kind& each : kinds_) {
      if (each.entry == g.entry && each.started_at == g.started_at) {
        return &each;
      }
    }
    return nullptr;
  }

  /// Forgets the kinds of which no goroutine was stopped among the last `stops` stops.
  void forget_kinds(std::uint64_t stops) noexcept {
    for (kind& each : kinds_) {
      if (stops_ - each.last_stop > stops) {
        each = kind();
      }
    }
  }

  spin_lock lock_{lock_rank::reserve};
  // -- under the lock --
  base::intrusive_queue<goroutine> held_;
  kind kinds_[kinds] = {};
  std::uint32_t next_kind_ = 0;
  std::uint64_t stops_ = 0;
  bool ever_held_ = false;
  bool reported_ = false;
  // -- under the scheduler's lock; read without --
  one_writer<bool> active_{false};
  // -- the Ms that are stopped --
  atomic<unsigned> stopped_{0};
  // -- the creator writes --
  hint<unsigned> limit_{any_number};
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
