// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How the events of a poller, which are tags, make goroutines runnable.
#ifndef THRUM_DETAIL_SCHED_IO_POLL_EVENTS_HPP
#define THRUM_DETAIL_SCHED_IO_POLL_EVENTS_HPP

#include <thrum/detail/base/cache_line.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/intrusive_list.hpp>
#include <thrum/detail/netpoll/contract.hpp>
#include <thrum/detail/sched/io/poll_table.hpp>
#include <thrum/detail/sched/queue/lock.hpp>
#include <thrum/detail/sched/run/poll_sink.hpp>
#include <thrum/detail/sched/run/wait_point.hpp>
#include <thrum/detail/sched/run/wake_list.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// Takes the user of a side that waits, to be woken by the caller without the lock. PD1.
inline wait_point* take_waiter_locked(poll_side& side, wake_cause cause) noexcept {
  wait_point* const point = side.waiter;
  if (point != nullptr) {
    side.waiter = nullptr;
    settle(*point, cause);
  }
  return point;
}

/// Takes all of a list of a side.
inline void take_points_locked(base::intrusive_list<wait_point>& points, wake_cause cause,
                               wake_list& taken) noexcept {
  while (wait_point* const point = points.pop_front()) {
    settle(*point, cause);
    taken.push_back(point);
  }
}

/// Takes all that wait for their turn at a side.
inline void take_turns_locked(poll_side& side, wake_cause cause, wake_list& taken) noexcept {
  take_points_locked(side.turns, cause, taken);
}

/// Takes all watchers of a side.
inline void take_watchers_locked(poll_side& side, wake_cause cause, wake_list& taken) noexcept {
  take_points_locked(side.watchers, cause, taken);
}

/// What an event does to a side: it takes the waiter, or is kept for the next one that waits; and it
/// takes the watchers.
inline void make_ready_locked(poll_side& side, wake_list& taken) noexcept {
  wait_point* const point = take_waiter_locked(side, wake_cause::notified);
  side.ready = point == nullptr;
  taken.push_back(point);
  take_watchers_locked(side, wake_cause::notified, taken);
}

/// Wakes a goroutine; if it is one of the poller's own scheduler, with all others of this poll.
inline void wake_through(poll_sink& sink, goroutine& g) noexcept {
  if (g.scheduler == &sink.scheduler) {
    trace_detail::readied_by_poller(g);
    sink.ready.push_back(g);
  } else {
    ready(g);
  }
}

/// What a poll_sink does with an event: the entries of upcall_table.
struct poll_events {
  static void take(poll_sink& self, std::uint64_t tag, std::uint32_t events) noexcept {
    auto* const desc = poll_table::find(static_cast<std::uint32_t>(tag >> 32));
    if (desc == nullptr) {
      return;
    }
    wake_list taken;
    {
      scoped guard(desc->lock);
      if (desc->generation != static_cast<std::uint32_t>(tag)) {
        return;  // of what was closed since
      }
      desc->unusual = desc->unusual || (events & netpoll::unusual) != 0;
      desc->asked &= ~(events / netpoll::asked_readable);
      if (desc->foreign) {
        take_foreign_locked(*desc, events, taken);
      } else {
        if ((events & netpoll::readable) != 0) {
          make_ready_locked(desc->side(io_side::read), taken);
        }
        if ((events & netpoll::writable) != 0) {
          make_ready_locked(desc->side(io_side::write), taken);
        }
      }
    }
    while (goroutine* const g = taken.pop_goroutine()) {
      wake_through(self, *g);
    }
    taken.wake_all();
  }

  /// A thousand connections do not fit in a cache.
  static void prefetch(std::uint64_t tag) noexcept {
    const auto* const desc = poll_table::find(static_cast<std::uint32_t>(tag >> 32));
    if (desc != nullptr) {
      __builtin_prefetch(desc, 1);
      __builtin_prefetch(reinterpret_cast<const char*>(desc) + base::cache_line_size, 1);
    }
  }

 private:
  /// One-shot: a waiter of the other side arms it again.
  static void take_foreign_locked(poll_desc& desc, std::uint32_t events,
                                  wake_list& taken) noexcept {
    if ((events & netpoll::gone) != 0) [[unlikely]] {
      desc.next_generation();
      for (poll_side& side : desc.sides) {
        take_turns_locked(side, wake_cause::closed, taken);
      }
      return;
    }
    if ((events & netpoll::readable) != 0) {
      take_turns_locked(desc.side(io_side::read), wake_cause::notified, taken);
    }
    if ((events & netpoll::writable) != 0) {
      take_turns_locked(desc.side(io_side::write), wake_cause::notified, taken);
    }
    for (const io_side other : {io_side::read, io_side::write}) {
      if (!desc.side(other).turns.empty()) {
        take_turns_locked(desc.side(other), wake_cause::retry, taken);
      }
    }
  }
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
