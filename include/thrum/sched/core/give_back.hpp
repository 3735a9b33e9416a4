// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a burst leaves behind, and nobody has used for a while, goes back to the system: the pages
// of stacks, and threads.
//
// Purpose
//   Twenty thousand goroutines that once used 32 KiB each would keep 700 MB for ever, a thousand
//   calls that blocked at once a thousand threads. The creator's thread does this beside its other
//   work, a few at a time: to give pages back, and to see a thread end, takes locks of the kernel
//   and of the C library.
//
// Stacks
//   Those that the pool holds grow older by their place in it (stack.hpp). What nobody has taken
//   for a whole period loses its pages except the one with the G, which stays a G for ever. A P
//   that has been idle for a period gives the pool what it kept for itself.
//
// Threads
//   An idle M that was not needed for a whole period is one too many; how many those are is the
//   least number of idle Ms in that period, less one for each P and two for sudden needs of a
//   thread. Such an M is taken out of the idle list and woken without a P, as at the end of the
//   scheduler, and its thread ends. Nobody waits for that: destructors of the user's thread_local
//   objects run meanwhile. When it has ended the M is vacant, as one whose thread the system has
//   refused, and is the next that is given a thread.
//
// Invariants
//   GB1  when nothing is idle, or all has been given back, next() is `never`: the creator sleeps
//        until the pool or stop_m tells it that something has become idle.
//   GB2  a virtual clock stands until all Ms sleep: its scheduler keeps its threads.
#ifndef THRUM_SCHED_CORE_GIVE_BACK_HPP
#define THRUM_SCHED_CORE_GIVE_BACK_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/intrusive_queue.hpp>
#include <thrum/base/order.hpp>
#include <thrum/os/os.hpp>
#include <thrum/sched/core/m.hpp>
#include <thrum/sched/core/stack.hpp>

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// Of the creator's thread only.
template <class Traits>
class basic_give_back {
 public:
  using g_type = basic_g<Traits>;
  using m_type = basic_m<Traits>;
  using p_type = basic_p<Traits>;

  static constexpr std::int64_t never = INT64_MAX;

  explicit basic_give_back(basic_scheduler<Traits>& scheduler) noexcept : scheduler_(scheduler) {}

  /// When work() has something to do, unless something becomes idle before.
  std::int64_t next() const noexcept {
    const std::int64_t first = stacks_at_ < threads_at_ ? stacks_at_ : threads_at_;
    return joins_at_ < first ? joins_at_ : first;
  }

  /// Does a little of what is to be done now.
  void work(std::int64_t now) noexcept {
    work_on_stacks(now);
    work_on_threads(now);
    join_ended(now);
  }

 private:
  void work_on_stacks(std::int64_t now) noexcept;
  void collect_from_idle_ps() noexcept;
  void discard(const base::intrusive_queue<g_type>& stacks) noexcept;
  void work_on_threads(std::int64_t now) noexcept;
  void join_ended(std::int64_t now) noexcept;

  /// Stacks and threads at a time: about a millisecond's work.
  static constexpr std::size_t stacks_at_once = 64;
  static constexpr std::uint32_t threads_at_once = 16;
  static constexpr std::int64_t pause_ns = 5'000'000;

  basic_scheduler<Traits>& scheduler_;
  std::int64_t stacks_at_ = never;
  std::int64_t next_age_ = never;
  std::int64_t threads_at_ = never;
  std::int64_t joins_at_ = never;
  std::int64_t join_pause_ns_ = pause_ns;
  m_type* ending_ = nullptr;  // told to end, their threads may still be there
};

template <class Traits>
void basic_give_back<Traits>::work_on_stacks(std::int64_t now) noexcept {
  stack_pool<Traits>& pool = *scheduler_.pool;
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
  base::intrusive_queue<g_type> due = pool.take_oldest(stacks_at_once, size_class);
  if (!due.empty()) {
    discard(due);
    pool.put_discarded(size_class, static_cast<decltype(due)&&>(due));
    stacks_at_ = now + pause_ns;
  } else {
    stacks_at_ = pool.has_idle() ? next_age_ : never;
  }
}

/// The pages between the guard and the one that holds the G.
template <class Traits>
void basic_give_back<Traits>::discard(const base::intrusive_queue<g_type>& stacks) noexcept {
  const std::size_t page = os::page_size();
  for (g_type* g = stacks.front(); g != nullptr; g = g->queue_next) {
    auto* const top = reinterpret_cast<char*>(g);
    char* const end = top - (reinterpret_cast<std::uintptr_t>(top) & (page - 1));
    if (end > g->stack_low) {
      os::discard_now(g->stack_low, static_cast<std::size_t>(end - g->stack_low));
    }
  }
}

template <class Traits>
void basic_give_back<Traits>::collect_from_idle_ps() noexcept {
  base::intrusive_queue<g_type> all;
  {
    scoped guard(scheduler_.idle.lock());
    scheduler_.idle.for_each_p_locked([&](p_type& p) {
      const std::uint32_t tick = p.schedule_tick.load(relaxed);  // relaxed: nobody holds it
      if (p.idle_since_tick != tick) {
        p.idle_since_tick = tick;
      } else {
        all.append(static_cast<decltype(all)&&>(p.free_list));
        p.free_count = 0;
      }
    });
  }
  if (!all.empty()) {
    scheduler_.pool->put(scheduler_.config().stack_class, static_cast<decltype(all)&&>(all));
  }
}

template <class Traits>
void basic_give_back<Traits>::work_on_threads(std::int64_t now) noexcept {
  auto& idle = scheduler_.idle;
  if (threads_at_ != never && now < threads_at_) {
    return;
  }
  scoped guard(idle.lock());
  if (!scheduler_.has_idle_threads || scheduler_.closing.load(relaxed)) {  // relaxed: locked
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
    m_type* const m = idle.take_m_to_end_locked();
    m->idle_next = ending_;
    ending_ = m;
    joins_at_ = now + pause_ns;
    join_pause_ns_ = pause_ns;
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

template <class Traits>
void basic_give_back<Traits>::join_ended(std::int64_t now) noexcept {
  if (now < joins_at_) {
    return;
  }
  for (m_type** link = &ending_; *link != nullptr;) {
    m_type& m = **link;
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
