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
#include <thrum/detail/sched/core/m.hpp>

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// Used by the creator's thread only.
class reclaimer {
 public:
  static constexpr std::int64_t never = INT64_MAX;

  explicit reclaimer(runtime_scheduler& scheduler) noexcept : scheduler_(scheduler) {}

  /// When work() has something to do, unless something becomes idle before (GB1).
  std::int64_t next() const noexcept {
    const std::int64_t first = stacks_at_ < threads_at_ ? stacks_at_ : threads_at_;
    return joins_at_ < first ? joins_at_ : first;
  }

  /// The M's thread ends: when it has, the M is vacant.
  void join_later(machine& m) noexcept;

  /// Does a little of what is to be done now.
  void work(std::int64_t now) noexcept {
    work_on_stacks(now);
    work_on_threads(now);
    join_ended(now);
  }

 private:
  void work_on_stacks(std::int64_t now) noexcept;
  void collect_from_idle_ps() noexcept;
  void discard(const base::intrusive_queue<goroutine>& stacks) noexcept;
  void work_on_threads(std::int64_t now) noexcept;
  void join_ended(std::int64_t now) noexcept;

  /// Stacks and threads at a time: about a millisecond's work.
  static constexpr std::size_t stacks_at_once = 64;
  static constexpr std::uint32_t threads_at_once = 16;
  static constexpr std::int64_t pause_ns = 5'000'000;

  runtime_scheduler& scheduler_;
  std::int64_t stacks_at_ = never;
  std::int64_t next_age_ = never;
  std::int64_t threads_at_ = never;
  std::int64_t joins_at_ = never;
  std::int64_t join_pause_ns_ = pause_ns;
  machine* ending_ = nullptr;  // told to end, their threads may still be there
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
