// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How the events of a poller, which are tags, make goroutines runnable.
#ifndef THRUM_SCHED_IO_POLL_EVENTS_HPP
#define THRUM_SCHED_IO_POLL_EVENTS_HPP

#include <thrum/base/cache_line.hpp>
#include <thrum/base/config.hpp>
#include <thrum/netpoll/contract.hpp>
#include <thrum/sched/io/poll_desc.hpp>
#include <thrum/sched/io/poll_table.hpp>
#include <thrum/sched/queue/lock.hpp>
#include <thrum/sched/run/poll_sink.hpp>
#include <thrum/sched/run/wait_point.hpp>

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

/// A chain of wait points through `next`, in the order in which they are to run.
struct wake_list {
  wait_point* first = nullptr;
  wait_point** last = &first;

  void push_back(wait_point* point) noexcept {
    if (point != nullptr) {
      point->next = nullptr;
      *last = point;
      last = &point->next;
    }
  }
  void take_turns_locked(poll_side& side, wake_cause cause) noexcept {
    while (wait_point* const point = side.turns.pop_front()) {
      settle(*point, cause);
      push_back(point);
    }
  }
  /// Without any lock, and last.
  void wake_all() noexcept { wake_chain(first); }
};

/// Wakes it; if it is a goroutine of the poller's own scheduler, with all others of this poll.
inline void wake_through(poll_sink& sink, wait_point& point) noexcept {
  if (point.g != nullptr && point.g->scheduler == &sink.scheduler) {
    sink.ready.push_back(*point.g);
  } else {
    wake(point);
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
          taken.push_back(make_ready_locked(desc->side(io_side::read)));
        }
        if ((events & netpoll::writable) != 0) {
          taken.push_back(make_ready_locked(desc->side(io_side::write)));
        }
      }
    }
    for (wait_point* point = taken.first; point != nullptr;) {
      wait_point* const next = point->next;
      wake_through(self, *point);
      point = next;
    }
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
  static wait_point* make_ready_locked(poll_side& side) noexcept {
    wait_point* const point = take_waiter_locked(side, wake_cause::notified);
    side.ready = point == nullptr;
    return point;
  }

  /// One-shot: a waiter of the other side arms it again.
  static void take_foreign_locked(poll_desc& desc, std::uint32_t events,
                                  wake_list& taken) noexcept {
    if ((events & netpoll::readable) != 0) {
      taken.take_turns_locked(desc.side(io_side::read), wake_cause::notified);
    }
    if ((events & netpoll::writable) != 0) {
      taken.take_turns_locked(desc.side(io_side::write), wake_cause::notified);
    }
    for (const io_side other : {io_side::read, io_side::write}) {
      if (!desc.side(other).turns.empty()) {
        taken.take_turns_locked(desc.side(other), wake_cause::retry);
      }
    }
  }
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
