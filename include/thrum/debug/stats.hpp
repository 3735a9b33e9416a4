// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The figures of a scheduler.
#ifndef THRUM_DEBUG_STATS_HPP
#define THRUM_DEBUG_STATS_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace thrum { inline namespace THRUM_ABI {

/// Durations, counted by powers of two.
struct latency_histogram {
  /// counts[i]: of less than 2^i ns and no less than 2^(i - 1) ns. The last count has also longer ones.
  std::array<std::uint64_t, sched::durations::buckets> counts{};

  /// How many were counted.
  std::uint64_t total() const noexcept {
    std::uint64_t n = 0;
    for (const std::uint64_t each : counts) {
      n += each;
    }
    return n;
  }

  /// A time that at least this share of the durations was below, 0 to 1: a power of two. 0 if none was counted.
  std::chrono::nanoseconds quantile(double share) const noexcept {
    const auto wanted = static_cast<double>(total()) * share;
    std::uint64_t n = 0;
    for (std::size_t i = 0; i != counts.size(); ++i) {
      n += counts[i];
      if (n != 0 && static_cast<double>(n) >= wanted) {
        return std::chrono::nanoseconds(std::int64_t{1} << i);
      }
    }
    return {};
  }
};

/// What goroutines have waited for, and how long, since the runtime began. Samples: a clock costs more than a
/// switch.
struct latencies {
  latency_histogram ready;  ///< from ready to running, but for goroutines that run next anyway
  latency_histogram poll;   ///< likewise, for goroutines that the poller has found: from its return
  latency_histogram
      slice;  ///< how long goroutines ran in a row; all slices that a preemption has ended
  latency_histogram timer;  ///< how late timers fired: the earliest of those that fired together
};

/// The state of a runtime, collected while it runs. Each figure is exact at some moment of the
/// collection; they are not of one instant.
struct stats_snapshot {
  unsigned procs = 0;                     ///< processors in force
  unsigned idle_procs = 0;                ///< of them, without work
  unsigned threads = 0;                   ///< OS threads that run goroutines
  unsigned idle_threads = 0;              ///< of them, asleep
  unsigned spinning = 0;                  ///< of them, searching for work
  std::size_t global_queue = 0;           ///< goroutines in the global queue
  std::size_t background_queue = 0;       ///< goroutines of background priority that wait to run
  std::vector<std::size_t> local_queues;  ///< of each processor: ring and runnext
  std::uint64_t goroutines = 0;           ///< alive
  std::uint64_t runnable = 0;             ///< of them, on a queue
  std::uint64_t running = 0;              ///< of them, on a processor
  std::uint64_t waiting = 0;              ///< of them, parked
  std::uint64_t in_syscall = 0;           ///< of them, inside blocking()
  std::uint64_t created = 0;              ///< goroutines ever started
  std::uint64_t finished = 0;             ///< goroutines that have ended
  std::uint64_t switches = 0;             ///< times a goroutine was put on a processor
  std::uint64_t steals = 0;               ///< goroutines that changed processors by stealing
  std::uint64_t preemptions = 0;          ///< time slices that were cut
  std::uint64_t signals = 0;              ///< sent to threads to cut them
  std::uint64_t exchanges = 0;  ///< slices cut when no thread was free: one such for another
  std::uint64_t hand_offs = 0;  ///< processors taken from blocking() that lasted
  std::uint64_t retakes = 0;    ///< processors taken from other calls that blocked
  std::uint64_t stopped_without_p = 0;   ///< threads that computed after that, and had to wait
  std::uint64_t timers = 0;              ///< timers armed
  std::uint64_t timers_fired = 0;        ///< timers that came due
  std::uint64_t polled_descriptors = 0;  ///< goroutines parked on descriptors
  std::size_t stack_bytes = 0;           ///< address space reserved for stacks, used or not
  thrum::latencies latencies;            ///< how long goroutines wait to run, and run
};

namespace debug {

/// Adds the samples of a processor.
inline void add_latencies(latencies& to, const sched::latency_counts& from) noexcept {
  const auto add = [](latency_histogram& all, const sched::durations& some) noexcept {
    for (std::size_t i = 0; i != all.counts.size(); ++i) {
      all.counts[i] += some.in(i);
    }
  };
  add(to.ready, from.ready);
  add(to.poll, from.poll);
  add(to.slice, from.slice);
  add(to.timer, from.timer);
}

stats_snapshot collect(sched::runtime_scheduler& scheduler);

}  // namespace debug
}}  // namespace thrum::THRUM_ABI

#if THRUM_BODIES
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/sched/core/section.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace debug {

using namespace base::orders;

THRUM_OUT_OF_LINE stats_snapshot collect(sched::runtime_scheduler& scheduler) {
  stats_snapshot s;
  s.local_queues.reserve(scheduler.procs());
  s.procs = scheduler.procs();
  s.idle_procs = scheduler.idle.idle_ps();
  s.threads = scheduler.ms.with_thread();
  s.idle_threads = scheduler.idle.idle_ms();
  s.spinning = scheduler.idle.spinning();
  s.global_queue = scheduler.global.size();
  s.background_queue = scheduler.background.size();
  s.hand_offs = scheduler.hand_offs.get();
  s.signals = scheduler.taken.signals.get();
  s.exchanges = scheduler.taken.exchanges.get();
  s.retakes = scheduler.taken.retakes.get();
  s.stopped_without_p = scheduler.taken.without_p.get();
  {
    const sched::section here;
    s.stack_bytes = scheduler.pool->reserved_bytes();
  }
  scheduler.for_each_p([&](sched::processor& p) {
    if (p.id < s.procs) {
      s.local_queues.push_back(p.queued());
    }
    s.finished += p.counts.finished.get();
    s.switches += p.counts.switches.get();
    s.steals += p.counts.steals.get();
    s.preemptions += p.counts.preemptions.get();
    {
      const sched::section here;
      s.timers += p.timers.armed();
    }
    s.timers_fired += p.counts.timers.get();
    add_latencies(s.latencies, p.latencies);
  });
  scheduler.for_each_p([&](const sched::processor& p) { s.created += p.counts.created.get(); });
  s.created += scheduler.created_elsewhere();
  s.goroutines = s.created - s.finished;
  scheduler.pool->for_each([&](sched::goroutine& g) {
    switch (g.status.peek()) {
      case sched::g_status::runnable: ++s.runnable; break;
      case sched::g_status::running:
      case sched::g_status::preempted: ++s.running; break;
      case sched::g_status::waiting:
        ++s.waiting;
        if (sched::is_polled(g.reason.peek())) {
          ++s.polled_descriptors;
        }
        break;
      case sched::g_status::syscall: ++s.in_syscall; break;
      case sched::g_status::idle:
      case sched::g_status::dead: break;
    }
  });
  return s;
}

}}}  // namespace thrum::THRUM_ABI::debug
#endif

#endif
