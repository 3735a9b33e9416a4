// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The short bodies of runtime_scheduler, which users' code inlines.
#ifndef THRUM_DETAIL_SCHED_CORE_SCHEDULER_INLINE_HPP
#define THRUM_DETAIL_SCHED_CORE_SCHEDULER_INLINE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/sched/core/g.hpp>
#include <thrum/detail/sched/core/m.hpp>
#include <thrum/detail/sched/core/p.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/queue/global_queue.hpp>

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

// ---- a look at all Ps --------------------------------------------------------------------------

/// Calls f for each P below n, and for the Ps of hosts.
template <class F>
void runtime_scheduler::for_each_p_below(unsigned n, F& f) noexcept {
  const unsigned all = n + ps.hosts();
  for (unsigned i = 0; i < all; ++i) {
    f(ps.among(i, n));
  }
}

template <class F>
void runtime_scheduler::for_each_p(F f) noexcept {
  for_each_p_below(ps.made(), f);
}

template <class F>
void runtime_scheduler::for_each_live_p(F f) noexcept {
  for_each_p_below(ps.live(), f);
}

template <class F>
void runtime_scheduler::for_each_forking_p(F f) noexcept {
  for_each_p_below(ps.forking(), f);
}

inline std::int64_t runtime_scheduler::next_timer(const processor& p) const noexcept {
  return clock.is_virtual() ? timer_heap<traits>::never : p.timers.earliest();
}

inline std::int64_t runtime_scheduler::first_timer(std::int64_t when) noexcept {
  for_each_live_p([&](const processor& p) {
    const std::int64_t each = next_timer(p);
    when = each < when ? each : when;
  });
  return when;
}

// ---- is there work? ----------------------------------------------------------------------------

inline global_queue<goroutine, traits>& runtime_scheduler::queue_for(const goroutine& g) noexcept {
  return (g.flags & g_background) != 0 ? background : global;
}

inline bool runtime_scheduler::has_forks() noexcept {
  const unsigned n = ps.forking();
  const unsigned all = n + ps.hosts();
  for (unsigned i = 0; i < all; ++i) {
    if (ps.among(i, n).forks.has_work()) {
      return true;
    }
  }
  return false;
}

inline bool runtime_scheduler::has_queued_work() noexcept {
  bool work = has_shared_work();
  const unsigned n = ps.live();
  const unsigned all = n + ps.hosts();
  for (unsigned i = 0; i < all && !work; ++i) {
    work = ps.among(i, n).has_queued();
  }
  return work || has_forks();
}

inline bool runtime_scheduler::poller_is_wanted() noexcept {
  constexpr std::int64_t never = timer_heap<traits>::never;
  return !poll.somebody_sleeps() && (poller.descriptors() != 0 || first_timer(never) != never);
}

inline bool runtime_scheduler::is_quiet_locked() noexcept {
  const unsigned in_poller = poll.somebody_sleeps() ? 1 : 0;
  return idle.idle_ps() >= procs() && idle.spinning() == 0 && !has_shared_work() &&
         hosts.are_quiet_locked() &&
         idle.idle_ms() + in_poller + locked_asleep.load(relaxed) >=  // relaxed: a moment ago
             ms.with_thread();
}

// ---- a P goes from hand to hand ----------------------------------------------------------------

/// Under a virtual clock: whichever M and P it is, the same draws and the same turns.
THRUM_COLD inline void runtime_scheduler::begin_moment(machine& m, processor& p) noexcept {
  constexpr auto interval = traits::global_check_interval;
  m.random = clock.own().random_of_moment();
  p.inheritances_left = traits::most_inheritances;
  // Onwards, never back: the ticks distinguish two slices.
  p.schedule_tick.add(interval + 1 - p.schedule_tick.get() % interval);
}

inline void runtime_scheduler::acquire_p(machine& m, processor& p) noexcept {
  THRUM_ASSERT(m_has_no_p_yet, m.p == nullptr);
  m.p = &p;
  p.m.set(&m);
  p.schedule_tick.add();  // what runs now does not inherit a slice from before
  if (clock.is_virtual()) [[unlikely]] {
    begin_moment(m, p);
  }
  // [p.status >] release: only the holder leaves `running`, so no other thread races with this.
  p.status.store(p_status::running, release);
}

inline processor& runtime_scheduler::release_p(machine& m) noexcept {
  processor& p = *m.p;
  m.p = nullptr;
  p.m.set(nullptr);
  // [p.status >] release: as in acquire_p.
  p.status.store(p_status::idle, release);
  return p;
}

