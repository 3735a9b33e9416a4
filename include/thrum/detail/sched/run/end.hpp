// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The end of a goroutine. Its beginning is in start.hpp.
//
//   E1 the task has returned; on its own stack it takes over what waits for it
//   E2 it leaves for good: for the goroutine that joins it if there is one, else for the next
//   E3 the arriving side counts it and recycles it, or, if there is a handle, marks it done: now
//      the handle may recycle it
//   If the handle lets go between E1 and E3, it leaves the result behind. E3 then returns false,
//   and the goroutine runs once more to destroy it on its own stack. A handle sees `done` under
//   the join lock, so E3 has let go of the G by then.
//
// Fences of [s.count]: count_end, goroutine_count.
#ifndef THRUM_DETAIL_SCHED_RUN_END_HPP
#define THRUM_DETAIL_SCHED_RUN_END_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/base/intrusive_queue.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/base/sanitizer.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/core/section.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/run/background.hpp>
#include <thrum/detail/sched/run/switch.hpp>
#include <thrum/detail/sched/run/wait_point.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// Takes back a dead G with another stack than the usual one.
THRUM_NOINLINE inline void recycle_other(goroutine& g) noexcept {
  base::intrusive_queue<goroutine> one;
  one.push_back(&g);
  g.pool->put(g.size_class, static_cast<decltype(one)&&>(one));
}

/// The P has more dead Gs than it keeps.
THRUM_NOINLINE inline void give_spare_to_pool(machine& m) noexcept {
  m.scheduler->pool->put(m.scheduler->config().stack_class, m.p->free_gs.take_spare());
}

/// Takes a dead G back into the P's free list.
THRUM_INLINE void recycle(machine& m, goroutine& g) noexcept {
  if (g.size_class != m.scheduler->config().stack_class) [[unlikely]] {
    recycle_other(g);
  } else if (m.p->free_gs.put(g)) [[unlikely]] {
    give_spare_to_pool(m);
  }
}

/// Takes the waiter for the end of this goroutine, which the caller wakes then. It holds the join
/// lock.
inline wait_point* take_joiner_locked(goroutine& g) noexcept {
  wait_point* const joiner = g.joiner;
  g.joiner = nullptr;
  if (joiner != nullptr) {
    settle(*joiner, wake_cause::notified);
  }
  return joiner;
}

/// Counts an ended goroutine; the last one that a stopping runtime waits for says so.
inline void count_end(machine& m) noexcept {
  runtime_scheduler& scheduler = *m.scheduler;
  m.p->counts.finished.add_release();
  // [s.stop =] counted before the flag is read; pairs with stop()'s heavy one
  traits::light_fence();
  if (scheduler.ending.has_begun()) [[unlikely]] {
    traits::fence(seq_cst);  // [s.count =] of two last ones, at least one sees both counts
    if (scheduler.goroutine_count() == 0) {
      scheduler.ending.tell_drained();
    }
  }
}

/// E3 for a goroutine without a handle.
inline bool commit_end(machine& m, goroutine& g, void*) noexcept {
  g.extent.note_limit(arch::parked_limit(g.sp.get()));
  base::context_destroy(g.context);
  g.status.set(g_status::dead);
  recycle(m, g);
  count_end(m);
  return true;
}

/// E3 for a goroutine with a handle. `joiner` was taken at E1 and is to be woken.
inline bool commit_end_joined(machine& m, goroutine& g, void* joiner) noexcept {
  auto* first = static_cast<wait_point*>(joiner);
  g.join_lock.lock();
  if (g.join.get() == join_state::detached) {
    g.join_lock.unlock();
    return false;
  }
  g.extent.note_limit(arch::parked_limit(g.sp.get()));
  base::context_destroy(g.context);
  g.status.set(g_status::dead);
  count_end(m);
  // A joiner may have come since E1, but not if E1 found one: a handle has one user.
  if (first == nullptr) {
    first = take_joiner_locked(g);
  }
  // [join.done >] release: the result, to a look without the lock.
  g.join.store(join_state::done, release);
  g.join_lock.unlock();
  if (first != nullptr) {
    wake(*first);
  }
  return true;
}

