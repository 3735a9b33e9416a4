// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The monitor's judgement on a goroutine that keeps its P while others could use it.
//
// Purpose
//   Tells code that computes from code that blocks, by the CPU clock of its thread, and takes the P
//   from either: by a signal from the one (preempt.hpp), without one from the other, whose call
//   would fail with EINTR.
//
// Taking a P from a thread that blocks in a call that its goroutine did not announce
//   R1  retake = wanted; heavy fence, for the thread of this M alone
//   R2  inside? it runs again: give up. Else it will see `wanted` before it enters
//   R3  wanted -> decided; fails if it has entered and kept its P
//   R4  does this M still have this P? From R3 on the M waits if it enters, so the answer stays
//       true. If not, retake = wanted again, and not none: an M that finds `none` enters at once,
//       by a relaxed load, and could change its P while the monitor still reads it; one that finds
//       `wanted` answers first, and that orders the two (keeps_p)
//   R5  retake = taken; the P is the monitor's, and goes to another M
//   The goroutine goes on without a P, as inside blocking(), until it enters the library next,
//   where it queues up for one. Should it compute for long before that, it is stopped (watch).
//
// When
//   slice    the goroutine has run for a time slice, and something waits in the P's queue or the
//            global one
//   return   a goroutine has come back from a call, or was made ready by a thread outside, and found no P, and this
//            one has run as long as the others did since it was asked last, at least `least_run_ns`: they get half
//            of the time
//   timer    a timer of this P is due, and the goroutine has run, or the timer has been due, for
//            `least_run_ns`: its goroutine has slept already, and does not wait for a whole slice
//   low      the goroutine has background priority, others wait, and it has run for `least_run_ns`
//   blocked  something waits or is due, and the thread has slept for `blocked_ns`, or, on a system
//            that does not say whether it sleeps, has had no CPU for `silent_ns`. If the P was taken from
//            blocked threads before, and the last of them is still in its call, a shorter sleep is
//            enough (patience_of), and after three times a look: thousands of calls that block begin
//            at the pace of the rounds
//   unresponsive
//            it was asked by a signal and has computed on without taking it: some goroutine has
//            blocked signals on that thread, this one or an earlier one, or it is in a long call of
//            the system; or the system refuses to interrupt it. Its P is taken as from one that blocks
//   If nothing else could run, nothing is done.
//   Where the CPU clock has steps of some 15 ms, a look at the thread stands in for it: that system
//   says for sure whether a thread computes (press_by_looks).
//
// The mask of signals belongs to the thread: a goroutine that blocks all signals and parks leaves
// that mask behind for the next one. An unresponsive thread unblocks the scheduler's own signal when it
// enters the library and finds its P gone. Nothing is asked before: all would pay for it.
//
// RT1  at most one retake is under way: the monitor's.
//
// Checked by tests/model/retake_model.cpp, with each fence, order and step broken in turn.
#ifndef THRUM_DETAIL_SCHED_WATCH_RETAKE_HPP
#define THRUM_DETAIL_SCHED_WATCH_RETAKE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/trace/hooks.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

class retaker {
 public:
  static constexpr std::int64_t never = timer_heap<traits>::never;

  explicit retaker(runtime_scheduler& scheduler) noexcept : scheduler_(scheduler) {
    const std::int64_t slice = scheduler.config().time_slice_ns;
    window_ns_ = slice < longest_window_ns ? slice : longest_window_ns;
    least_run_ns_ = slice < traits::least_run_ns ? slice : traits::least_run_ns;
  }

  /// When a goroutine that runs since `since` is to give way, and whether its slice ends then.
  struct turn {
    std::int64_t since;
    std::int64_t until;
    bool ends_slice;
  };
  /// `due_at`: since when a timer is due, or never. `has_returned`: others have come back from calls,
  /// or were made ready from outside.
  turn turn_of(const processor& p, std::int64_t now, std::int64_t due_at,
               bool has_returned) const noexcept;

