// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a host does while it runs goroutines: the loop of an M (find_work.hpp, loop.hpp) for a thread
// that wants to be back.
//
// Every goroutine that leaves the processor here goes to g0, which is the host's own stack, since
// something is always asked of a host's P (attention_host). So the host counts slices, looks at the
// clock and at what it waits for between any two.
//
// The search, in order: what is bound to this host, due timers, its own queue, the global queue, the
// poller without waiting, what other Ps have queued, forks, and what is of background priority, if the
// call is one that lasts (run_for, run_until_idle): a slice of that may be long, so poll(), and a
// thread that waits for something else, leave it to the other Ms. A goroutine that may not run here
// (bound to another thread, or off to a call that blocks) goes to the global queue, where they find it
// and no host takes it. While a host searches, it wakes no M for work that it leaves to them. So when
// its search finds nothing (end_vain_search), it must wake one M; searching again by itself is not
// enough. It never wakes another host: that one would find nothing either and wake this one, and so on
// while all Ps compute. If no P idles, the request for a search remains; while it does, hosts rest for
// 1 ms at a time (host_patience_ns). For this reason a host that takes a request for a search
// (need_spinning) becomes a searcher: if it finds nothing that it may run, the request is made again.
//
// What bounds a call: poll() counts what is ready when it begins, run_for() looks at the clock. A
// goroutine that calls the library is asked to give way when its slice, or the host's time, is over
// (monitor.hpp). One that computes and calls nothing cannot be taken off this thread: its frames are
// on a stack of its own, but it may hold locks and addresses of the thread. Taking the P away from
// it, as from others, would bring the host back later and not sooner. So the host waits for it, and
// what stands on its P is given to others.
//
// How a host is woken while it waits: by a note that two kinds of thread may nudge, those that put a
// goroutine into its inbox, and those that look for a thread for other work and find no idle P
// (wake_one_locked). For something else that ends the wait, the event of that note happens.
//
// Checked by tests/unit/sched/host/host_loop_test.cpp and tests/unit/attached_host_test.cpp.
#ifndef THRUM_DETAIL_SCHED_HOST_HOST_LOOP_HPP
#define THRUM_DETAIL_SCHED_HOST_HOST_LOOP_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/base/sanitizer.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/current.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/host/host.hpp>
#include <thrum/detail/sched/host/host_attach.hpp>
#include <thrum/detail/sched/host/host_search.hpp>
#include <thrum/detail/sched/run/loop.hpp>
#include <thrum/detail/sched/run/poll_sink.hpp>

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

// ---- a call ------------------------------------------------------------------------------------

/// The calling thread is this host's M, from here to the end of the scope. errno and the exceptions
/// that the thread has caught are as they were afterwards.
class host_call {
 public:
  explicit host_call(host_thread& h) noexcept : h_(h), error_number_(*h.m.error_number) {
    set_current_m(&h.m);
    if constexpr (THRUM_EXCEPTIONS) {
      h.kept_exceptions = *h.m.exceptions;  // LO3
      *h.m.exceptions = {};
    }
    base::context_adopt(h.m.context);
    acquire_host_p(h);
    h.inbox.begin_call();
  }
  ~host_call() {
    release_host_p(h_);
    h_.inbox.end_call();
    base::context_destroy(h_.m.context);
    if constexpr (THRUM_EXCEPTIONS) {
      *h_.m.exceptions = h_.kept_exceptions;
    }
    set_current_m(nullptr);
    *h_.m.error_number = error_number_;
  }
  host_call(const host_call&) = delete;
  host_call& operator=(const host_call&) = delete;

 private:
  host_thread& h_;
  const int error_number_;
};

/// Goroutines that could run at about this time, but for those in the inbox.
inline std::size_t count_ready(runtime_scheduler& scheduler) noexcept {
  std::size_t n = scheduler.global.size() + (scheduler.has_forks() ? 1 : 0);
  scheduler.for_each_live_p([&](const processor& p) { n += p.queued(); });
  return n;
}

