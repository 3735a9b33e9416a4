// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Stopping a runtime: every parked goroutine unwinds, every running one is waited for.
//
// Steps
//   announce   `stopping`: from now on every cancellable wait ends at once
//   withdraw   each goroutine that waits already is taken out of its wait and told to exit
//   drain      wait until every goroutine has ended; a thread that is a host runs them meanwhile,
//              and what is bound to a host that has no thread ends on any
//   close      end the threads (runtime_scheduler::close)
//
// Why no goroutine is missed: it publishes its wait point and then reads `stopping`; the stopper
// writes `stopping`, passes a heavy fence, and then reads the published points. In either order one
// of them sees the other. If the point is published but its goroutine has not left its
// stack yet, its object is still locked, and withdraw waits for that.
//
// Why no point is used after its end, and no object after its: see wait_point.hpp.
//
// Goroutines in waits that cannot be cancelled (a mutex) end when their holders do. A goroutine
// that computes for ever keeps stop() waiting for ever: there is no sound way to end it; after a second
// it is named on standard error. Without
// exceptions nothing can be unwound: a cancelled goroutine ends where it stands, and the objects on
// its stack are not destroyed.
//
#ifndef THRUM_DETAIL_SCHED_LIFE_SHUTDOWN_HPP
#define THRUM_DETAIL_SCHED_LIFE_SHUTDOWN_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/host/host_attach.hpp>
#include <thrum/detail/sched/host/host_loop.hpp>
#include <thrum/detail/sched/run/wait_point.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// Opens the gate of a parked goroutine.
inline void announce(goroutine& g) noexcept {
  // [s.stop <] acquire: the point that it linked.
  if (wait_point* const point = g.withdrawable.load(acquire)) {
    point->gate.announce();
  }
}

/// Takes a parked goroutine out of its wait and tells it to exit.
inline void withdraw(goroutine& g) noexcept {
  // [s.stop <] acquire: the point that it linked.
  wait_point* const point = g.withdrawable.load(acquire);
  if (point == nullptr || is_settled(*point)) {
    return;
  }
  const withdrawal outcome =
      point->gate.visit([point]() noexcept { return point->withdraw(*point, false); });
  if (outcome == withdrawal::done) {
    point->cause.set(wake_cause::cancelled);
    wake(*point);
  }
}

/// Ends every wait that is there and may be ended. Returns when no point is looked at any more.
inline void withdraw_all(runtime_scheduler& scheduler) noexcept {
  scheduler.ending.withdraw([&] {
    scheduler.pool->for_each([](goroutine& g) { announce(g); });
    traits::heavy_fence();  // [s.gate =] the gates are open before the causes are read
    scheduler.pool->for_each([](goroutine& g) { withdraw(g); });
  });
}

/// Ends every goroutine; returns when the last one has. Called by one thread, which is none of this
/// scheduler's.
inline void stop(runtime_scheduler& scheduler) noexcept {
  scheduler.ending.begin();
  withdraw_all(scheduler);
  orphan_if_nobody_comes(scheduler);
  constexpr std::int64_t patience_ns = 1'000'000'000;
  const std::int64_t slow_from = traits::now() + patience_ns;
  auto* slow_stop = scheduler.config().slow_stop;
  const auto sleep = [&](os::note& drained) noexcept {
    if (slow_stop != nullptr && !sleep_or_help(drained, slow_from)) {
      slow_stop(scheduler.config().user);
      slow_stop = nullptr;
    }
    if (slow_stop == nullptr) {
      sleep_or_help(drained);
    }
  };
  // A timer that fires may start a goroutine, and that may arm a timer.
  do {
    scheduler.ending.wait_until([&] { return scheduler.goroutine_count() == 0; }, sleep);
    {
      // A P that retires hands its timers on, under this lock: from here on it keeps them.
      scoped guard(scheduler.idle.lock());
      scheduler.discards_timers = true;
    }
    scheduler.for_each_p([](processor& p) { p.timers.discard_all(); });
  } while (scheduler.goroutine_count() != 0);
  scoped guard(scheduler.idle.lock());
  scheduler.hosts.stop_locked();
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