  /// A P runs one goroutine, and others could use it. Moves `next_look` forward to when it should be
  /// asked again. True: the P was taken once more in a row, and its next M may block as well.
  bool press(processor& p, std::int64_t now, const turn& its, std::int64_t& next_look) noexcept;

  /// R1 to R5. press() decides when.
  void retake(processor& p, machine& m) noexcept;

  /// Looks at those that run without a P.
  void watch(std::int64_t now, std::int64_t& next_look) noexcept;

 private:
  /// Shorter than this, the CPU clock says nothing.
  static constexpr std::int64_t longest_window_ns = 200'000;

  /// A system may refuse it at many moments: code that allocates all the time, at seven of eight.
  static constexpr int most_tries = 16;

  /// A thread that computes and was not interrupted so often, each time by so many tries, is in the
  /// system's own code all the time: its P is taken as from one that is unresponsive.
  static constexpr std::uint32_t most_refusals = 3;

  /// A P that has another goroutine at each look gets on by itself, and is looked at less and less:
  /// each look costs it some microseconds of its CPU.
  static constexpr std::uint32_t patience = 4;
  static constexpr std::uint32_t most_changes = patience + 4;
  std::int64_t window_of(std::uint32_t changes) const noexcept {
    return changes <= patience ? window_ns_ : window_ns_ << (changes - patience);
  }

  /// How long the M of a P must have slept in a call: a quarter as long each time in a row.
  static constexpr std::uint32_t most_in_row = 3;
  static std::int64_t patience_of(const what_was_seen& seen) noexcept {
    const std::int64_t ns = traits::blocked_ns >> (2 * seen.taken_in_row);
    return ns > traits::monitor_min_sleep_ns ? ns : traits::monitor_min_sleep_ns;
  }
  std::int64_t window_of(const what_was_seen& seen) const noexcept {
    const std::int64_t window = window_of(seen.changes);
    const std::int64_t patience_ns = patience_of(seen);
    return window < patience_ns ? window : patience_ns;
  }
  static void note_blocked(what_was_seen& seen, const machine& m) noexcept;
  /// True: once more in a row.
  bool take_from_blocked(processor& p, machine& m, std::int64_t now,
                         std::int64_t& next_look) noexcept;

  /// Whether the thread has computed for long without hearing the signal that was sent in this
  /// slice. By its own clock, as it may wait for a CPU.
  static bool is_unresponsive(processor& p, const machine& m, std::int64_t cpu) noexcept;

  /// press() where the CPU clock tells nothing of so short a time, but a look tells for sure whether
  /// a thread computes.
  void press_by_looks(processor& p, machine& m, std::int64_t now, const turn& its,
                      std::int64_t& next_look) noexcept;

  /// The goroutine of this P is to give it up.
  void ask(processor& p, std::int64_t now, const turn& its) const noexcept;
  void take_from_unresponsive(processor& p, machine& m) noexcept;

  /// False: the system has refused each time.
  [[nodiscard]] bool interrupt(machine& m, int tries) noexcept;
  static void sooner(std::int64_t& next_look, std::int64_t when) noexcept {
    next_look = when < next_look ? when : next_look;
  }

  runtime_scheduler& scheduler_;
  /// Ms that a look at those without a P asks for their CPU time, at a few hundred ns each. More of them
  /// than this take turns.
  static constexpr std::uint32_t most_watched = 32;
  void append_watched(machine& m) noexcept;
  /// Interrupts it if it has computed without a P since the last look.
  void look_at_watched(machine& m, std::int64_t now) noexcept;

  machine* watched_ = nullptr;  // the next to be looked at
  machine* last_watched_ = nullptr;
  std::int64_t watched_at_ = 0;
  std::int64_t window_ns_;
  std::int64_t least_run_ns_;
};

