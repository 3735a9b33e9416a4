// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// When no goroutine can ever run again.
//
// Only run() asks for this: it knows that the thread which started it waits for it. The program is
// dead when at one moment
//   - goroutines are alive, and every one of them is parked: no M runs, searches, is being started
//     or is inside a blocking call
//   - no timer is armed and no goroutine waits for a descriptor
//   - the process has no threads that might still do something: only Ms, the monitor, and the
//     threads that wait in run()
// A moment: the monitor looks whether all is quiet, counts the threads of the process, and looks
// once more. If nothing has run in between, then what it counted was there while all was quiet; and
// a thread that was gone by then cannot have readied a goroutine.
//
// What is not seen: two threads, one of them foreign, that wait for each other.
//
// Source: Go's checkdead, which counts the threads that it made itself and gives up in programs
// with others.
#ifndef THRUM_DETAIL_SCHED_WATCH_DEADLOCK_HPP
#define THRUM_DETAIL_SCHED_WATCH_DEADLOCK_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/base/sanitizer.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/core/traits.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// What may make an idle scheduler run again.
enum class liveness : std::uint8_t {
  by_itself,  // a timer or a descriptor; or deadlocks are not looked for
  by_others,  // a thread that is not ours, or that is not asleep yet: its end is not reported
  by_nothing,
};

/// Grows with whatever a P does: the same twice means that nothing has run in between.
inline std::uint64_t activity(runtime_scheduler& scheduler) noexcept {
  // The counts of those that retire leave the sum, which must not look like others having run.
  constexpr int above_all_counts = 48;
  std::uint64_t sum = scheduler.ps.live_changes() << above_all_counts;
  scheduler.for_each_live_p([&](processor& p) {
    sum += p.counts.switches.get() + p.counts.finished.get() + p.counts.timers.get();
  });
  return sum;
}

/// What the scheduler itself knows; `ran` changes when anything has run.
inline liveness examine(runtime_scheduler& scheduler, std::uint64_t& ran) noexcept {
  ran = activity(scheduler);
  bool armed = false;
  scheduler.for_each_live_p([&](processor& p) {
    armed = armed || p.timers.earliest_armed() != timer_heap<traits>::never;
  });
  bool polled = false;
  if (scheduler.poller.descriptors() != 0) {
    scheduler.pool->for_each([&](goroutine& g) {
      polled = polled || (g.status.get() == g_status::waiting && is_polled(g.reason.get()));
    });
  }
  if (armed || polled || scheduler.goroutine_count() == 0) {
    return liveness::by_itself;
  }
  scoped guard(scheduler.idle.lock());
  if (scheduler.creator.has_late_starts()) {
    return liveness::by_others;
  }
  return scheduler.is_quiet_locked() ? liveness::by_nothing : liveness::by_others;
}

/// Whether the goroutine that run() waits for still lives. If not, its thread is on the way to stop
/// all others, perhaps without a CPU for a while.
inline bool main_lives(runtime_scheduler& scheduler) noexcept {
  constexpr goroutine_id first = 1;
  bool lives = false;
  scheduler.pool->for_each([&](goroutine& g) {
    const g_status status = g.status.get();
    lives = lives || (g.id == first && status != g_status::dead && status != g_status::idle);
  });
  return lives;
}

/// The monitor's look; does not return if the program is dead.
inline liveness look_for_deadlock(runtime_scheduler& scheduler) noexcept {
  const scheduler_config& config = scheduler.config();
  if (config.deadlock == nullptr || scheduler.ending.has_begun()) {
    return liveness::by_itself;
  }
  std::uint64_t before;
  if (const liveness seen = examine(scheduler, before); seen != liveness::by_nothing) {
    return seen;
  }
  constexpr std::size_t helpers = 2;  // the monitor and the creator
  // Passive threads are counted before and after the threads; the smaller count is taken.
  const unsigned passive_before = os::passive_threads.get();
  const std::size_t threads = os::count_threads();
  const unsigned passive_after = os::passive_threads.get();
  const std::size_t ours = std::size_t{scheduler.ms.with_thread()} + helpers +
                           config.passive_threads + base::sanitizer_threads +
                           (passive_before < passive_after ? passive_before : passive_after);
  if (threads == 0 || threads > ours) {
    return liveness::by_others;
  }
  std::uint64_t after;
  if (main_lives(scheduler) && examine(scheduler, after) == liveness::by_nothing &&
      before == after) {
    config.deadlock(config.user);
  }
  return liveness::by_others;
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
