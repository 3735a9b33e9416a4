// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The end of a goroutine, and where its stack begins.
//
//   E1 the task has returned; on its own stack it takes over what waits for it
//   E2 it leaves for good: for the goroutine that joins it if there is one, else for the next
//   E3 the arriving side counts it and recycles it, or, if there is a handle, marks it done: now
//      the handle may recycle it
//   If the handle lets go between E1 and E3, nobody would destroy the result; E3 then returns
//   false, and the goroutine runs once more to do it on its own stack. A handle sees `done` under
//   the join lock, so E3 has let go of the G by then.
#ifndef THRUM_SCHED_RUN_END_HPP
#define THRUM_SCHED_RUN_END_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/fatal.hpp>
#include <thrum/base/intrusive_queue.hpp>
#include <thrum/base/order.hpp>
#include <thrum/base/sanitizer.hpp>
#include <thrum/sched/core/scheduler.hpp>
#include <thrum/sched/core/section.hpp>
#include <thrum/sched/run/switch.hpp>
#include <thrum/sched/run/wait_point.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

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

/// The goroutine must run on this M's thread.
template <class Traits>
void bind(basic_m<Traits>& m, basic_g<Traits>& g) noexcept {
  g.bound = &m;
  g.flags |= g_bound;
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

}}}  // namespace thrum::THRUM_ABI::sched

#endif
