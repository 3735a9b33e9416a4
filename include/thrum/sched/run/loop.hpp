// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What runs on whose stack: switching, starting and ending goroutines, the loop of an M.
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
//
// The end of a goroutine
//   E1 the task has returned; on its own stack it takes over what waits for it
//   E2 it leaves for good: for the goroutine that joins it if there is one, else for the next
//   E3 the arriving side counts it and recycles it, or, if there is a handle, marks it done: now
//      the handle may recycle it
//   If the handle lets go between E1 and E3, nobody would destroy the result; E3 then returns
//   false, and the goroutine runs once more to do it on its own stack. A handle sees `done` under
//   the join lock, so E3 has let go of the G by then.
#ifndef THRUM_SCHED_RUN_LOOP_HPP
#define THRUM_SCHED_RUN_LOOP_HPP

#include <thrum/arch/arch.hpp>
#include <thrum/base/config.hpp>
#include <thrum/base/fatal.hpp>
#include <thrum/base/order.hpp>
#include <thrum/base/sanitizer.hpp>
#include <thrum/sched/core/scheduler.hpp>
#include <thrum/sched/core/section.hpp>
#include <thrum/sched/run/find_work.hpp>
#include <thrum/sched/run/ready.hpp>
#include <thrum/sched/run/wait_point.hpp>

#include <cstdint>