inline retaker::turn retaker::turn_of(const processor& p, std::int64_t now, std::int64_t due_at,
                                      bool has_returned) const noexcept {
  const std::int64_t since = p.seen.schedule_when;
  const std::int64_t slice = scheduler_.config().time_slice_ns;
  turn its{since, since + slice, true};
  if (has_returned) {
    const std::int64_t most =
        slice < traits::monitor_max_sleep_ns ? slice : traits::monitor_max_sleep_ns;
    const std::int64_t others = p.seen.asked_at == 0 ? 0 : since - p.seen.asked_at;
    const std::int64_t share = others < least_run_ns_ ? least_run_ns_ : others;
    its.until = since + (share < most ? share : most);
  }
  if (due_at != never) {
    const std::int64_t until = (since < due_at ? since : due_at) + least_run_ns_;
    its.ends_slice = now >= its.until;
    its.until = until < its.until ? until : its.until;
  }
  return its;
}

inline void retaker::note_blocked(what_was_seen& seen, const machine& m) noexcept {
  const auto* const last = static_cast<const machine*>(seen.taken_from);
  // [m.retake <] acquire: pairs with forget_p.
  if (last != nullptr && last->retake.load(acquire) != retake_state::taken) {
    seen.taken_in_row = 0;
  } else if (seen.taken_in_row < most_in_row) {
    ++seen.taken_in_row;
  }
  seen.taken_from = &m;
}

inline bool retaker::take_from_blocked(processor& p, machine& m, std::int64_t now,
                                       std::int64_t& next_look) noexcept {
  auto& seen = p.seen;
  seen.cpu_of = nullptr;
  seen.changes = 0;
  note_blocked(seen, m);
  sooner(next_look, now + patience_of(seen));
  retake(p, m);
  if (seen.taken_in_row <= 1) {
    return false;
  }
  scheduler_.creator.request_spare();  // a thread is there when the next one blocks
  return true;
}

inline bool retaker::press(processor& p, std::int64_t now, const turn& its,
                           std::int64_t& next_look) noexcept {
  machine* const m = p.m.get();
  if (m == nullptr) {
    return false;
  }
  auto& seen = p.seen;
  const std::int64_t since = its.since;
  const std::int64_t allowed = its.until;
  if constexpr (!traits::has_fine_cpu_clock) {
    press_by_looks(p, *m, now, its, next_look);
    return false;
  }
  if (seen.cpu_of != m || seen.cpu_since != since) {
    if (seen.changes >= patience) {
      seen.taken_in_row = 0;
    }
    seen.cpu_of = m;
    seen.cpu_since = since;
    seen.cpu = m->self.cpu_now();
    seen.cpu_when = now;
    seen.spared = false;
    seen.asked = false;
    seen.changes = seen.changes < most_changes ? seen.changes + 1 : most_changes;
    if (seen.taken_in_row == most_in_row && m->self.look() == os::thread_look::in_system) {
      return take_from_blocked(p, *m, now, next_look);
    }
    // The next look is of use when the goroutine may be interrupted (`allowed`), or when its thread
    // may have been blocked for long enough to lose its P: at the earlier of the two.
    const std::int64_t useful =
        allowed - now < traits::blocked_ns ? allowed - now : traits::blocked_ns;
    const std::int64_t window = window_of(seen);
    sooner(next_look, now + (useful < window || seen.taken_in_row != 0 ? window : useful));
    return false;
  }
  const std::int64_t elapsed = now - seen.cpu_when;
  if (elapsed < window_of(seen)) {
    sooner(next_look, seen.cpu_when + window_of(seen));
    return false;
  }
  seen.changes = 0;
  const std::int64_t cpu = m->self.cpu_now();
  // A thread that has used less than a sixteenth of the time as CPU time does not compute.
  constexpr std::int64_t few = 16;
  if (cpu - seen.cpu < elapsed / few) {
    if (elapsed < patience_of(seen)) {
      sooner(next_look, seen.cpu_when + patience_of(seen));
      return false;
    }
    // Its CPU clock stands also while it only waits for a CPU: the system knows which it is, or one
    // that does not say is given time, as a loop without a P is more than there are CPUs.
    const os::thread_look look = m->self.look();
    if (look == os::thread_look::unknown && elapsed < traits::silent_ns) {
      sooner(next_look, seen.cpu_when + traits::silent_ns);
      return false;
    }
    if (look != os::thread_look::computes) {
      return take_from_blocked(p, *m, now, next_look);
    }
  }
  if (seen.taken_in_row != 0) {
    if (now - since < traits::blocked_ns) {  // it comes to its call, or has a thread that begins
      seen.cpu = cpu;
      seen.cpu_when = now;
      sooner(next_look, now + patience_of(seen));
      return false;
    }
    seen.taken_in_row = 0;
  }
  if (now < allowed) {
    sooner(next_look, allowed);
    return false;
  }
  // It may have computed at first and be blocked now; a signal would make its call fail with EINTR.
  // So it is spared, but only once in a row, as not every system can say whether a thread sleeps.
  if (cpu - seen.cpu < elapsed - elapsed / 8 && !seen.spared &&
      m->self.look() != os::thread_look::computes) {
    seen.spared = true;
    seen.cpu = cpu;
    seen.cpu_when = now;
    sooner(next_look, now + traits::blocked_ns);
    return false;
  }
  seen.spared = false;
  seen.cpu = cpu;
  seen.cpu_when = now;
  sooner(next_look, now + traits::blocked_ns);
  ask(p, now, its);
  if (!scheduler_.config().interrupts) {
    return false;
  }
  if (is_unresponsive(p, *m, cpu)) {
    take_from_unresponsive(p, *m);
    return false;
  }
  static_cast<void>(interrupt(*m, most_tries));
  return false;
}

