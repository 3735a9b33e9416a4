// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the recorder knows of: apart from the rest, for builds that record nothing.
#ifndef THRUM_DETAIL_TRACE_EVENT_KIND_HPP
#define THRUM_DETAIL_TRACE_EVENT_KIND_HPP

#include <thrum/detail/base/config.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace trace_detail {

enum class event_kind : std::uint8_t {
  none,
  made,  // word 3: where; value: its maker if that is a goroutine of the runtime
  // Follow `made`, `ended` or `labelled`, which they belong to: words 1 to 3 hold 23 letters behind the kind.
  named,
  parked,  // detail: wait_reason; value: what it waits on, hashed; word 3: the goroutine that runs next, 0: g0
  yielded,       // word 3: the goroutine that runs next, 0: g0
  ended,         // word 3: where it was started
  runs,          // word 3: where it was started
  readied,       // detail: readied_by; word 3: the goroutine that did
  interrupted,   // a signal took its P; the thread keeps it
  gives_way,     // its slice is over: the next event of the M is its `yielded`
  taken,         // the P was taken from a thread that blocks; word 3: that M
  handed_off,    // the P of a goroutine that is in a long call was given to another M
  stolen,        // value: how many; word 3: the P that they stood on
  timers,        // value: how many have fired
  polled,        // value: how many goroutines the poller made ready
  call_began,    // blocking()
  call_ended,    // it runs with a P again
  thread_began,  //
  thread_ended,  //
  marked,        // word 3: the text; value: its length
  region_began,  // likewise
  region_ended,  // likewise
  procs,         // value: how many there are now
  labelled,      // followed by its labels as `named`; none: it has none
  idle_began,    // the P has no work, and no M
  idle_ended,    // an M has the P again, or it is out of service
};

/// What made a goroutine ready.
enum class readied_by : std::uint8_t { goroutine, scheduler, poller, thread };

}}}  // namespace thrum::THRUM_ABI::trace_detail

#endif
