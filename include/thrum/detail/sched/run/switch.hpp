// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Switching between goroutines, and which code runs on which stack.
//
// Purpose
//   A goroutine that leaves the processor picks its successor on its own stack and switches
//   straight to it: one switch, 2 ns, no detour over the M's stack. Only when it finds nothing does
//   it switch to g0, which searches further and sleeps.
//
// The one rule
//   The stack of a goroutine that leaves is in use until the switch is over. So nothing that lets
//   another thread resume it (unlocking a channel, standing on a queue, arming a timer) may happen
//   before; it is left in `m.left` and done by the code that the processor arrives at: `arrive`,
//   the first thing on every resumed, fresh or g0 stack. Publishing a waiter that still runs on its
//   own stack is the classic corruption of this kind of library.
//
// Invariants
//   LO1  m.left is empty whenever user code runs.
//   LO2  a switch returns the M that the goroutine now runs on; anything read from the old M, or
//        from a thread-local, before the switch is stale after it.
//   LO3  a goroutine's ABI words for caught exceptions are in its G while it is off the processor
//        and in its thread while it is on; g0 runs with both zero.
//   LO4  a goroutine that is switched to is inside the scheduler (section.hpp) until it returns to
//        user code.
//   LO5  errno is the goroutine's: it finds it as it left it, on whatever thread. It lies on its
//        stack while it is off the processor.
#ifndef THRUM_DETAIL_SCHED_RUN_SWITCH_HPP
#define THRUM_DETAIL_SCHED_RUN_SWITCH_HPP

#include <thrum/detail/arch/arch.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/base/sanitizer.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/queue/lock_rank.hpp>
#include <thrum/detail/sched/run/background.hpp>
#include <thrum/detail/sched/run/latency.hpp>
#include <thrum/detail/sched/run/ready.hpp>
#include <thrum/detail/sched/run/take.hpp>
#include <thrum/detail/trace/hooks.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// A goroutine has left the processor with a stack pointer that is not of its stack.
THRUM_COLD inline void look_at_overrun(goroutine& g, const void* sp) noexcept {
  const auto report = g.scheduler->config().stack_overrun;
  if (report != nullptr && g.pool->holds(sp)) {
    report(&g);
  }
}

/// What the goroutine that left waits for has come meanwhile.
THRUM_COLD inline void ready_again(machine& m, goroutine& g) noexcept {
  if (m.p != nullptr) {
    ready_on(m, g, true);
  } else {
    ready_elsewhere(g);
  }
}

/// First thing after every switch: does what the goroutine that left has asked for.
THRUM_INLINE void arrive(machine& m, base::stack_context& here) noexcept {
  base::after_switch(here);
  goroutine* const g = m.left.g;
  if (g == nullptr) {
    return;
  }
  m.left.g = nullptr;
  // Here, as this stack is sound.
  if (const void* const sp = g->sp.get(); is_beyond_stack(*g, sp)) [[unlikely]] {
    look_at_overrun(*g, sp);
  }
  if (!m.left.commit(m, *g, m.left.argument)) [[unlikely]] {
    ready_again(m, *g);
  }
  THRUM_ASSERT(LR3, count_held_locks() == 0);
}

/// For leave(), if one of both goroutines is bound or timed. Returns `next`, or null: let g0 switch to it.
THRUM_COLD inline goroutine* look_at_flags(machine& m, goroutine& g, goroutine& next) noexcept {
  if ((g.flags & g_timed) != 0) {
    end_timed_slice(m, g);
  }
  if (((next.flags | g.flags) & g_bound) != 0) {
    m.pending = &next;  // one of the two needs another thread, which is g0's business
    return nullptr;
  }
  if ((next.flags & g_timed) != 0) {
    end_timed_wait(m, next);
  }
  return &next;
}

/// Leaves the running goroutine for `next`, or for g0 if that is null. Returns when a thread
/// switches back: its M, perhaps another one. `commit(argument)` runs as soon as the stack is left.
THRUM_INLINE machine& leave(machine& m, goroutine* next, commit_function commit, void* argument,
                            bool for_good = false) noexcept {
  goroutine& g = *m.g;
  THRUM_ASSERT(LO1, m.left.g == nullptr);
  THRUM_ASSERT(BG1, next == nullptr || !is_in_background(*next));
  THRUM_ASSERT(BG2, next == nullptr || !is_in_background(g));
  m.left.g = &g;
  m.left.commit = commit;
  m.left.argument = argument;
  const int error_number = *m.error_number;
  if constexpr (THRUM_EXCEPTIONS) {
    g.exceptions = *m.exceptions;  // LO3
  }
  void* target;
  base::stack_context* context;
  if (next != nullptr && ((next->flags | g.flags) & (g_bound | g_timed)) != 0) [[unlikely]] {
    next = look_at_flags(m, g, *next);
  }
  if (next != nullptr) {
    next->status.set(g_status::running);
    m.p->counts.switches.add();
    if constexpr (THRUM_EXCEPTIONS) {
      *m.exceptions = next->exceptions;
    }
    target = next->sp.get();
    context = &next->context;
  } else {
    if ((g.flags & g_timed) != 0) [[unlikely]] {
      end_timed_slice(m, g);
    }
    if constexpr (THRUM_EXCEPTIONS) {
      *m.exceptions = {};
    }
    target = m.g0_sp;
    context = &m.context;
  }
  trace_detail::switches(m, g, next, for_good);
  m.g = next;
  base::before_switch(g.context, *context, for_good);
  // Between two goroutines that both left by this call a return is predicted, else a jump is.
  void* now;
  if (!for_good && next != nullptr && (next->flags & g_started) != 0) [[likely]] {
    now = arch::switch_stack_paired(g.sp_slot(), target, &m);
  } else {
    if (next != nullptr) {
      next->flags |= g_started;
    }
    now = arch::switch_stack(g.sp_slot(), target, &m);
  }
  auto& here = *static_cast<machine*>(now);  // LO2: m is another one
  THRUM_ASSERT(LO4, here.inside.get() != 0);
  arrive(here, g.context);
  *here.error_number = error_number;  // LO5
  return here;
}

/// What to run after the goroutine that leaves; null: let g0 search. Runs on that goroutine's
/// stack, so it only looks where looking is cheap.
THRUM_INLINE goroutine* take_next(machine& m) noexcept {
  processor& p = *m.p;
  if (p.attention.get() != 0) [[unlikely]] {
    return nullptr;
  }
  if (p.timers.size() != 0 && ++p.timer_ticks >= traits::timer_check_interval) [[unlikely]] {
    p.timer_ticks = 0;
    return nullptr;  // g0 looks at the clock
  }
  if (global_turn(p)) [[unlikely]] {
    if (is_turn_of_g0(m)) {
      return nullptr;
    }
    if (goroutine* g = take_behind_ring_in_turn(m)) {
      return g;
    }
  }
  if (goroutine* g = take_local(m)) {
    return g;
  }
  return take_behind_ring(m);
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