inline void retaker::press_by_looks(processor& p, machine& m, std::int64_t now, const turn& its,
                                    std::int64_t& next_look) noexcept {
  auto& seen = p.seen;
  const std::int64_t since = its.since;
  const std::int64_t allowed = its.until;
  if (seen.cpu_of != &m || seen.cpu_since != since) {
    seen.cpu_of = &m;
    seen.cpu_since = since;
    seen.cpu_when = now;
    seen.refusals = 0;
    seen.changes = seen.changes < most_changes ? seen.changes + 1 : most_changes;
    if (now < allowed) {
      const std::int64_t useful =
          allowed - now < traits::blocked_ns ? allowed - now : traits::blocked_ns;
      const std::int64_t window = window_of(seen.changes);
      sooner(next_look, now + (useful < window ? window : useful));
      return;
    }
  }
  seen.changes = 0;
  sooner(next_look, now < allowed ? allowed : now + traits::blocked_ns);
  // An interrupt comes before a look: if the system does not refuse it, it tells as much.
  if (now >= allowed) {
    ask(p, now, its);
    if (scheduler_.config().interrupts && interrupt(m, most_tries)) {
      seen.cpu_when = now;
      seen.refusals = 0;
      return;
    }
  }
  if (m.self.look() != os::thread_look::computes) {
    if (now - seen.cpu_when >= traits::blocked_ns) {
      seen.cpu_of = nullptr;
      retake(p, m);
    } else {
      sooner(next_look, seen.cpu_when + traits::blocked_ns);
    }
    return;
  }
  seen.cpu_when = now;
  if (now >= allowed && scheduler_.config().interrupts && ++seen.refusals == most_refusals) {
    take_from_unresponsive(p, m);
  }
}

inline void retaker::ask(processor& p, std::int64_t now, const turn& its) const noexcept {
  p.seen.asked_at = now;
  p.slice_ran_ns.set(its.ends_slice ? scheduler_.config().time_slice_ns : now - its.since);
  p.asked_tick.set(p.seen.schedule_tick);
  // [p.attention >] release: pairs with the exchange in attend.
  p.attention.fetch_or(attention_preempt, release);
}

inline void retaker::take_from_unresponsive(processor& p, machine& m) noexcept {
  p.seen.cpu_of = nullptr;
  m.unresponsive.store(true, relaxed);  // relaxed: published by R5
  retake(p, m);
}

inline bool retaker::is_unresponsive(processor& p, const machine& m, std::int64_t cpu) noexcept {
  auto& seen = p.seen;
  const std::uint32_t heard = m.heard.get();  // an older one costs some time
  if (!seen.asked || heard != seen.heard) {
    seen.asked = true;
    seen.heard = heard;
    seen.asked_cpu = cpu;
    return false;
  }
  return cpu - seen.asked_cpu >= traits::unresponsive_ns;
}