namespace thrum::inline THRUM_ABI::sched {

/// A goroutine has left the processor with a stack pointer that is not of its stack.
template <class Traits>
THRUM_COLD void look_at_overrun(basic_g<Traits>& g, const void* sp) noexcept {
  const auto report = g.scheduler->config().stack_overrun;
  if (report != nullptr && g.pool->holds(sp)) {
    report(&g);
  }
}

/// What the goroutine that left waits for has come meanwhile.
template <class Traits>
THRUM_COLD void ready_again(basic_m<Traits>& m, basic_g<Traits>& g) noexcept {
  if (m.p != nullptr) {
    ready_on(m, g, true);
  } else {
    ready_elsewhere(g);
  }
}

/// First thing after every switch: does what the goroutine that left has asked for.
template <class Traits>
THRUM_INLINE void arrive(basic_m<Traits>& m, base::stack_context& here) noexcept {
  base::after_switch(here);
  basic_g<Traits>* const g = m.left.g;
  if (g == nullptr) {
    return;
  }
  m.left.g = nullptr;
  // Here, as this stack is sound. relaxed: this thread has written it
  if (const void* const sp = g->sp.load(relaxed); is_beyond_stack(*g, sp)) [[unlikely]] {
    look_at_overrun(*g, sp);
  }
  if (!m.left.commit(m, *g, m.left.argument)) [[unlikely]] {
    ready_again(m, *g);
  }
}

/// Leaves the running goroutine for `next`, or for g0 if that is null. Returns when somebody
/// switches back: the M, perhaps another one. `commit(argument)` runs as soon as the stack is left.
template <class Traits>
THRUM_INLINE basic_m<Traits>& leave(basic_m<Traits>& m, basic_g<Traits>* next,
                                    commit_function<Traits> commit, void* argument,
                                    bool for_good = false) noexcept {
  basic_g<Traits>& g = *m.g;
  THRUM_ASSERT(LO1, m.left.g == nullptr);
  m.left.g = &g;
  m.left.commit = commit;
  m.left.argument = argument;
  const int error_number = *m.error_number;
  if constexpr (THRUM_EXCEPTIONS) {
    g.exceptions = *m.exceptions;
  }
  void* target;
  base::stack_context* context;
  if (next != nullptr && ((next->flags | g.flags) & g_bound) != 0) [[unlikely]] {
    m.pending = next;  // one of the two needs another thread, which is g0's business
    next = nullptr;
  }
  if (next != nullptr) {
    next->status.store(g_status::running, relaxed);  // relaxed: we took it from a queue
    m.p->counts.switches.add();
    if constexpr (THRUM_EXCEPTIONS) {
      *m.exceptions = next->exceptions;
    }
    target = next->sp.load(relaxed);  // relaxed: the queue published it
    context = &next->context;
  } else {
    if constexpr (THRUM_EXCEPTIONS) {
      *m.exceptions = {};
    }
    target = m.g0_sp;
    context = &m.context;
  }
  m.g = next;
  base::before_switch(g.context, *context, for_good);
  // Between two goroutines that both left by this call a return is predicted, else a jump is.
  void* now;
  if (!for_good && next != nullptr && next->flags != 0) [[likely]] {
    now = arch::switch_stack_paired(g.sp_slot(), target, &m);
  } else {
    if (next != nullptr) {
      next->flags = g_started;
    }
    now = arch::switch_stack(g.sp_slot(), target, &m);
  }
  auto& here = *static_cast<basic_m<Traits>*>(now);
  arrive(here, g.context);
  *here.error_number = error_number;  // LO5
  return here;
}

/// g0 -> goroutine. Returns when a goroutine of this M finds no successor.
template <class Traits>
void execute(basic_m<Traits>& m, basic_g<Traits>& g) noexcept {
  wait_if_frozen(m);
  m.g = &g;
  g.status.store(g_status::running, relaxed);  // relaxed: we took it from a queue
  m.p->counts.switches.add();
  if constexpr (THRUM_EXCEPTIONS) {
    *m.exceptions = g.exceptions;
  }
  g.flags |= g_started;
  base::before_switch(m.context, g.context, false);
  // relaxed: the queue published it
  arch::switch_stack(&m.g0_sp, g.sp.load(relaxed), &m);
  arrive(m, m.context);
}

/// What to run after the goroutine that leaves; null: let g0 search. Runs on that goroutine's
/// stack, so it only looks where looking is cheap.
template <class Traits>
basic_g<Traits>* take_next(basic_m<Traits>& m) noexcept {
  basic_p<Traits>& p = *m.p;
  // relaxed: a request that we miss by a moment is seen at the next switch
  if (p.attention.load(relaxed) != 0) [[unlikely]] {
    return nullptr;
  }
  if (p.timers.size() != 0 && ++p.timer_ticks >= Traits::timer_check_interval) [[unlikely]] {
    p.timer_ticks = 0;
    return nullptr;  // g0 looks at the clock
  }
  if (global_turn(p)) [[unlikely]] {
    if (is_poll_due(*m.scheduler)) {
      return nullptr;  // g0 polls
    }
    if (basic_g<Traits>* g = take_global_in_turn(m)) {
      return g;
    }
  }
  if (basic_g<Traits>* g = take_local(m)) {
    return g;
  }
  return take_global(m);
}

/// Takes a dead G back into the P's free list.
template <class Traits>
void recycle(basic_m<Traits>& m, basic_g<Traits>& g) noexcept {
  basic_p<Traits>& p = *m.p;
  if (g.size_class != m.scheduler->config().stack_class) {
    base::intrusive_queue<basic_g<Traits>> one;
    one.push_back(&g);
    g.pool->put(g.size_class, static_cast<decltype(one)&&>(one));
    return;
  }
  p.free_list.push_front(&g);
  if (++p.free_count > Traits::free_goroutines_per_p) [[unlikely]] {
    auto half = p.free_list.pop_front_n(Traits::free_goroutines_per_p / 2);
    p.free_count -= Traits::free_goroutines_per_p / 2;
    m.scheduler->pool->put(m.scheduler->config().stack_class, static_cast<decltype(half)&&>(half));
  }
}

/// What waits for the end of this goroutine, now ours to wake. Caller holds the join lock.
template <class Traits>
basic_wait_point<Traits>* take_joiner_locked(basic_g<Traits>& g) noexcept {
  basic_wait_point<Traits>* const joiner = g.joiner;
  g.joiner = nullptr;
  if (joiner != nullptr) {
    settle(*joiner, wake_cause::notified);
  }
  return joiner;
}

/// Counts an ended goroutine; the last one that a stopping runtime waits for says so.
template <class Traits>
void count_end(basic_m<Traits>& m) noexcept {
  basic_scheduler<Traits>& scheduler = *m.scheduler;
  m.p->counts.finished.add_release();
  Traits::light_fence();  // [s.stop] counted before the flag is read; pairs with stop()'s heavy one
  // relaxed: ordered by the fence
  if (scheduler.stopping.load(relaxed)) [[unlikely]] {
    Traits::fence(seq_cst);  // [s.count] of two last ones, at least one sees both counts
    if (scheduler.goroutine_count() == 0) {
      scheduler.drained.wake();
    }
  }
}

/// E3 for a goroutine without a handle.
template <class Traits>
bool commit_end(basic_m<Traits>& m, basic_g<Traits>& g, void*) noexcept {
  base::context_destroy(g.context);
  g.status.store(g_status::dead, relaxed);  // relaxed: for display
  recycle(m, g);
  count_end(m);
  return true;
}

/// E3 for a goroutine with a handle. `joiner` was taken at E1 and is to be woken.
template <class Traits>
bool commit_end_joined(basic_m<Traits>& m, basic_g<Traits>& g, void* joiner) noexcept {
  auto* first = static_cast<basic_wait_point<Traits>*>(joiner);
  g.join_lock.lock();
  if (g.join.load(relaxed) == join_state::detached) {  // relaxed: locked
    g.join_lock.unlock();
    return false;
  }
  base::context_destroy(g.context);
  g.status.store(g_status::dead, relaxed);  // relaxed: for display
  count_end(m);
  // Somebody may have come since E1, but not if E1 found somebody: a handle has one user.
  if (first == nullptr) {
    first = take_joiner_locked(g);
  }
  // [join.done] release: the result, to a look without the lock.
  g.join.store(join_state::done, release);
  g.join_lock.unlock();
  if (first != nullptr) {
    wake(*first);
  }
  return true;
}

/// The goroutine may run on any thread again.
template <class Traits>
void unbind(basic_m<Traits>& m, basic_g<Traits>& g) noexcept {
  m.locked_g = nullptr;
  g.bound = nullptr;
  g.flags &= static_cast<std::uint8_t>(~g_bound);
}

/// E1 and E2. Does not return.
template <class Traits>
[[noreturn]] void end_goroutine(basic_g<Traits>& g) noexcept {
  for (;;) {
    // Each time: the destructor of a result may have made some.
    if (g.locals != nullptr) [[unlikely]] {
      destroy_locals(g.locals);
    }
    basic_m<Traits>* const m = &enter_scheduler(*current_m<Traits>());
    if (g.thread_locks != 0) [[unlikely]] {
      g.thread_locks = 0;  // without exceptions nobody has unwound it
      unbind(*m, g);
    }
    // relaxed: only a handle changes it now, and if there is none it stays `none`
    if (g.join.load(relaxed) == join_state::none) {
      leave(*m, take_next(*m), &commit_end<Traits>, nullptr, true);
    }
    g.join_lock.lock();
    const bool detached = g.join.load(relaxed) == join_state::detached;  // relaxed: locked
    basic_wait_point<Traits>* joiner = take_joiner_locked(g);
    g.join_lock.unlock();
    if (detached) {
      leave_scheduler(*m);
      g.discard_result(g);
      g.join.store(join_state::none, relaxed);  // relaxed: the handle is gone, nobody else looks
      continue;
    }
    basic_g<Traits>* next = nullptr;
    // relaxed: a hint; a P that is asked for something goes through g0
    if (joiner != nullptr && joiner->g != nullptr && joiner->g->scheduler == g.scheduler &&
        m->p->attention.load(relaxed) == 0) {
      next = joiner->g;
      joiner = nullptr;
    } else {
      next = take_next(*m);
    }
    // Returns only if the handle has let go meanwhile.
    leave_scheduler(leave(*m, next, &commit_end_joined<Traits>, joiner, true));
  }
}

/// Where a fresh stack begins.
template <class Traits>
void goroutine_main(void* pass, void* argument) {
  auto& g = *static_cast<basic_g<Traits>*>(argument);
  auto& m = *static_cast<basic_m<Traits>*>(pass);
  arrive(m, g.context);
  *m.error_number = 0;  // as on a fresh thread
  leave_scheduler(m);
  g.entry(g);
  base::fatal("goroutine: an entry function has returned");
}

/// g0 has a goroutine that must run on another thread: gives that thread its P.
template <class Traits>
void pass_to_owner(basic_m<Traits>& m, basic_g<Traits>& g) noexcept {
  basic_m<Traits>& owner = *g.bound;
  m.scheduler->pass_p(m.scheduler->release_p(m), owner, false);
}

/// g0 of a thread whose goroutine has locked itself to it and has left: others run elsewhere until
/// that goroutine's turn comes.
template <class Traits>
basic_g<Traits>* wait_for_locked(basic_m<Traits>& m) noexcept {
  basic_scheduler<Traits>& scheduler = *m.scheduler;
  if (m.pending != nullptr) {
    ready_on(m, *m.pending, true);
    m.pending = nullptr;
  }
  // Before others may find that all is quiet; this thread does no more than go to sleep.
  scheduler.locked_asleep.fetch_add(1, relaxed);  // relaxed: published by the idle lock
  if (m.p != nullptr) {
    scheduler.hand_off(scheduler.release_p(m));
  }
  scheduler.wait_for_p(m);
  scheduler.locked_asleep.fetch_sub(1, relaxed);  // relaxed: as above
  return m.locked_g;
}

/// The M's thread was interrupted, to give up its P. In preempt.hpp.
template <class Traits>
void interrupt(void* m) noexcept;

/// The life of an M's thread.
template <class Traits>
void* m_main(void* argument) noexcept {
  auto& m = *static_cast<basic_m<Traits>*>(argument);
  basic_scheduler<Traits>& scheduler = *m.scheduler;
  const scheduler_config& config = scheduler.config();
  set_current_m(&m);
  os::this_threads_exit_watch().watch(config.exit_hook);
#if THRUM_CHECKS
  may_lock.store(&is_lock_allowed<Traits>, relaxed);  // relaxed: a constant
#endif
  m.exceptions = os::thread_exception_state();
  m.error_number = os::thread_error_number();
  base::context_adopt(m.context);

  base::message<32> name;
  name.append(config.name).append("/").append(std::uint64_t{m.id});
  name.append(std::string_view("\0", 1));
  os::set_thread_name(name.view().data());
  m.tid.store(os::thread_id(), relaxed);  // relaxed: published with the first P
  m.cpu_clock.open();
  m.interruption.interrupt = &interrupt<Traits>;
  m.interruption.argument = &m;
  m.for_signals.open(m.interruption);
  if (config.thread_started != nullptr) {
    config.thread_started(config.user, m.id);
  }
  basic_g<Traits>* g = nullptr;
  if (!m.awaited) {
    {
      scoped guard(scheduler.idle.lock());
      scheduler.spare_starts = false;
    }
    g = find_work(m);  // begins with going to sleep
  } else if (scheduler.wait_for_p(m)) {
    {
      scoped guard(scheduler.idle.lock());
      scheduler.creating.store(scheduler.creating.load(relaxed) - 1, relaxed);  // relaxed: locked
    }
    g = find_work(m);
  }
  scheduler.creator.lower_own_priority();
  while (g != nullptr) {
    if (m.spinning) {
      scheduler.idle.end_spinning(m);
      // The last spinner that found something leaves a successor, so that more of it is found.
      scheduler.wake_processor_after_rmw();
    }
    if (scheduler.reserve.is_active() && scheduler.reserve.hold_back(*g, [&] {
          return is_short_of_threads(scheduler);
        })) [[unlikely]] {
      // Not this one, on this thread.
    } else if ((g->flags & g_bound) != 0 && m.locked_g != g) {
      pass_to_owner(m, *g);
    } else {
      execute(m, *g);
    }
    g = m.locked_g != nullptr ? wait_for_locked(m) : find_work(m);
  }
  if (config.thread_stopping != nullptr) {
    config.thread_stopping(config.user, m.id);
  }
  os::this_threads_exit_watch().forget();
  m.tid.store(0, relaxed);  // relaxed: a signal that is sent now is none of this M's
  m.for_signals.close();
  set_current_m<Traits>(nullptr);
  return nullptr;
}

}  // namespace thrum::inline THRUM_ABI::sched

#endif
