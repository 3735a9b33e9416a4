// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Halves of forks as work for a P that has nothing else: a goroutine that runs one, and then others
// as long as it finds some. What a fork is: fork.hpp.
#ifndef THRUM_DETAIL_SCHED_FORK_FORK_THIEF_HPP
#define THRUM_DETAIL_SCHED_FORK_FORK_THIEF_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/core/section.hpp>
#include <thrum/detail/sched/fork/fork.hpp>
#include <thrum/detail/sched/run/end.hpp>
#include <thrum/detail/sched/run/start.hpp>
#include <thrum/detail/sched/run/take.hpp>
#include <thrum/detail/sched/run/yield.hpp>

#include <cstdint>
#include <new>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// The oldest half that some goroutine offers, of those that began to fork on the same P as it; null if
/// there is none, or if some of those need a larger stack than the thief's. The search begins anywhere.
/// F3: calls taken(half) before another thread can see that the half is gone.
template <class F>
forked* steal_forked(runtime_scheduler& scheduler, std::uint32_t anywhere, std::uint8_t stack_class,
                     F taken) noexcept {
  const unsigned forking = scheduler.ps.forking();
  const unsigned n = forking + scheduler.ps.hosts();
  unsigned at = anywhere % n;
  for (unsigned i = 0; i < n; ++i) {
    forks_of_p& forks = scheduler.ps.among(at, forking).forks;
    forked* const half =
        forks.steal([&]() noexcept { return stack_class >= forks.largest_class(); }, taken);
    if (half != nullptr) {
      return half;
    }
    at = at + 1 == n ? 0 : at + 1;
  }
  return nullptr;
}

/// The next half for a goroutine that has run one; null if it is to end.
inline forked* next_forked(forker& own) noexcept {
  section here;
  preemption_point(here);
  if (own.g.exiting) {
    return nullptr;
  }
  machine& m = here.this_m();
  forked* const half = steal_forked(own.scheduler, m.search.next(), own.g.size_class,
                                    [&own](forked& taken) noexcept { begin_stolen(taken, &own); });
  if (half != nullptr) {
    m.p->counts.steals.add();
    trace_detail::happens(m, trace_detail::event_kind::stolen, 1);
  }
  return half;
}

/// The life of a goroutine that runs what others have forked.
inline void run_forks(goroutine& g) {
  forked* half = *static_cast<forked**>(g.task);
  {
    forker own;
    show_thief(*half, own);
    do {
      run_stolen(own, *half);
      half = next_forked(own);
    } while (half != nullptr);
  }
  end_goroutine(g);
}

/// What class of stacks a goroutine needs that is to run any half. Looked at again under the lock of
/// the list that a half is in.
inline std::uint8_t helper_stack_class(runtime_scheduler& scheduler) noexcept {
  std::uint8_t largest = scheduler.config().stack_class;
  scheduler.for_each_forking_p([&](processor& p) {
    const std::uint8_t here = p.forks.largest_class();
    largest = here > largest ? here : largest;
  });
  return largest;
}

/// A goroutine that will run a half and has none yet: no other thread knows it. Null: there is no memory.
inline goroutine* open_helper(runtime_scheduler& scheduler, machine* m,
                              std::uint8_t size_class) noexcept {
  goroutine* const g = take_g(scheduler, m, size_class);
  if (g == nullptr) {
    if (scheduler.pool->has_hooks()) {
      scheduler.creator.request_stack(size_class);
    }
    return nullptr;
  }
  if (!open_for_task(*g, sizeof(forked*), alignof(forked*))) {
    untake_g(scheduler, *g);
    return nullptr;
  }
  ::new (reserve_task(*g, sizeof(forked*), alignof(forked*))) forked*(nullptr);
  g->id = next_id(scheduler, m);
  g->entry = &run_forks;
  g->discard_result = [](goroutine&) noexcept {};
  g->set_name("fork_join");
  g->started_at = reinterpret_cast<const void*>(&run_forks);
  g->join.set(join_state::none);
  prepare_launch(scheduler, *g);
  return g;
}

/// The half is the helper's, which is runnable from here on: a virtual clock stands while a half is neither
/// offered nor queued.
inline void give_to_helper(forked& half, goroutine& helper) noexcept {
  begin_stolen(half, nullptr);
  *static_cast<forked**>(helper.task) = &half;
  helper.started_at = reinterpret_cast<const void*>(half.run);
  helper.status.store(g_status::runnable, release);  // [g.status >] what a dump shows of it
}

/// A goroutine, in no queue yet, that will run a half which a forker offers. Null: no forker offers one,
/// or there is no memory: then the half's owner will run it. `m` as from m_of.
inline goroutine* make_helper(runtime_scheduler& scheduler, machine* m,
                              std::uint32_t anywhere) noexcept {
  for (;;) {
    const std::uint8_t size_class = helper_stack_class(scheduler);
    goroutine* const g = open_helper(scheduler, m, size_class);
    if (g == nullptr) {
      return nullptr;
    }
    const auto give = [g](forked& taken) noexcept { give_to_helper(taken, *g); };
    if (steal_forked(scheduler, anywhere, size_class, give) != nullptr) {
      return g;
    }
    untake_g(scheduler, *g);
    if (helper_stack_class(scheduler) == size_class) {
      return nullptr;
    }
  }
}

/// For a P that has nothing else. On g0.
inline goroutine* take_forked(machine& m) noexcept {
  runtime_scheduler& scheduler = *m.scheduler;
  if (!scheduler.has_forks()) [[likely]] {
    return nullptr;
  }
  goroutine* const g = make_helper(scheduler, &m, m.search.next());
  if (g != nullptr) {
    m.p->counts.created.add();
    trace_detail::made(&m, *g);
    m.p->counts.steals.add();
    trace_detail::happens(m, trace_detail::event_kind::stolen, 1);
    begin_slice(*m.p);
  }
  return g;
}

/// For the monitor, when no P has had nothing else for long: a half waits in the global queue like
/// any goroutine. Its owner may be parked until it has run. The search begins at that P, as among() counts.
THRUM_COLD inline void queue_forked(runtime_scheduler& scheduler, unsigned at) noexcept {
  goroutine* const g = make_helper(scheduler, nullptr, at);
  if (g != nullptr) {
    scheduler.count_created_elsewhere();
    trace_detail::made(nullptr, *g);
    ready_elsewhere(*g);
  }
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
