// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the creator's thread does. The essay is in thread_creator.hpp.
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
#ifndef THRUM_DETAIL_SCHED_THREAD_THREAD_CREATOR_WORK_HPP
#define THRUM_DETAIL_SCHED_THREAD_THREAD_CREATOR_WORK_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/base/intrusive_queue.hpp>
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/thread/thread_creator.hpp>

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

THRUM_OUT_OF_LINE void thread_creator::wait() noexcept {
  std::int64_t until = retry_at_ < check_at_ ? retry_at_ : check_at_;
  until = give_back_.next() < until ? give_back_.next() : until;
  bool woken = true;
  if (until == never) {
    note_.sleep();
  } else {
    woken = note_.sleep_for(until - traits::now());
  }
  if (woken) {
    note_.clear_while_woken();
  }
  const std::int64_t now = traits::now();
  if (now >= check_at_) {
    check_at_ = now + scheduler_.config().check_every_ns;
    if (!scheduler_.exit_of_process.has_begun()) {
      scheduler_.config().check(scheduler_.config().user);
    }
  }
  give_back_.work(now);
  if (retry_at_ != never || scheduler_.ms.holds_back()) {
    const bool again = now >= retry_at_;
    if (again) {
      retry_at_ = never;
    }
    scheduler_.release_held(again);
    if (retry_at_ == never && scheduler_.ms.holds_back()) {
      retry_at_ = now + retry_ns;
    }
  }
}

THRUM_OUT_OF_LINE void thread_creator::run() noexcept {
  os::set_thread_name("thrum/creator");
  if (const std::int64_t period = scheduler_.config().check_every_ns; period != 0) {
    check_at_ = traits::now() + period;
  }
  for (bool last = false; !last;) {
    wait();
    last = closing_.load(acquire);  // [cr.list <] acquire: as in close
    // [cr.list <] acquire: the Ms.
    for (machine* m = first_.exchange(nullptr, acquire); m != nullptr;) {
      machine* const next = m->idle_next;
      if (m->ends) [[unlikely]] {
        give_back_.join_later(*m);
      } else {
        start(*m);
      }
      m = next;
    }
    // relaxed: published by the note
    if (dump_wanted_.exchange(false, relaxed) && scheduler_.config().dump != nullptr) {
      scheduler_.config().dump(scheduler_.config().user);
    }
    start_late();
    // relaxed: published by the note
    if (const std::uint8_t size_class = stack_wanted_.exchange(0, relaxed);
        size_class != 0 && !last) {
      make_stack(size_class);
    }
    // relaxed: published by the note
    if (spare_wanted_.exchange(false, relaxed) && !last && retry_at_ == never) {
      if (machine* const spare = make_spare_(scheduler_)) {
        start(*spare);
      }
    }
  }
}

THRUM_OUT_OF_LINE void thread_creator::start_late() noexcept {
  // [cr.list <] acquire: the objects.
  for (late_start* each = first_late_.exchange(nullptr, acquire); each != nullptr;) {
    late_start* const next = each->next;
    each->start(*each);
    each = next;
    late_starts_.fetch_sub(1, release);  // [cr.late >] release: what has been made runnable
  }
}

THRUM_OUT_OF_LINE void thread_creator::make_stack(std::uint8_t size_class) noexcept {
  if (goroutine* const g = scheduler_.pool->make(size_class)) {
    base::intrusive_queue<goroutine> one;
    one.push_back(g);
    scheduler_.pool->put(size_class, static_cast<decltype(one)&&>(one));
    scheduler_.wake_processor();  // for the fork that found none
  }
}

THRUM_OUT_OF_LINE void thread_creator::start(machine& m) noexcept {
  const int error =
      m.for_signals.reserve() ? os::thread::start(m.thread, m_main_, &m) : -os::no_memory;
  if (error == 0) {
    scheduler_.ms.set_limit(m_table::any_number);
    refusals_ = 0;
    return;
  }
  m.for_signals.give_back();
  retry_at_ = traits::now() + retry_ns;
  scheduler_.take_back(m);
  const bool has_none = scheduler_.ms.with_thread() == 0 && scheduler_.hosts.made() == 0;
  if (!has_warned_) {
    has_warned_ = true;
    base::message<> text("thrum: go: the system refuses thread ");
    text.append(std::uint64_t{m.id} + 1).append(" of this runtime (errno ");
    text.append(static_cast<std::uint64_t>(error));
    text.append(has_none ? "); it has no other thread and tries again; "
                         : "); it continues with the threads it has; ");
    text.append("raise the limit of processes or memory, or lower options::procs\n");
    base::write_error(text.view());
  }
  if (has_none && ++refusals_ == most_refusals) {
    base::message<512> text("go: the system has refused the only thread of this runtime ");
    text.append(std::uint64_t{most_refusals}).append(" times in a row (errno ");
    text.append(static_cast<std::uint64_t>(error)).append("), so no goroutine can run; ");
    text.append(
        "raise the limit of processes (ulimit -u, pids.max) or memory: a runtime takes three ");
    text.append("threads beside the program's own");
    base::fatal(text.view());
  }
}

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

#endif  // THRUM_DETAIL_SCHED_THREAD_THREAD_CREATOR_WORK_HPP
