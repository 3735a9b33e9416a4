// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Goroutines of background priority: when they run, and how they make room.
//
// Purpose
//   A host such as a game engine has work that a frame waits for, and work that is to be done some
//   time. The second must not delay the first, and must not wait for ever.
//
// Where they stand
//   One FIFO of the scheduler (runtime_scheduler::background), of the same kind as the global queue.
//   What of background priority becomes ready goes to its tail: started, woken, back from a wait in
//   the poller, yielded, preempted; by any thread. In front of the others goes only one that was
//   interrupted before it had used up a time slice.
//
// When they run
//   nothing else   a P takes one after it has found nothing in its ring, in the global queue, in the
//                  poller, at the others and among the forks, and before it would idle. A thread that puts
//                  one there wakes an idle P, by the steps that hold for any goroutine (idle.hpp). An M
//                  that is about to idle looks there again: no P idles while one waits. Once a P has run
//                  one, the next may follow without that search, which costs ten switches. It may not
//                  if a thread has looked for an idle P in vain (idle_set::spinner_wanted).
//   a turn         every 61st slice of a P (background_interval) is a background goroutine's, if
//                  one waits. The global queue's turn comes at the same tick of the P and must not be
//                  lost by that: so a background turn moves the tick on by a whole interval, and the
//                  global queue's follows (BG3).
//   a time         turns are not enough where they are not taken: a goroutine that computes without end,
//                  two that hand each other the P. So the monitor asks a P for one (attention_share)
//                  that has run others for as long as 61 time slices while some waited.
//   interrupted    a goroutine that a signal interrupted, and no library call, may hold a lock of others:
//                  of malloc, of stdio, a std::mutex. Its owner is unknown to the scheduler, and so are
//                  its waiters. So while one of them waits here, the monitor asks each P for a
//                  turn after one time slice, not 61; of eight such turns seven are theirs.
//
// How they make room
//   While a P runs one, attention_low is set in what is asked of it. So whatever that goroutine does next
//   at the scheduler goes over g0, as on a host's P: the short ways from goroutine to goroutine need no
//   look at the priority of the one that leaves. The monitor knows by it, too, and asks such a P to give
//   way after least_run_ns, and not after a whole slice, if something of normal priority waits there, in
//   the global queue, or at another P for one that idles (idle_set::spinner_wanted). A thread
//   that makes such a goroutine ready, and finds no idle P, hurries the monitor. Among themselves
//   background goroutines have whole slices.
//
// Invariants
//   BG1  a goroutine of background priority that is ready stands in the background queue, or in an
//        inbox if it is bound to a host: in no ring, no runnext, and not in the global queue. A priority
//        changes only while its goroutine runs.
//   BG2  attention_low is set on a P whose goroutine has background priority and is in user code.
//   BG3  of two turns of background goroutines on one P that finds other work, one of the global
//        queue's lies between.
//
// What pays for it: a goroutine of normal priority nothing, but for a look at the joiner's flags when
// one with a handle ends. Its flags are looked at where it is made ready anyway, for g_on_host.
//
// Hosts: a call that runs until nothing is left takes background goroutines when it finds nothing else. One
// that is to be short, or that waits for something, leaves them to the processors: host_loop.hpp.
//
// Rejected
//   A second ring for each P: stealing from it, and every place that asks whether a P has work, for work
//   that is not urgent. A heap of many levels: nothing could be said of what starves.
//   Normal priority for what a signal interrupted, until its next library call: background goroutines that
//   compute would have whole turns beside normal ones, and among themselves none but the first a turn.
//   A share of time alone: it needs a clock at each turn, and tests could not count.
//
// Numbers: docs/decisions/0029-two-priorities.md.
// Checked by tests/unit/sched/run/background_test.cpp, tests/unit/sched/run/priority_test.cpp and
// tests/model/idle_protocol_model.cpp.
#ifndef THRUM_DETAIL_SCHED_RUN_BACKGROUND_HPP
#define THRUM_DETAIL_SCHED_RUN_BACKGROUND_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/intrusive_queue.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/run/take.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// A P gives one of so many turns, or one after so many time slices, to a background goroutine that waits.
inline constexpr std::uint32_t background_interval = traits::global_check_interval;

