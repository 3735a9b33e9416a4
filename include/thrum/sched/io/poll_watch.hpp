// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Being told when a descriptor is ready, without waiting for it: what a select does that has other
// cases besides.
//
// The point that is told stands beside the user of a descriptor and takes no turn: an event is told
// to both. Of a descriptor that is not ours it stands among the waiters, and one event tells all of
// them: the poller is asked for one at a time, so those that it was not for begin again
// (wake_cause::retry).
//
// No lost edge: the point is linked first, and then the system is asked.
//
// Deadlines: of the side, as for its user. begin() says in the point which one it found, under the lock
// that it is linked under, and the owner begins again at that moment; moving it tells the point
// (wake_cause::retry). So a deadline that has passed is found by a begin(), which says `ready`.
#ifndef THRUM_SCHED_IO_POLL_WATCH_HPP
#define THRUM_SCHED_IO_POLL_WATCH_HPP

#include <thrum/base/config.hpp>
#include <thrum/os/parts.hpp>
#include <thrum/sched/io/poll_desc.hpp>
#include <thrum/sched/io/poll_wait.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

struct poll_watch {
  enum class outcome : std::uint8_t {
    told,     // the point is linked, and will be told
    ready,    // a call would not block, or would fail at once; the point may be linked
    unknown,  // not ready, and no poller knows the descriptor: look again
  };

  /// Of a descriptor of ours, which stays alive until end(). Unless `ready`, the point's deadline is
  /// the side's.
  static outcome begin(poll_desc& d, io_side which, foreign_point& point) noexcept;

  /// Of one that is not; `d` is kept for its number.
  static outcome begin_foreign(poll_desc& d, os::handle fd, io_side which,
                               foreign_point& point) noexcept;

  /// Takes the point out. False: it was not in; if it is_linked, it has been told or is about to be.
  static bool end(poll_desc& d, io_side which, foreign_point& point) noexcept;

 private:
  static outcome look(os::handle fd, io_side which, outcome if_not) noexcept;
};

}}}  // namespace thrum::THRUM_ABI::sched

#if !THRUM_SEPARATE
#include <thrum/sched/io/poll_watch_definition.hpp>
#endif

#endif