inline void runtime_scheduler::pass_p(processor& p, machine& m, bool spinning) noexcept {
  m.spinning = spinning;
  m.next_p = &p;
  m.park.wake();
}

inline void runtime_scheduler::put_idle_locked(processor& p) noexcept {
  THRUM_ASSERT(ID1, p.yielded.empty());
  if (p.id < procs()) {
    idle.put_p_locked(p);
  } else {
    bury_locked(p);
  }
}

inline void runtime_scheduler::vacate(machine& m) noexcept {
  scoped guard(idle.lock());
  ms.vacate_locked(m);
}

// ---- waking ------------------------------------------------------------------------------------

inline void runtime_scheduler::ask_for_spinner_locked() noexcept {
  if (hosts.wake_one_locked()) [[unlikely]] {
    idle.add_unit();
    return;
  }
  idle.ask_for_spinner_locked();
}

THRUM_COLD inline bool runtime_scheduler::wake_claimed() noexcept {
  return upcalls_.start_spinner(*this, searchers::all);
}

inline void runtime_scheduler::wake_processor_after_rmw() noexcept {
  if (idle.claim_wake()) [[unlikely]] {
    wake_claimed();
  }
}

inline void runtime_scheduler::wake_processor() noexcept {
  traits::fence(seq_cst);  // [id.spin =, id.need =] S2; pairs with the fences in idle.hpp
  wake_processor_after_rmw();
}

THRUM_COLD inline void runtime_scheduler::wake_m() noexcept {
  traits::fence(seq_cst);  // [id.spin =, id.need =] S2; as in wake_processor
  if (idle.claim_wake()) {
    upcalls_.start_spinner(*this, searchers::ms);
  }
}

THRUM_INLINE bool runtime_scheduler::has_other_ps() const noexcept {
  // [s.procs =] the work before the number is read; pairs with the heavy fences of set_procs and make_host
  traits::light_fence();
  return ps.has_several();
}

inline void runtime_scheduler::wake_for_timer(std::int64_t when) noexcept {
  if (poll.somebody_sleeps()) {
    if (poll.oversleeps(when)) {
      poller.wake();
    }
  } else {
    wake_processor();
  }
}

// ---- goroutines --------------------------------------------------------------------------------

inline std::uint64_t runtime_scheduler::created_elsewhere() const noexcept {
  return created_elsewhere_.load(relaxed);  // relaxed: a figure for reports
}

[[noreturn]] THRUM_COLD inline void refuse_after_fork() noexcept {
  base::fatal(
      "a runtime was used in a child process after fork, where its threads do not exist: call exec "
      "or _exit in the child, or fork before you make the first runtime");
}

inline void runtime_scheduler::count_created_elsewhere() noexcept {
  if (is_copy.get()) [[unlikely]] {
    refuse_after_fork();
  }
  // [s.count =] seq_cst: counted before the goroutine can end.
  created_elsewhere_.fetch_add(1, seq_cst);
}

inline void runtime_scheduler::take_back_announcement() noexcept {
  // [s.count =] seq_cst: as the count that it takes back
  created_elsewhere_.fetch_sub(1, seq_cst);
  ending.tell_drained();  // the goroutine may have ended before, and not been the last
}

inline goroutine_id runtime_scheduler::take_ids(goroutine_id n) noexcept { return next_id_.add(n); }

inline std::uint64_t runtime_scheduler::seed(std::uint64_t number) noexcept {
  return static_cast<std::uint64_t>(traits::now()) * 0x9E3779B97F4A7C15U + number;
}

inline std::uint64_t runtime_scheduler::goroutine_count() noexcept {
  // Ended first, started afterwards: both only grow, so the difference is never too small.
  std::uint64_t finished = 0;
  std::uint64_t created = 0;
  const unsigned n = ps.made();
  const unsigned all = n + ps.hosts();
  for (unsigned i = 0; i < all; ++i) {
    finished += ps.among(i, n).counts.finished.get();
  }
  traits::fence(seq_cst);  // [s.count =] acquires each start; pairs with add_release
  // A host that came meanwhile has not started one that has ended before.
  const unsigned since = n + ps.hosts();
  for (unsigned i = 0; i < since; ++i) {
    created += ps.among(i, n).counts.created.get();
  }
  // [s.count =] seq_cst: after the fence.
  created += created_elsewhere_.load(seq_cst);
  return created - finished;
}

/// How many threads there may be, as far as is known.
inline std::size_t most_threads(const runtime_scheduler& scheduler) noexcept {
  const unsigned most = scheduler.config().max_threads;
  const unsigned given = scheduler.ms.limit();
  return given < most ? given : most;
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
