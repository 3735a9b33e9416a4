// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a host searches, and with which P: it acquires its P and releases it, finds a goroutine that
// may run on its thread, and runs a slice of it. The essay is in host_loop.hpp.
#ifndef THRUM_DETAIL_SCHED_HOST_HOST_SEARCH_HPP
#define THRUM_DETAIL_SCHED_HOST_HOST_SEARCH_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/intrusive_queue.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/fork/fork_thief.hpp>
#include <thrum/detail/sched/host/host.hpp>
#include <thrum/detail/sched/host/host_attach.hpp>
#include <thrum/detail/sched/run/attend.hpp>
#include <thrum/detail/sched/run/background.hpp>
#include <thrum/detail/sched/run/execute.hpp>
#include <thrum/detail/sched/run/loop.hpp>
#include <thrum/detail/sched/run/poll_sink.hpp>
#include <thrum/detail/sched/run/ready.hpp>
#include <thrum/detail/sched/run/steal.hpp>
#include <thrum/detail/sched/run/take.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// What a host looks for.
enum class host_search : std::uint8_t {
  bound,     // what may run here only
  unbound,   // what others could run as well
  anything,  // both, and first what may run here only
  all,       // and if there is nothing else, what is of background priority
};

// ---- the P -------------------------------------------------------------------------------------

/// The host becomes busy.
inline void acquire_host_p(host_thread& h) noexcept {
  runtime_scheduler& scheduler = scheduler_of(h);
  {
    scoped guard(scheduler.idle.lock());  // HO2
    scheduler.hosts.begin_locked();
  }
  scheduler.acquire_p(h.m, h.p);
}

/// What stands in the queue of the host's P goes where others find it. Whether there was something
/// for them.
inline bool give_queue_away(host_thread& h) noexcept {
  if (h.p.queue.empty()) {
    return false;
  }
  auto left = h.p.queue.drain();
  base::intrusive_queue<goroutine> others;
  while (goroutine* const g = left.pop_front()) {
    if ((g->flags & g_on_host) != 0) {
      ready_on_host(*g);
    } else {
      others.push_back(g);
    }
  }
  if (others.empty()) {
    return false;
  }
  scheduler_of(h).global.append(static_cast<decltype(others)&&>(others));
  return true;
}

/// Nothing was found that this host may run.
inline void end_vain_search(host_thread& h) noexcept {
  runtime_scheduler& scheduler = scheduler_of(h);
  if (h.m.spinning) {
    scheduler.idle.end_spinning(h.m);
    if (has_work_for_another(scheduler)) {
      scheduler.wake_m();
    }
  }
}

/// The host is busy no more. HO1
inline void release_host_p(host_thread& h) noexcept {
  runtime_scheduler& scheduler = scheduler_of(h);
  if (h.executes) {
    h.executes = false;
    scheduler.hosts.end_executing();
  }
  end_search(h.m);
  const bool gave = give_queue_away(h);
  const std::int64_t when = scheduler.give_timers_away(h.p);
  scheduler.release_p(h.m);
  {
    scoped guard(scheduler.idle.lock());
    scheduler.hosts.end_locked();
  }
  if (gave) {
    scheduler.wake_processor();
  } else if (scheduler.poller.descriptors() != 0 && !scheduler.poll.somebody_sleeps()) {
    scheduler.wake_m();  // an M must sleep in the poller: it has descriptors
  }
  if (when != timer_heap<traits>::never) {
    scheduler.wake_for_timer(when);
    scheduler.monitor.wake_for(when);
  }
}

// ---- the search --------------------------------------------------------------------------------

inline bool may_run_on(const machine& m, const goroutine& g) noexcept {
  return (g.flags & g_off_host) == 0 && ((g.flags & g_bound) == 0 || g.bound == &m);
}

/// Queues a goroutine that this host may not run where another thread takes it.
inline void pass_on(machine& m, goroutine& g) noexcept {
  if ((g.flags & g_on_host) != 0) {
    ready_on_host(g);
    return;
  }
  m.scheduler->queue_for(g).push_back(g);
  m.scheduler->wake_processor();
}

inline goroutine* take_global_for_host(machine& m) noexcept {
  auto& global = m.scheduler->global;
  return global.empty() ? nullptr
                        : global.take([&](const goroutine& g) { return may_run_on(m, g); });
}

/// Half of what another P has queued, and its due timers, as a thief; runnext only if the host spins:
/// then it was woken because no P idled.
inline goroutine* steal_for_host(machine& m) noexcept {
  runtime_scheduler& scheduler = *m.scheduler;
  const unsigned live = scheduler.ps.live();
  const unsigned all = live + scheduler.ps.hosts();
  const unsigned first = m.random.below(all);
  for (unsigned i = 0; i < all; ++i) {
    processor& victim = scheduler.ps.among(first + i < all ? first + i : first + i - all, live);
    if (&victim == m.p) {
      continue;
    }
    bool ran = false;
    run_timers(m, victim, ran);
    if (ran) {
      if (goroutine* const g = take_local(m)) {
        return g;  // a thief's queue must be empty
      }
    }
    // An idle P has nothing (ID1). One that has just become busy is seen next time.
    const p_status status = victim.status.peek();
    if (status == p_status::idle || status == p_status::dead) {
      continue;
    }
    const auto may_take_next = [&] {
      return m.spinning && (status != p_status::running || may_take_runnext(victim));
    };
    if (goroutine* const g = victim.queue.steal_half_into(m.p->queue, may_take_next)) {
      m.p->counts.steals.add();
      trace_detail::happens(m, trace_detail::event_kind::stolen, 1);
      return g;
    }
    if (goroutine* const g = victim.yielded.pop()) {
      m.p->counts.steals.add();
      trace_detail::happens(m, trace_detail::event_kind::stolen, 1);
      return g;
    }
  }
  return nullptr;
}

/// Null: there is nothing that this host may run.
inline goroutine* find_for_host(host_thread& h, host_search what) noexcept {
  machine& m = h.m;
  for (;;) {
    if ((m.p->attention.get() & ~std::uint32_t{attention_host}) != 0) {
      attend(m);
    }
    if (what != host_search::unbound) {
      if (goroutine* const g = h.inbox.pop()) {
        return g;
      }
    }
    bool ran = false;
    run_timers(m, *m.p, ran);
    goroutine* g = take_local(m);
    if (g == nullptr && what != host_search::bound) {
      if ((g = take_global_for_host(m)) == nullptr) {
        poll_sink sink(*m.scheduler);
        if (poll_once(*m.scheduler, sink)) {
          inject(sink);
          g = take_global_for_host(m);
        }
      }
      if (g == nullptr) {
        g = steal_for_host(m);
      }
      if (g == nullptr) {
        g = take_forked(m);
      }
      if (g == nullptr && what == host_search::all) {
        g = take_background_for_host(m, [&](const goroutine& each) { return may_run_on(m, each); });
      }
    }
    if (g == nullptr) {
      return nullptr;
    }
    if (may_run_on(m, *g) && (what != host_search::bound || (g->flags & g_bound) != 0)) {
      return g;
    }
    pass_on(m, *g);
  }
}

/// One slice of g.
inline void run_slice(host_thread& h, goroutine& g) noexcept {
  machine& m = h.m;
  runtime_scheduler& scheduler = *m.scheduler;
  end_search(m);
  if (!h.executes) {
    h.executes = true;
    scheduler.hosts.begin_executing();
    scheduler.monitor.wake_if_all_idle();
  }
  begin_slice(*m.p);
  execute(m, g);
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