inline bool retaker::interrupt(machine& m, int tries) noexcept {
  scheduler_.taken.signals.add();
  os::install_preempt_handler();
  if (m.self.interrupt(m.interruption)) {
    return true;
  }
  // The others are looked at meanwhile: it comes again.
  const std::int64_t end = traits::now() + traits::blocked_ns;
  while (--tries > 0 && traits::now() < end) {
    os::yield_thread();
    if (m.self.interrupt(m.interruption)) {
      return true;
    }
  }
  return false;
}

inline void retaker::retake(processor& p, machine& m) noexcept {
  // RT1: only the monitor comes here. [m.retake >] release: R1, ordered by the fence; keeps what R4
  // of an earlier retake published.
  m.retake.store(retake_state::wanted, release);
  traits::heavy_fence_for(m.self);  // [m.inside =] pairs with enter_scheduler's light one
  // [m.inside <] acquire: R2, what it has done with the P.
  const bool inside = m.inside.load(acquire) != 0;
  retake_state state = retake_state::wanted;
  // [m.retake <>] acq_rel: R3. Failure: the M has taken the request back.
  if (!m.retake.compare_exchange_strong(state, inside ? retake_state::none : retake_state::decided,
                                        acq_rel,
                                        relaxed) ||  // relaxed: this try is given up
      inside) {
    return;
  }
  // While it is undecided (R4), the M waits if it enters.
  if (m.p != &p || p.m.peek() != &m) {
    m.retake.store(retake_state::wanted, release);  // [m.retake >] release: that m.p has been read
    return;
  }
  m.g->status.set(g_status::syscall);
  trace_detail::happens_to(scheduler_, trace_detail::event_kind::taken, p.id, m.g->id, m.id);
  m.retake.store(retake_state::taken, release);  // [m.retake >] release: R5
  p.m.set(nullptr);
  p.status.store(p_status::idle, release);  // [p.status >] release: in flight
  if (!m.watched) {
    m.watched = true;
    append_watched(m);
  }
  m.watched_cpu = m.self.cpu_now();
  m.watched_at = traits::now();
  scheduler_.taken.retakes.add();
  scheduler_.taken.blocked.fetch_add(1, relaxed);  // relaxed: before the lock of hand_off
  scheduler_.hand_off(p);
}

inline void retaker::append_watched(machine& m) noexcept {
  m.watched_next = nullptr;
  (watched_ == nullptr ? watched_ : last_watched_->watched_next) = &m;
  last_watched_ = &m;
}

inline void retaker::look_at_watched(machine& m, std::int64_t now) noexcept {
  const std::int64_t elapsed = now - m.watched_at;
  if (elapsed < window_ns_) {
    return;
  }
  const std::int64_t cpu = m.self.cpu_now();
  const bool has_computed =
      traits::has_fine_cpu_clock ? cpu - m.watched_cpu > elapsed / 2 : cpu != m.watched_cpu;
  if (scheduler_.config().interrupts && has_computed) {
    static_cast<void>(interrupt(m, 1));
  }
  m.watched_cpu = cpu;
  m.watched_at = now;
}

inline void retaker::watch(std::int64_t now, std::int64_t& next_look) noexcept {
  if (watched_ == nullptr) {
    return;
  }
  if (now - watched_at_ < window_ns_) {
    sooner(next_look, watched_at_ + window_ns_);
    return;
  }
  watched_at_ = now;
  machine* const last = last_watched_;
  for (std::uint32_t looks = 0; looks != most_watched && watched_ != nullptr; ++looks) {
    machine& m = *watched_;
    watched_ = m.watched_next;
    // [m.retake <] acquire: pairs with forget_p.
    if (m.retake.load(acquire) == retake_state::taken) {
      append_watched(m);
      look_at_watched(m, now);
    } else {
      m.watched = false;
    }
    if (&m == last) {
      break;
    }
  }
  if (watched_ != nullptr) {
    sooner(next_look, now + traits::blocked_ns);
  }
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
