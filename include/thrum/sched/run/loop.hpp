// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The life of an M: g0 finds a goroutine, switches to it, and is switched back to when that one
// leaves and knows no successor.
#ifndef THRUM_SCHED_RUN_LOOP_HPP
#define THRUM_SCHED_RUN_LOOP_HPP

#include <thrum/arch/arch.hpp>
#include <thrum/base/config.hpp>
#include <thrum/base/order.hpp>
#include <thrum/base/sanitizer.hpp>
#include <thrum/sched/core/scheduler.hpp>
#include <thrum/sched/core/section.hpp>
#include <thrum/sched/run/find_work.hpp>
#include <thrum/sched/run/frozen.hpp>
#include <thrum/sched/run/ready.hpp>
#include <thrum/sched/run/switch.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// g0 -> goroutine. Returns when a goroutine of this M finds no successor.
inline void execute(machine& m, goroutine& g) noexcept {
  wait_if_frozen(m);
  m.g = &g;
  g.status.store(g_status::running, relaxed);  // relaxed: we took it from a queue
  m.p->counts.switches.add();
  if constexpr (THRUM_EXCEPTIONS) {
    *m.exceptions = g.exceptions;
  }
  g.flags |= g_started;
  base::before_switch(m.context, g.context, false);
  // relaxed: the queue published it
  arch::switch_stack(&m.g0_sp, g.sp.load(relaxed), &m);
  arrive(m, m.context);
}

/// g0 has a goroutine that must run on another thread: gives that thread its P.
inline void pass_to_owner(machine& m, goroutine& g) noexcept {
  machine& owner = *g.bound;
  m.scheduler->pass_p(m.scheduler->release_p(m), owner, false);
}

/// g0 of a thread whose goroutine has locked itself to it and has left: others run elsewhere until
/// that goroutine's turn comes.
inline goroutine* wait_for_locked(machine& m) noexcept {
  runtime_scheduler& scheduler = *m.scheduler;
  if (m.pending != nullptr) {
    ready_on(m, *m.pending, true);
    m.pending = nullptr;
  }
  // Before others may find that all is quiet; this thread does no more than go to sleep.
  scheduler.locked_asleep.fetch_add(1, relaxed);  // relaxed: published by the idle lock
  if (m.p != nullptr) {
    scheduler.hand_off(scheduler.release_p(m));
  }
  scheduler.wait_for_p(m);
  scheduler.locked_asleep.fetch_sub(1, relaxed);  // relaxed: published by the idle lock
  return m.locked_g;
}

/// The life of an M's thread.
inline void* m_main(void* argument) noexcept {
  auto& m = *static_cast<machine*>(argument);
  runtime_scheduler& scheduler = *m.scheduler;
  const scheduler_config& config = scheduler.config();
  set_current_m(&m);
  os::this_threads_exit_watch().watch(config.exit_hook);
#if THRUM_CHECKS
  may_lock.store(&is_lock_allowed, relaxed);  // relaxed: a constant once set
#endif
  m.exceptions = os::thread_exception_state();
  m.error_number = os::thread_error_number();
  base::context_adopt(m.context);

  base::message<32> name;
  name.append(config.name).append("/").append(std::uint64_t{m.id});
  name.append(std::string_view("\0", 1));
  os::set_thread_name(name.view().data());
  m.tid.store(os::thread_id(), relaxed);  // relaxed: published with the first P
  m.cpu_clock.open();
  m.interruption.interrupt = scheduler.upcalls().interrupt;
  m.interruption.argument = &m;
  m.for_signals.open(m.interruption);
  if (config.thread_started != nullptr) {
    config.thread_started(config.user, m.id);
  }
  goroutine* g = nullptr;
  if (!m.awaited) {
    {
      scoped guard(scheduler.idle.lock());
      scheduler.spare_starts = false;
    }
    g = find_work(m);  // begins with going to sleep
  } else if (scheduler.wait_for_p(m)) {
    {
      scoped guard(scheduler.idle.lock());
      // relaxed: under the lock
      scheduler.creating.store(scheduler.creating.load(relaxed) - 1, relaxed);
    }
    g = find_work(m);
  }
  scheduler.creator.lower_own_priority();
  while (g != nullptr) {
    if (m.spinning) {
      scheduler.idle.end_spinning(m);
      // The last spinner that found something leaves a successor, so that more of it is found.
      scheduler.wake_processor_after_rmw();
    }
    if (scheduler.reserve.is_active() && scheduler.reserve.hold_back(*g, [&] {
          return is_short_of_threads(scheduler);
        })) [[unlikely]] {
      // Not this one, on this thread.
    } else if ((g->flags & g_bound) != 0 && m.locked_g != g) {
      pass_to_owner(m, *g);
    } else {
      execute(m, *g);
    }
    g = m.locked_g != nullptr ? wait_for_locked(m) : find_work(m);
  }
  if (config.thread_stopping != nullptr) {
    config.thread_stopping(config.user, m.id);
  }
  os::this_threads_exit_watch().forget();
  m.tid.store(0, relaxed);  // relaxed: a signal that is sent now is none of this M's
  m.for_signals.close();
  set_current_m(nullptr);
  return nullptr;
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
