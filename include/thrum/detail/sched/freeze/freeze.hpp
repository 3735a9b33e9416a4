// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Stopping all goroutines of a scheduler for a moment, to look at their stacks.
//
// Every P is asked, as for preemption; its holder waits, with it, at the next place where it
// attends to what is asked: between two goroutines, at the end of an operation, or in the handler
// of a signal. A P without a holder needs no asking: a thread that takes it comes by such a place
// before it switches to a goroutine. So when every P that is held has a waiting holder, no
// goroutine is switched to or leaves its stack until the end of the freeze.
//
// Not stopped are threads without a P: inside blocking(), or in a call that lost its P. They touch
// their own stacks only.
//
// FZ1  while the world is frozen nothing may be called that a goroutine could hold a lock of: no
//      malloc. The code that looks collects addresses, and makes words of them afterwards.
//
// Fences of [fz.phase]: freezer, hold, stop_in_handler, wait_if_frozen.
//
// The holder of a P stands still meanwhile. It notes down its own callers before it waits, if it has a goroutine. It may have been
// interrupted anywhere, in the unwinder and the loader, so the stack is walked with checks and
// without locks: freeze/frame_walk.hpp.
#ifndef THRUM_DETAIL_SCHED_FREEZE_FREEZE_HPP
#define THRUM_DETAIL_SCHED_FREEZE_FREEZE_HPP

#include <thrum/detail/arch/arch.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/freeze/frame_walk.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// Where the frames of a goroutine lie.
inline stack_bounds stack_of(const goroutine& g) noexcept {
  return {reinterpret_cast<std::uintptr_t>(g.stack_low), reinterpret_cast<std::uintptr_t>(&g)};
}

/// Keeps the callers of the goroutine that runs on this M: those of the code that was interrupted,
/// in the handler of a signal, else the caller's own.
THRUM_COLD inline void note_callers(machine& m) noexcept {
  if (const void* const context = m.interruption.context) {
    walk_interrupted(context, stack_of(*m.g), m.callers);
    return;
  }
  struct call {
    machine& m;
    void* sp;
  } own{m, nullptr};
  arch::call_as_parked(
      &own.sp,
      [](void* argument) noexcept {
        auto& here = *static_cast<call*>(argument);
        walk_parked(here.sp, stack_of(*here.m.g), here.m.callers);
      },
      &own);
}

/// The holder of a P waits for the end of a freeze.
THRUM_COLD inline void wait_while_frozen(machine& m) noexcept {
  freeze_state& freeze = m.scheduler->freeze;
  const std::uint32_t phase = freeze.phase();
  if (!freeze_state::is_frozen(phase)) {
    return;
  }
  if (m.g != nullptr && !freeze.is_held_by_exit()) {  // at the end of the process no thread looks
    note_callers(m);
  }
  // [fz.phase >] release: the callers, to the thread that freezes.
  m.p->frozen_in.store(phase, release);
  freeze.wait(phase);
}

/// For an M that has just been given a P: a freeze counts a P without a holder as stopped.
inline void wait_if_frozen(machine& m) noexcept {
  traits::light_fence();  // [fz.phase =] the P is held before the look; pairs with the heavy one
  // relaxed: ordered by the fence of [fz.phase]
  if ((m.p->attention.load(relaxed) & attention_freeze) != 0) [[unlikely]] {
    wait_while_frozen(m);
  }
}

class [[nodiscard]] freezer {
 public:
  /// Waits until all others have stopped, but not longer than `patience_ns`. The caller is inside a
  /// section, or a thread that is none of the scheduler's, between begin_exclusive() and
  /// end_exclusive() of scheduler.freeze.
  freezer(runtime_scheduler& scheduler, machine* own, std::int64_t patience_ns) noexcept
      : scheduler_(scheduler), own_(own) {
    const std::uint32_t phase = scheduler.freeze.start();
    scheduler.for_each_live_p([](processor& p) {
      // [p.attention >] release: pairs with the exchange in attend.
      p.attention.fetch_or(attention_freeze, release);
    });
    traits::heavy_fence();  // [fz.phase =] asked before the look at the holders of Ps; a thread
                            // that takes a P looks
    const std::int64_t end = traits::now() + patience_ns;
    const processor* const mine = own != nullptr ? own->p : nullptr;
    for (std::uint32_t turn = 0;; ++turn) {
      complete_ = true;
      scheduler.for_each_live_p([&](processor& p) {
        complete_ = (&p == mine || has_stopped(p, phase, turn)) && complete_;
      });
      if (complete_ || traits::now() >= end) {
        return;
      }
      os::sleep_ns(50'000);
    }
  }

  ~freezer() { scheduler_.freeze.finish(); }
  freezer(const freezer&) = delete;
  freezer& operator=(const freezer&) = delete;

  /// Whether all holders of Ps have stopped.
  bool complete() const noexcept { return complete_; }

  /// The callers of a goroutine that runs, noted down by its M; null if it runs on no such M.
  const os::call_stack* callers_of(const goroutine& g) const noexcept {
    const os::call_stack* found = nullptr;
    scheduler_.for_each_live_p([&](processor& p) {
      machine* const m = p.m.peek();
      // [fz.phase <] acquire: the callers
      const bool waits = p.frozen_in.load(acquire) == scheduler_.freeze.own_phase();
      if ((waits || m == own_) && m != nullptr && m->g == &g) {
        found = &m->callers;
      }
    });
    return found;
  }

 private:
  bool has_stopped(processor& p, std::uint32_t phase, std::uint32_t turn) noexcept {
    if (p.status.load(acquire) != p_status::running) {  // [p.status <] acquire: what its M has left
      return true;
    }
    if (p.frozen_in.load(acquire) == phase) {  // [fz.phase <] acquire: its callers
      return true;
    }
    // [p.attention >] release: pairs with the exchange in attend.
    p.attention.fetch_or(attention_freeze, release);
    machine* const m = p.m.peek();  // A stray signal is harmless
    if (m != nullptr && m->as_host == nullptr && scheduler_.config().interrupts && turn % 16 == 0) {
      m->self.interrupt(m->interruption);
    }
    return false;
  }

  runtime_scheduler& scheduler_;
  machine* const own_;
  bool complete_ = false;
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif  // THRUM_DETAIL_SCHED_FREEZE_FREEZE_HPP
