// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// P: the right to run goroutines, and everything that is kept once per such right.
//
// A P is memory, not a thread. Its holder (an M, or a thread that is handing it over) owns
// the owner's side of its run queue, its free list and its counters without any lock.
#ifndef THRUM_DETAIL_SCHED_CORE_P_HPP
#define THRUM_DETAIL_SCHED_CORE_P_HPP

#include <thrum/detail/base/cache_line.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/intrusive_queue.hpp>
#include <thrum/detail/sched/core/counters.hpp>
#include <thrum/detail/sched/core/g.hpp>
#include <thrum/detail/sched/core/p_state.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/fork/fork_deque.hpp>
#include <thrum/detail/sched/queue/run_queue.hpp>
#include <thrum/detail/sched/queue/timer_heap.hpp>
#include <thrum/detail/sched/queue/yield_queue.hpp>
#include <thrum/detail/sched/stack/free_list.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

struct forked;
struct machine;

#if THRUM_SEPARATE
extern template class timer_heap<traits>;
#endif

struct alignas(base::cache_line_size) processor {
  explicit processor(std::uint32_t number) noexcept : id(number) {}

  // -- the holder only --
  const std::uint32_t id;
  std::uint32_t timer_ticks = 0;  // switches since the clock was last read for timers
  /// Goroutines that may come through runnext before others go first, whether or not the monitor
  /// says that the slice is over.
  std::uint32_t inheritances_left = traits::most_inheritances;
  /// The turn in which a background goroutine came last, by schedule_tick: see run/background.hpp.
  std::uint32_t background_tick = 0;
  /// The last goroutine from behind the ring came from `yielded`: the global queue's turn is next.
  bool global_is_next = false;
  /// Turns of the global queue since goroutines that yield were levelled, and with which P. Not at the same
  /// turn as the other one: each would take back what the other took.
  std::uint32_t turns_since_look = id * 7 % 16;
  std::uint32_t levelled_with = 0;
  std::uint32_t background_shares = 0;  // turns that the monitor has asked for
  /// What the goroutine that runs since switch `io_since` may still do in input and output before
  /// it looks whether another goroutine waits; and how often it has looked in this slice.
  std::int64_t io_left = 0;
  std::uint64_t io_since = 0;
  std::uint32_t io_looks = 0;
  std::uint32_t io_slice = 0;
  goroutine_id next_id = 0;  // ids [next_id, last_id) are this P's to give
  goroutine_id last_id = 0;
  /// Dead Gs of the default stack class.
  free_list<goroutine, traits::free_goroutines_per_p> free_gs;
  counters counts;
  latency_counts latencies;
  /// When the last timed goroutine began to run, and its number among the switches: see run/latency.hpp.
  std::int64_t slice_from = 0;
  std::uint64_t slice_of = 0;

  // -- the holder writes, the monitor reads --
  /// Goroutines scheduled; one that came through runnext inherits the slice and does not count.
  figure<std::uint32_t> schedule_tick;
  /// Times the P came back from, or was taken out of, a system call.
  figure<std::uint32_t> syscall_tick;

  /// When a goroutine continued that a signal had stopped, and the slice that began with it. Kept only
  /// for these: no other slice costs a look at the clock.
  atomic<std::uint32_t> resumed_tick{0};
  atomic<std::int64_t> resumed_at{0};

  // -- anyone writes, the holder clears --
  hint<std::uint32_t> attention{0};
  /// Wake-ups of an idle P that hand-offs through runnext may still cause. Each one costs a
  /// credit; a thief that found such a goroutine, or the monitor that saw one wait, restores all.
  /// So a pair that passes the processor back and forth soon stops calling for help it cannot use,
  /// while a producer whose consumers run elsewhere keeps calling.
  hint<std::uint32_t> wake_credit{traits::wake_credit};
  /// Whether the last first call that a goroutine made here was long: see run/syscall.hpp.
  hint<bool> first_calls_are_long{false};

  // -- the monitor writes, the holder reads --
  /// How long the slice had lasted when the monitor last asked for preemption.
  one_writer<std::int64_t> slice_ran_ns{0};
  /// And which slice it was: by the time the request is seen, another one may have begun.
  one_writer<std::uint32_t> asked_tick{0};

  // -- [p.status] see p_status --
  one_writer<p_status> status{p_status::idle};
  one_writer<machine*> m{nullptr};

  /// The freeze in which the holder waits or has waited last: see freeze.hpp.
  atomic<std::uint32_t> frozen_in{0};

  // -- under the scheduler's lock --
  std::uint32_t idle_since_tick = 0;  // its schedule_tick when give_back saw it idle last
  processor* idle_next = nullptr;

  // -- the monitor only --
  what_was_seen seen;

  run_queue<goroutine, traits> queue;
  yield_queue<goroutine, traits> yielded;
  timer_heap<traits> timers;
  /// The forks of goroutines that began to fork here.
  fork_list<forked, traits> forks;

  /// Whether goroutines wait here for their turn.
  bool has_queued() const noexcept { return !queue.empty() || !yielded.empty(); }
  /// So many, at about this time.
  std::size_t queued() const noexcept {
    return queue.size() + (queue.peek_runnext() != nullptr ? 1U : 0U) + yielded.size();
  }
  /// Takes all of them. The holder, or a thread that hands the P over.
  base::intrusive_queue<goroutine> drain() noexcept {
    auto all = queue.drain();
    all.append(yielded.drain());
    return all;
  }
};

}}}  // namespace thrum::THRUM_ABI::sched

#if THRUM_BODIES && THRUM_SEPARATE
// What a P consists of that is compiled once in a program: the templates that it has as members.

namespace thrum { inline namespace THRUM_ABI { namespace sched {

template class timer_heap<traits>;

}}}  // namespace thrum::THRUM_ABI::sched
#endif

#endif
