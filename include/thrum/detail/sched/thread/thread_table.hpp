// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The Ms of one scheduler, and what becomes of one whose thread is not there: not yet, no more, or
// refused by the system. An M is never freed before its scheduler is.
//
//   vacant       no thread. A caller that needs an M takes it first: take_locked
//   being made   the creator is to start its thread, which finds a P that waits for it
//                (begin_locked, end_locked), or is a spare that enters the list of idle Ms
//   running      has a thread; perhaps it sleeps
//
// A P whose thread the system has refused, or max_threads does not allow, is held back until an M is
// idle, or a thread is granted.
//
// Invariants
//   MT2  `awaiting` counts the Ps that wait for a thread which is being made. It changes under the
//        lock, as does the list of idle Ms, so that start_m and stop_without_p decide one after
//        the other.
//   MT3  at most one spare, an M that is made for no P, is on its way.
//   MT4  a P that is held back has an empty queue, as one on the idle list has; its timers are
//        served by the creator: see release_held.
#ifndef THRUM_DETAIL_SCHED_THREAD_THREAD_TABLE_HPP
#define THRUM_DETAIL_SCHED_THREAD_THREAD_TABLE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/sched/core/counters.hpp>
#include <thrum/detail/sched/core/m.hpp>
#include <thrum/detail/sched/core/p.hpp>
#include <thrum/detail/sched/core/traits.hpp>

#include <cstdint>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// Functions named `_locked` want the caller to hold the scheduler's lock.
class m_table {
 public:
  m_table() noexcept = default;
  m_table(const m_table&) = delete;
  m_table& operator=(const m_table&) = delete;

  /// `places`: the caller's room for as many Ms as there may be.
  void keep_in(machine* places) noexcept { places_ = places; }
  machine* places() const noexcept { return places_; }

  /// Destroys them all: their threads have been joined.
  void clear() noexcept {
    for (unsigned i = 0; i < made(); ++i) {
      places_[i].~machine();
    }
  }

  machine& operator[](std::uint32_t i) noexcept { return places_[i]; }

  unsigned made() const noexcept {
    return made_.load(acquire);  // [s.ms <] sees the M itself
  }
  /// How many Ms have a thread, or will when the creator comes to them.
  unsigned with_thread() const noexcept { return made() - vacant_count_.get(); }

  /// The system refuses more threads than these; any_number: it has made one.
  static constexpr unsigned any_number = ~0U;
  void set_limit(unsigned threads) noexcept { limit_.set(threads); }
  unsigned limit() const noexcept { return limit_.get(); }

  // ---- Ms without a thread ----

  /// A vacant one, else `make(place, number)`. Null: there are `most`.
  template <class Make>
  [[nodiscard]] machine* take_locked(unsigned most, Make make) noexcept {
    if (machine* const m = vacant_) {
      vacant_ = m->idle_next;
      vacant_count_.take();
      return m;
    }
    const unsigned id = made_.get();
    if (id == most) {
      return nullptr;
    }
    machine* const m = make(&places_[id], id);
    // [s.ms >] release: the M, to each walk over all of them.
    made_.store(id + 1, release);
    return m;
  }

  /// Its thread has ended, or was never made: it is kept for the next that is wanted.
  void vacate_locked(machine& m) noexcept {
    m.awaited = false;
    m.idle_next = vacant_;
    vacant_ = &m;
    vacant_count_.add();
  }

  // ---- threads that are being made ----

  /// A P waits for this M's thread.
  void begin_locked(machine& m) noexcept {
    m.awaited = true;
    awaiting_.add();
  }
  /// The thread has begun, or the system has refused it.
  void end_locked() noexcept { awaiting_.take(); }
  bool is_awaited_locked() const noexcept { return awaiting_.get() != 0; }

  /// True: the caller makes the spare. MT3
  [[nodiscard]] bool claim_spare_locked() noexcept { return !std::exchange(spare_begins_, true); }
  void end_spare_locked() noexcept { spare_begins_ = false; }

  // ---- Ps for which no thread is to be had ----

  void hold_back_locked(processor& p) noexcept {
    THRUM_ASSERT(MT4, !p.has_queued());
    p.idle_next = held_.get();
    // [s.held =] seq_cst: before the caller looks whether an M sleeps in the poller
    held_.exchange(&p, seq_cst);
  }
  /// Also without the lock, by a thread that has said that it is going to sleep in the poller.
  bool holds_back() const noexcept {
    return held_.load(seq_cst) != nullptr;  // [s.held =] seq_cst: after begin_sleep
  }
  bool is_first_held_locked(const processor* p) const noexcept { return held_.get() == p; }
  /// Null: there is none.
  [[nodiscard]] processor* release_locked() noexcept {
    processor* const p = held_.get();
    if (p != nullptr) {
      held_.set(p->idle_next);
    }
    return p;
  }

 private:
  machine* places_ = nullptr;
  under_lock<unsigned> made_{0};
  figure<std::uint32_t> vacant_count_;
  figure<std::uint32_t> awaiting_;
  machine* vacant_ = nullptr;
  bool spare_begins_ = false;
  under_lock<processor*> held_{nullptr};
  hint<unsigned> limit_{any_number};  // the creator writes it
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