/// Runs what is ready now: a slice of each, unless another thread takes it first. Returns how many slices.
inline std::size_t poll_host(host_thread& h) noexcept {
  runtime_scheduler& scheduler = scheduler_of(h);
  const host_call call(h);
  poll_sink sink(scheduler);
  if (poll_once(scheduler, sink)) {
    inject(sink);
  }
  bool ran = false;
  scheduler.for_each_live_p([&](processor& p) { run_timers(h.m, p, ran); });
  std::size_t bound = h.inbox.size();
  std::size_t others = count_ready(scheduler);
  std::size_t n = 0;
  for (; bound != 0; --bound) {
    goroutine* const g = h.inbox.pop();
    if (g == nullptr) {
      break;
    }
    run_slice(h, *g);
    ++n;
  }
  for (; others != 0; --others) {
    goroutine* const g = find_for_host(h, host_search::unbound);
    if (g == nullptr) {
      break;
    }
    run_slice(h, *g);
    ++n;
  }
  return n;
}

/// Runs goroutines until none is ready.
inline std::size_t run_host_until_idle(host_thread& h) noexcept {
  const host_call call(h);
  std::size_t n = 0;
  for (;;) {
    if (goroutine* const g = find_for_host(h, host_search::all)) {
      run_slice(h, *g);
      ++n;
    } else if (h.m.spinning) {
      end_vain_search(h);  // I6: looks once more
    } else {
      return n;
    }
  }
}

/// A host that finds nothing sleeps, without its P. Its note is registered with the scheduler and the
/// inbox meanwhile.
struct host_rest {
  /// False: there is something to look for. `has_looked`: it has looked for what others ask for, in
  /// vain.
  [[nodiscard]] static bool begin(host_thread& h, os::note& note, bool wants_work,
                                  bool has_looked) noexcept {
    runtime_scheduler& scheduler = scheduler_of(h);
    {
      scoped guard(scheduler.idle.lock());
      if (scheduler.hosts.has_stopped()) {
        return false;
      }
      if (wants_work && !has_looked && scheduler.idle.spinner_wanted_locked()) {
        scheduler.idle.begin_spinning(h.m);  // I3, as an M that did not spin
        return false;
      }
      scheduler.hosts.begin_wait_locked(h, note, wants_work, has_looked);
    }
    if (!h.inbox.begin_sleep(note)) {
      end(h);
      return false;
    }
    return true;
  }
  /// Until when it may sleep, at most until `deadline`. If no thread sleeps in the poller, perhaps only this
  /// host sees to the timers of a P whose holder computes. Call it once the host is registered: a thread
  /// that arms a timer from then on wakes a host.
  static std::int64_t until(host_thread& h, std::int64_t deadline) noexcept {
    runtime_scheduler& scheduler = scheduler_of(h);
    return scheduler.poll.somebody_sleeps() ? deadline : scheduler.first_timer(deadline);
  }
  /// The host may have got a unit of `spinning` meanwhile.
  static void end(host_thread& h) noexcept {
    h.inbox.end_sleep();
    scoped guard(scheduler_of(h).idle.lock());
    scheduler_of(h).hosts.end_wait_locked(h);
  }
};

/// How long a host sleeps at most that has found nothing that it may run, while others ask for help.
inline constexpr std::int64_t host_patience_ns = 1'000'000;

/// Sleeps in a note that was registered: host_rest.
inline void rest(os::note& note, std::int64_t deadline, bool has_looked) noexcept {
  std::int64_t most = has_looked ? host_patience_ns : -1;
  if (deadline != no_deadline) {
    const std::int64_t now = traits::now();
    const std::int64_t left = deadline > now ? deadline - now : 0;
    most = has_looked && left > most ? most : left;
  }
  note.sleep_or_nudge(most);
}

/// Runs goroutines, and waits for some, until the deadline.
inline std::size_t run_host_until(host_thread& h, std::int64_t deadline) noexcept {
  runtime_scheduler& scheduler = scheduler_of(h);
  const host_call call(h);
  h.until.set(deadline);
  std::size_t n = 0;
  bool has_looked = false;
  for (os::note never;;) {
    if (traits::now() >= deadline || scheduler.hosts.has_stopped()) {
      break;
    }
    if (goroutine* const g = find_for_host(h, host_search::all)) {
      run_slice(h, *g);
      ++n;
      has_looked = false;
      continue;
    }
    if (h.m.spinning) {
      end_vain_search(h);  // I6: looks once more
      continue;
    }
    release_host_p(h);
    const bool rests = host_rest::begin(h, never, true, has_looked);
    if (rests) {
      rest(never, host_rest::until(h, deadline), has_looked);
      host_rest::end(h);
    }
    has_looked = !rests;
    acquire_host_p(h);
  }
  h.until.set(no_deadline);
  return n;
}

// ---- while a thread waits for something else ---------------------------------------------------