/// The goroutine must run on this M's thread.
inline void bind(machine& m, goroutine& g) noexcept {
  g.bound = &m;
  g.flags |= g_bound;
}

/// Whether bind() holds: not for one that is, or was, bound to a host.
inline bool is_bound_to_thread(const goroutine& g) noexcept {
  return (g.flags & (g_bound | g_on_host)) == g_bound;
}

/// The goroutine may run on any thread again.
inline void unbind(machine& m, goroutine& g) noexcept {
  m.locked_g = nullptr;
  g.bound = nullptr;
  g.flags &= static_cast<std::uint8_t>(~g_bound);
}

/// A goroutine ends that has not given its thread_lock back: what it has done to the thread stays, so no
/// other goroutine gets that thread. `next` is what runs next; returns what may be switched to at once.
inline goroutine* let_go_of_thread(machine& m, goroutine& g, goroutine* next) noexcept {
  if (g.thread_locks == 0) [[likely]] {
    return next;
  }
  g.thread_locks = 0;
  if (!is_bound_to_thread(g)) {
    return next;
  }
  unbind(m, g);
  if (m.scheduler->clock.is_virtual()) {
    return next;  // GB2
  }
  m.ends = true;
  m.locked_g = &g;  // as for a goroutine that is locked there, g0 runs no other: see loop.hpp
  m.pending = next;
  return nullptr;
}

/// E1 and E2 of what has more to do than to end: a handle, values of its own, a thread of its own.
[[noreturn]] THRUM_NOINLINE inline void end_with_more(goroutine& g) noexcept {
  if (g.forks != nullptr) [[unlikely]] {  // only where nothing has unwound it
    base::fatal(
        "a goroutine ended inside fork_join, parallel_for or parallel_reduce, which it cannot "
        "without exceptions: return from the function instead of calling this_goroutine::exit");
  }
  for (;;) {
    // Each time: the destructor of a result may have made some.
    if (g.locals != nullptr) [[unlikely]] {
      destroy_locals(g.locals);
    }
    machine* const m = &enter_scheduler(*current_m());
    // relaxed: only a handle changes it now, and if there is none it stays `none`
    if (g.join.load(relaxed) == join_state::none) {
      goroutine* const next = take_next(*m);
      leave(*m, let_go_of_thread(*m, g, next), &commit_end, nullptr, true);
    }
    g.join_lock.lock();
    const bool detached = g.join.get() == join_state::detached;
    wait_point* joiner = take_joiner_locked(g);
    g.join_lock.unlock();
    if (detached) {
      leave_scheduler(*m);
      g.discard_result(g);
      g.join.set(join_state::none);
      continue;
    }
    goroutine* next = nullptr;
    // A P that is asked for something goes through g0
    if (joiner != nullptr && joiner->g != nullptr && joiner->g->scheduler == g.scheduler &&
        m->p->attention.get() == 0 && !is_in_background(*joiner->g)) {
      next = joiner->g;
      trace_detail::readied(m, *next);
      joiner = nullptr;
    } else {
      next = take_next(*m);
    }
    // Returns only if the handle has let go meanwhile.
    next = let_go_of_thread(*m, g, next);
    leave_scheduler(leave(*m, next, &commit_end_joined, joiner, true));
  }
}

/// E1 and E2. Does not return.
[[noreturn]] inline void end_goroutine(goroutine& g) noexcept {
  // relaxed: only a handle changes it, and if there is none it stays `none`
  if (g.forks != nullptr || g.locals != nullptr || g.thread_locks != 0 ||
      g.join.load(relaxed) != join_state::none) {
    end_with_more(g);
  }
  machine& m = enter_scheduler(*current_m());
  leave(m, take_next(m), &commit_end, nullptr, true);
  __builtin_unreachable();
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