inline bool is_in_background(const goroutine& g) noexcept { return (g.flags & g_background) != 0; }

/// BG2, for a goroutine that goes on with that P.
inline void show_priority(processor& p, const goroutine& g) noexcept {
  // relaxed: only its holder changes this bit
  const bool shown = (p.attention.load(relaxed) & attention_low) != 0;
  if (is_in_background(g) && !shown) {
    p.attention.fetch_or(attention_low, relaxed);  // relaxed: only for ourselves, and a hint
  } else if (!is_in_background(g) && shown) {
    p.attention.fetch_and(~std::uint32_t{attention_low},
                          relaxed);  // relaxed: only its holder changes this bit
  }
}

/// The first of them; null if none is there.
inline goroutine* take_background(machine& m) noexcept {
  auto& queue = m.scheduler->background;
  goroutine* const g = queue.empty() ? nullptr : queue.pop();
  if (g != nullptr) {
    begin_slice(*m.p);
    show_priority(*m.p, *g);
  }
  return g;
}

/// Whether one of them comes before all others, as others have had enough turns. Asked when it is the
/// global queue's turn as well.
inline bool is_background_turn(const machine& m) noexcept {
  return m.p->background_tick != m.p->schedule_tick.get() && !m.scheduler->background.empty();
}

/// One of them, on the turn that is reserved for it; the global queue's is next. At global_turn().
inline goroutine* take_background_in_turn(machine& m) noexcept {
  if (!is_background_turn(m)) {
    return nullptr;
  }
  goroutine* const g = take_background(m);
  if (g != nullptr) {
    processor& p = *m.p;
    p.schedule_tick.add(background_interval - 1);  // BG3: it was one turn already
    p.background_tick = p.schedule_tick.get();
  }
  return g;
}

/// At global_turn(): whether g0 is to poll, or to give the turn to the background.
THRUM_COLD inline bool is_turn_of_g0(const machine& m) noexcept {
  return is_poll_due(*m.scheduler) || is_background_turn(m);
}

/// For how many time slices a P may run others while some of them wait.
inline std::int64_t slices_between_shares(runtime_scheduler& scheduler) noexcept {
  return scheduler.background.has_preempted() ? 1 : background_interval;
}

/// For a P that has just run one of them and has nothing else itself: whether the next may follow without a
/// search for others' work.
inline bool may_follow(runtime_scheduler& scheduler) noexcept {
  return !scheduler.idle.spinner_wanted() && !is_poll_due(scheduler);
}

/// For a goroutine that yields: whether nothing is asked of the P but its priority, and no other work waits.
THRUM_COLD inline bool is_alone_in_background(const machine& m) noexcept {
  processor& p = *m.p;
  runtime_scheduler& scheduler = *m.scheduler;
  return p.attention.get() == attention_low && !global_turn(p) && !p.has_queued() &&
         !scheduler.has_shared_work() && !scheduler.idle.spinner_wanted() &&
         scheduler.next_timer(p) > traits::now();
}

/// The first that `suits(g)`, for a host.
template <class Suits>
goroutine* take_background_for_host(machine& m, Suits suits) noexcept {
  auto& queue = m.scheduler->background;
  goroutine* const g = queue.empty() ? nullptr : queue.take(suits);
  if (g != nullptr) {
    show_priority(*m.p, *g);
  }
  return g;
}

/// Goroutines whose status says that they are runnable, each to the queue of its kind. The caller wakes a
/// processor.
inline void queue_all(runtime_scheduler& scheduler,
                      base::intrusive_queue<goroutine>&& gs) noexcept {
  while (goroutine* const g = gs.pop_front()) {
    scheduler.queue_for(*g).push_back(*g);
  }
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
