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
// Which goroutine is another loop? Nobody knows before it has run. But loops come in numbers, from
// one place: a goroutine that has not begun is taken for a loop if one of the same kind, the same
// function started at the same place, has used up a slice and goes on doing so: each loop that
// occupies a thread is stopped again after about as many stops as there are threads, as they take
// turns. A kind that was not stopped for four times as long was no loop, but had lost its CPU for a
// slice, or has ended. What is of a loop's kind is held back until a thread is free for it. All
// others begin; one of them may be a loop of a new kind after all, and then the thread
// is taken until some loop ends or waits.
//
// When
//   Threads that are occupied: one for each goroutine that was stopped and stands in the global
//   queue, and at most one for each P. If these are as many as there may be threads, an M that
//   takes a new goroutine is on the last free one. From then on all switches lead over g0, which
//   looks; the monitor ends that, and lets those go on that were held back, when threads are free
//   again. Where there are no more threads than Ps, none can be kept.
#ifndef THRUM_SCHED_CORE_THREAD_RESERVE_HPP
#define THRUM_SCHED_CORE_THREAD_RESERVE_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/intrusive_queue.hpp>
#include <thrum/base/order.hpp>
#include <thrum/sched/core/g.hpp>
#include <thrum/sched/core/traits.hpp>
#include <thrum/sched/queue/lock.hpp>

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

class thread_reserve {
 public:
  /// Whether new goroutines must be looked at before they begin.
  bool is_active() const noexcept {
    return active_.load(relaxed);  // relaxed: published with a P that is handed over
  }

  /// The system refuses more threads than these; any_number: it has made one.
  static constexpr unsigned any_number = ~0U;
  void set_limit(unsigned threads) noexcept {
    limit_.store(threads, relaxed);  // relaxed: a figure for reports
  }
  unsigned limit() const noexcept {
    return limit_.load(relaxed);  // relaxed: a figure for reports
  }

  /// A goroutine was stopped, and stands in the queue. `is_short()`: no thread may be lost now.
  /// True: it has just become so.
  template <class IsShort>
  bool note_loop(const goroutine& g, IsShort is_short) noexcept {
    scoped guard(lock_);
    kind* known = find(g);
    if (known == nullptr) {
      known = &kinds_[next_kind_++ % kinds];
      *known = kind{g.entry, g.started_at};
    }
    known->last_stop = ++stops_;
    // relaxed: under the lock
    return !active_.load(relaxed) && is_short() && (active_.store(true, relaxed), true);
  }

  /// Holds back a goroutine that is about to begin, if it is to wait. True: it was.
  template <class IsShort>
  bool hold_back(goroutine& g, IsShort is_short) noexcept {
    scoped guard(lock_);
    if ((g.flags & g_started) != 0 || find(g) == nullptr || !is_short()) {
      return false;
    }
    held_.push_back(&g);
    ever_held_ = true;
    return true;
  }

  /// Returns those that need not be held back any more: all if `is_over()`, which ends the state;
  /// else those whose kind is no loop's, where there may be so many threads.
  template <class IsOver>
  base::intrusive_queue<goroutine> release(std::size_t threads, IsOver is_over) noexcept {
    scoped guard(lock_);
    base::intrusive_queue<goroutine> free;
    if (is_over()) {
      active_.store(false, relaxed);  // relaxed: under the lock
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

  /// Whether somebody was held back; true only once.
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

  /// Those of which none was stopped among the last so many stops.
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
  atomic<bool> active_{false};  // read without
  // -- the creator writes --
  atomic<unsigned> limit_{any_number};
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
