// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Gives back to the system what a burst leaves behind and then stays unused for a while: the pages
// of stacks, and threads.
//
// Purpose
//   Twenty thousand goroutines that once used 32 KiB each would keep 700 MB for ever, a thousand
//   calls that blocked at once a thousand threads. The creator's thread does this beside its other
//   work, a few at a time: to give pages back, and to see a thread end, takes locks of the kernel
//   and of the C library.
//
// Stacks
//   Stacks in the pool grow older by their place in it (stack_pool.hpp). A stack that was not taken for
//   a whole period loses its pages, except the one with the G, which stays a G for ever. A P
//   that has been idle for a period gives the pool what it kept for itself.
//
// Threads
//   An idle M that was not needed for a whole period is one too many. The number of such Ms is the
//   least number of idle Ms in that period, less one for each P and two for sudden needs of a
//   thread. Such an M is taken out of the idle list and woken without a P, as at the end of the
//   scheduler, and its thread ends. The creator does not wait for that end: destructors of the user's
//   thread_local objects run meanwhile. Then the M is vacant, as one whose thread the system has
//   refused, and is the next to get a thread. An M whose goroutine ends without giving its
//   thread_lock back takes this way, too.
//
// Invariants
//   GB1  when nothing is idle, or all has been given back, next() is `never`: the creator sleeps
//        until the pool or stop_m tells it that something has become idle.
//   GB2  a virtual clock stands until all Ms sleep: its scheduler keeps its threads.
#ifndef THRUM_DETAIL_SCHED_THREAD_GIVE_BACK_HPP
#define THRUM_DETAIL_SCHED_THREAD_GIVE_BACK_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/intrusive_queue.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/thread/thread_creator.hpp>

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

THRUM_OUT_OF_LINE void reclaimer::work_on_stacks(std::int64_t now) noexcept {
  stack_pool& pool = *scheduler_.pool;
  const std::int64_t period = scheduler_.config().stack_idle_ns;
  if (stacks_at_ == never) {
    if (pool.has_idle()) {
      stacks_at_ = next_age_ = now + period;
    }
    return;
  }
  if (now < stacks_at_) {
    return;
  }
  if (now >= next_age_) {
    collect_from_idle_ps();
    pool.grow_older();
    next_age_ = now + period;
  }
  std::uint8_t size_class;
  base::intrusive_queue<goroutine> due = pool.take_oldest(stacks_at_once, size_class);
  if (!due.empty()) {
    discard(due);
    pool.put_discarded(size_class, static_cast<decltype(due)&&>(due));
    stacks_at_ = now + pause_ns;
  } else {
    stacks_at_ = pool.has_idle() ? next_age_ : never;
  }
}

/// The pages between the guard and the one that holds the G. Those of hooks are no system's.
THRUM_OUT_OF_LINE void reclaimer::discard(const base::intrusive_queue<goroutine>& stacks) noexcept {
  if (scheduler_.pool->has_hooks()) {
    return;
  }
  const std::size_t page = os::page_size();
  for (goroutine* g = stacks.front(); g != nullptr; g = g->queue_next) {
    auto* const top = reinterpret_cast<char*>(g);
    char* const end = top - (reinterpret_cast<std::uintptr_t>(top) & (page - 1));
    if (end > g->stack_low) {
      // SP4: all but the page of the G
      g->extent.shrink(g->stack_low, end);
    }
  }
}

THRUM_OUT_OF_LINE void reclaimer::collect_from_idle_ps() noexcept {
  base::intrusive_queue<goroutine> all;
  {
    scoped guard(scheduler_.idle.lock());
    scheduler_.idle.for_each_p_locked([&](processor& p) {
      const std::uint32_t tick = p.schedule_tick.get();  // no M holds it
      if (p.idle_since_tick != tick) {
        p.idle_since_tick = tick;
      } else {
        all.append(p.free_gs.take_all());
      }
    });
  }
  if (!all.empty()) {
    scheduler_.pool->put(scheduler_.config().stack_class, static_cast<decltype(all)&&>(all));
  }
}

THRUM_OUT_OF_LINE void reclaimer::work_on_threads(std::int64_t now) noexcept {
  auto& idle = scheduler_.idle;
  if (threads_at_ != never && now < threads_at_) {
    return;
  }
  scoped guard(idle.lock());
  if (!scheduler_.has_idle_threads || scheduler_.closing.get()) {
    threads_at_ = never;
    return;
  }
  const std::int64_t period = scheduler_.config().thread_idle_ns;
  if (threads_at_ == never) {
    idle.forget_least_ms_locked();
    threads_at_ = now + period;
    return;
  }
  const std::uint32_t keep = scheduler_.kept_threads();
  for (std::uint32_t n = 0; n != threads_at_once && idle.least_ms_locked() > keep; ++n) {
    machine* const m = idle.take_m_to_end_locked();
    join_later(*m);
    m->park.wake();  // without a P: its thread ends
  }
  if (idle.least_ms_locked() > keep) {
    threads_at_ = now + pause_ns;
  } else if (idle.idle_ms() > keep) {
    idle.forget_least_ms_locked();
    threads_at_ = now + period;
  } else {
    scheduler_.has_idle_threads = false;
    threads_at_ = never;
  }
}

THRUM_OUT_OF_LINE void reclaimer::join_later(machine& m) noexcept {
  m.ends = false;
  m.idle_next = ending_;
  ending_ = &m;
  joins_at_ = traits::now() + pause_ns;
  join_pause_ns_ = pause_ns;
}

THRUM_OUT_OF_LINE void reclaimer::join_ended(std::int64_t now) noexcept {
  if (now < joins_at_) {
    return;
  }
  for (machine** link = &ending_; *link != nullptr;) {
    machine& m = **link;
    if (m.thread.try_join()) {
      *link = m.idle_next;
      scheduler_.vacate(m);
    } else {
      link = &m.idle_next;
    }
  }
  if (ending_ == nullptr) {
    joins_at_ = never;
    return;
  }
  constexpr std::int64_t longest = 1'000'000'000;
  joins_at_ = now + join_pause_ns_;
  join_pause_ns_ = 2 * join_pause_ns_ < longest ? 2 * join_pause_ns_ : longest;
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