/// Whether a thread that waits helps there.
inline bool may_help_in(host_thread& h) noexcept {
  runtime_scheduler& scheduler = scheduler_of(h);
  return !scheduler.hosts.has_stopped() && !scheduler.is_copy.get();
}

/// Pins the next host that the calling thread is: behind `h`, which is pinned, or the first, for null.
/// Null: there is no other.
inline host_thread* pin_next(const attachments& own, const host_thread* h) noexcept {
  scoped guard(all_hosts().lock);
  host_thread* next = h != nullptr ? h->next_of_thread : own.first;
  while (next != nullptr && !may_help_in(*next)) {
    next = next->next_of_thread;
  }
  if (next != nullptr) {
    ++next->pins;
  }
  return next;
}

/// Some slices, unless the note's event has happened. Whether there were any.
inline bool help_some(host_thread& h, const os::note& note) noexcept {
  constexpr unsigned some = 16;
  const host_call call(h);
  const host_search what = h.only_bound ? host_search::bound : host_search::anything;
  unsigned n = 0;
  for (; n != some && !note.is_set(); ++n) {
    if (h.only_bound) {
      h.inbox.begin_call();  // the next goroutine may be the one that waits in a toolkit's loop
    }
    goroutine* const g = find_for_host(h, what);
    if (g == nullptr) {
      end_vain_search(h);
      break;
    }
    run_slice(h, *g);
  }
  return n != 0;
}

/// Ends what rest_together has begun with one of the hosts. False: with none. `next` is the host that is
/// searched next, and pinned: if there is none yet, this one, if it counts as one that searches. Otherwise
/// it does no longer, since the others' goroutines may run for long first.
inline bool end_one_rest(const attachments& own, host_thread*& next) noexcept {
  scoped guard(all_hosts().lock);
  for (host_thread* h = own.first; h != nullptr; h = h->next_of_thread) {
    if (!h->rests) {
      continue;
    }
    h->rests = false;
    host_rest::end(*h);
    if (h->m.spinning && next == nullptr) {
      next = h;  // it stays pinned
    } else {
      end_search(h->m);
      --h->pins;
    }
    return true;
  }
  return false;
}

/// Sleeps until the note's event, the deadline, or work for one of the hosts; then, or if there is some
/// already, searches the host that is to. False: it has neither slept nor run any.
inline bool rest_together(const attachments& own, os::note& note, std::int64_t deadline,
                          bool has_looked) noexcept {
  host_thread* next = nullptr;
  host_thread* h = nullptr;
  while (next == nullptr && (h = pin_next(own, h)) != nullptr) {
    if (host_rest::begin(*h, note, !h->only_bound, has_looked)) {
      h->rests = true;  // it stays pinned
      deadline = h->only_bound ? deadline : host_rest::until(*h, deadline);
    } else {
      next = h;
    }
  }
  const bool rests = next == nullptr;
  if (rests) {
    rest(note, deadline, has_looked);
  }
  while (end_one_rest(own, next)) {
  }
  bool ran = false;
  if (next != nullptr) {
    ran = help_some(*next, note);
    unpin(*next);
  }
  return rests || ran;
}

/// Runs goroutines of which the calling thread is the host until the note's event has happened. Only the
/// host that runs some is pinned: they may destroy the runtimes of the others.
inline help_end help_while_waiting(os::note& note, std::int64_t deadline) noexcept {
  const auto* const own = own_attachments();
  if (own == nullptr || current_m() != nullptr) {
    return help_end::none;
  }
  for (bool has_looked = false;;) {
    host_thread* h = pin_next(*own, nullptr);
    if (h == nullptr) {
      return help_end::none;
    }
    bool ran = false;
    while (h != nullptr) {
      ran = help_some(*h, note) || ran;
      host_thread* const next = pin_next(*own, h);
      unpin(*h);
      h = next;
    }
    if (note.is_set()) {
      return help_end::event;
    }
    if (deadline != no_deadline && traits::now() >= deadline) {
      return help_end::timed_out;
    }
    has_looked = !ran && !rest_together(*own, note, deadline, has_looked);
  }
}

/// Sleeps until the note's event has happened, or until a moment; a host runs goroutines meanwhile.
/// Whether the event has.
inline bool sleep_or_help(os::note& note, std::int64_t deadline = no_deadline) noexcept {
  const help_end end = help_while_waiting(note, deadline);
  if (end != help_end::none) {
    return end == help_end::event;
  }
  if (deadline == no_deadline) {
    note.sleep();
    return true;
  }
  return note.sleep_for(deadline - traits::now());
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
