// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Where a P is, what is asked of it, and how far the monitor is in taking it.
#ifndef THRUM_DETAIL_SCHED_CORE_P_STATE_HPP
#define THRUM_DETAIL_SCHED_CORE_P_STATE_HPP

#include <thrum/detail/base/config.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

enum class p_status : std::uint32_t {
  /// On the idle list, or in flight between a thread that gave it up and one that takes it.
  /// Its run queue is empty while it is on the list.
  idle = 0,
  /// Held by an M; only that M changes the status.
  running = 1,
  /// Its M is inside blocking(). One compare-and-swap from here decides which gets it: the M that
  /// comes back, or the monitor.
  syscall = 2,
  /// Beyond the number of processors in force. Never freed: an M may still point at it.
  dead = 4,
};

/// What a P is asked to look at before it runs the next goroutine. Bits of `processor::attention`.
enum attention : std::uint32_t {
  attention_preempt = 1,  // the running goroutine has had its time slice
  attention_timers = 2,   // a timer of this P is due
  attention_retire = 4,   // the number of processors was lowered below this P
  attention_freeze = 8,   // wait until the freeze has ended
  attention_poll = 16,    // no M has polled for long: see io_share.hpp
  attention_host = 32,    // its holder is a host, which wants to be asked after each slice; stays
  attention_low = 64,     // it runs a goroutine of background priority: see run/background.hpp
  attention_share = 128,  // background goroutines have waited for long: one of them comes next
  /// Each goroutine that leaves goes to g0, which gives it to another thread: see run/m_main.hpp; stays.
  attention_migrate = 256,
  /// What nothing need be done for.
  attention_standing = attention_host | attention_low | attention_migrate,
};

/// The monitor's way to a P whose M sits in a call that it did not announce: see retake.hpp.
enum class retake_state : std::uint32_t {
  none,     // the M holds its P, or has given it up itself
  wanted,   // the monitor looks whether it may be taken; the M may still object
  decided,  // the M can no longer object; the monitor makes sure that it is the right P
  taken,    // the P is gone, and the M does not know it yet
  forked,   // this is a child process
};

/// A P as the monitor has last seen it.
struct what_was_seen {
  std::uint32_t schedule_tick = 0;
  std::uint32_t syscall_tick = 0;
  std::int64_t schedule_when = 0;
  std::int64_t syscall_when = 0;
  const void* runnext = nullptr;
  std::int64_t runnext_when = 0;  // at the last look at it, and how often the P had switched then
  std::uint64_t switches = 0;
  std::uint64_t forks_first = 0;  // what stood first of what was forked on it; 0: nothing
  std::int64_t forks_since = 0;   // that this stands there
  std::int64_t forks_from = 0;    // that something waits, or since a goroutine was made for it
  std::int64_t forks_patience = 0;
  /// Since when background goroutines wait while it runs others; 0: they do not.
  std::int64_t background_since = 0;
  /// When its goroutine was asked to give way last.
  std::int64_t asked_at = 0;
  // the CPU clock of the M, to tell whether it computes: see retake.hpp
  const void* cpu_of = nullptr;
  std::int64_t cpu_since = 0;
  std::int64_t cpu_when = 0;
  std::int64_t cpu = 0;
  bool asked = false;       // a signal was sent in this slice, when it had `heard` so many
  std::uint32_t heard = 0;  // and used `asked_cpu`
  std::int64_t asked_cpu = 0;
  std::uint32_t refusals = 0;  // of the system to interrupt it, in a row
  bool spared = false;         // no signal was sent, as it seemed to sleep
  std::uint32_t changes = 0;   // looks in a row that found another goroutine
  std::uint32_t taken_in_row =
      0;  // times that it was taken from a blocked M, all still in their calls
  const void* taken_from = nullptr;  // the last of these Ms
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
