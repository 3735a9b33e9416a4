// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Inside the scheduler or outside: when a processor may be taken from the code that runs on it.
//
// Purpose
//   A goroutine may lose its P at any instruction of the user's code: to a signal, or to the
//   monitor while its thread sits in a call that blocks. It may not while it is inside the
//   scheduler: there it holds locks that every P needs, and changes what belongs to its P. A
//   section marks the inside.
//
// The protocol
//   enter    inside = 1; light fence; retake == none? go on, else answer the monitor
//   at once  the same, but instead of an answer: inside = 0, and the caller enters by the longer way
//   leave    inside = 0
//   handler  on the same thread: does nothing if it finds inside == 1
//   monitor  retake = wanted; heavy fence; inside == 0? then the M will answer before it enters
//   So entering costs a store and a load, and the fence is paid for by the monitor, which comes
//   once in a millisecond if at all.
//
// Invariants
//   SC1  a lock of the scheduler, or of an object that goroutines wait on, is taken inside only.
//   SC2  nothing is called inside that could wait for a lock that user code holds: no malloc, no
//        free, no function of a user, except moves that cannot throw. A goroutine that lost its P
//        may hold that lock, and the caller the last P.
//   SC3  g0 is always inside, and so is a goroutine from the moment it is switched to until it
//        returns to the code that called the library.
//   SC4  a section that was opened inside another one does not park.
//   SC5  only a goroutine parks, and only one that has a P.
//
// A goroutine inside blocking() is inside as well while it calls the library, but has no P: it
// counts as its thread, as foreign threads do.
//
// Fences of [m.inside]: enter_scheduler, enter_scheduler_at_once, interrupt, retake.
#ifndef THRUM_DETAIL_SCHED_CORE_SECTION_HPP
#define THRUM_DETAIL_SCHED_CORE_SECTION_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/sched/core/current.hpp>
#include <thrum/detail/sched/core/traits.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// Enters the scheduler from user code on a goroutine's stack.
THRUM_INLINE machine& enter_scheduler(machine& m) noexcept {
  m.inside.store(1, relaxed);  // relaxed: ordered by the fence of [m.inside]
  // [m.inside =] before `retake` is read; pairs with the monitor's heavy one
  traits::light_fence();
  // relaxed: ordered by the fence of [m.inside]
  if (m.retake.load(relaxed) != retake_state::none) [[unlikely]] {
    return m.answer_monitor(m);
  }
  return m;
}

/// And back.
THRUM_INLINE void leave_scheduler(machine& m) noexcept {
  // [m.inside >] release: what was done with the P, to the monitor that takes it.
  m.inside.store(0, release);
}

/// Enters for an operation of a few instructions; the caller has a longer form for the rare cases. False,
/// and nothing has happened, unless the thread runs a goroutine that holds a P and is outside, and
/// no thread wants the P. Makes no call: a caller whose other calls are its last steps saves no
/// register, a quarter of the instructions of a send to a channel that has room.
THRUM_INLINE bool enter_scheduler_at_once(machine* m) noexcept {
  // SC3: on g0 as well.
  if (m == nullptr || m->inside.get() != 0) {
    return false;
  }
  m->inside.store(1, relaxed);  // relaxed: ordered by the fence of [m.inside]
  // [m.inside =] before `retake` is read; pairs with the monitor's heavy one
  traits::light_fence();
  // relaxed: ordered by the fence of [m.inside]
  if (m->retake.load(relaxed) != retake_state::none || m->p == nullptr) [[unlikely]] {
    leave_scheduler(*m);  // the longer form answers the monitor
    return false;
  }
  return true;
}

class [[nodiscard]] section {
 public:
  THRUM_INLINE section() noexcept : on_(current_m()) {
    if (on_ == nullptr) {
      return;
    }
    if (on_->g == nullptr) {
      on_ = nullptr;
    } else if (on_->inside.get() == 0) {
      outermost_ = true;
      on_ = &enter_scheduler(*on_);
    }
  }
  /// Goes on from enter_scheduler_at_once.
  THRUM_INLINE explicit section(machine& entered) noexcept : on_(&entered), outermost_(true) {}
  THRUM_INLINE ~section() {
    if (outermost_) {
      leave_scheduler(*on_);
    }
  }
  section(const section&) = delete;
  section& operator=(const section&) = delete;

  /// The calling M if a goroutine runs there that may park; null for a foreign thread, inside
  /// blocking(), and on g0, where the caller counts as its thread.
  machine* m() const noexcept { return on_ != nullptr && on_->p != nullptr ? on_ : nullptr; }

  /// The calling M; it must run a goroutine that may park.
  machine& this_m() const noexcept {
    THRUM_ASSERT(SC5, m() != nullptr);
    return *on_;
  }

  goroutine* g() const noexcept {
    machine* const own = m();
    if (own == nullptr) {
      return nullptr;
    }
    return own->g;
  }

  /// The calling M, also on g0 and inside blocking(); null for a foreign thread.
  machine* thread_m() const noexcept { return outermost_ ? on_ : current_m(); }

  /// Whether outside() gets there: not on g0, nor inside of another section.
  bool can_go_outside() const noexcept {
    if (outermost_) {
      return true;
    }
    const machine* const m = current_m();
    return m == nullptr || m->p == nullptr;
  }

  /// Goes outside, for user code, which may park, lock and throw (SC2). False: is outside already.
  THRUM_INLINE bool step_outside() noexcept {
    if (!outermost_) {
      return false;
    }
    outermost_ = false;  // if the user's code throws, there is nothing left to leave
    leave_scheduler(*on_);
    return true;
  }
  /// Comes back, if step_outside() said true.
  THRUM_INLINE void step_inside() noexcept {
    on_ = &enter_scheduler(*current_m());
    outermost_ = true;
  }

  /// Runs f as user code.
  template <class F>
  void outside(F f) {
    const bool stepped = step_outside();
    f();
    if (stepped) {
      step_inside();
    }
  }

  /// Called when a goroutine that was parked continues, perhaps on another M.
  void moved_to(machine& m) noexcept {
    THRUM_ASSERT(SC4, outermost_);
    on_ = &m;
  }

 private:
  machine* on_;
  bool outermost_ = false;
};

/// SC1, for the assertion in the locks.
inline bool is_lock_allowed() noexcept {
  const machine* const m = current_m();
  return m == nullptr || m->g == nullptr || m->p == nullptr || m->inside.get() != 0;
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
