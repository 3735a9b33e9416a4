// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The holder of a P stands still while another thread looks at all stacks: see freeze/freeze.hpp.
//
// It notes down its own callers before it waits, if it has a goroutine. It may have been
// interrupted anywhere, in the unwinder and the loader, so the stack is walked with checks and
// without locks: freeze/frame_walk.hpp.
#ifndef THRUM_DETAIL_SCHED_FREEZE_FREEZE_HOLDER_HPP
#define THRUM_DETAIL_SCHED_FREEZE_FREEZE_HOLDER_HPP

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

}}}  // namespace thrum::THRUM_ABI::sched

#endif
