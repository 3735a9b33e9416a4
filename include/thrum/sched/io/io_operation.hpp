// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// An operation that the system completes by itself, and the goroutine that waits for it.
//
// It lies on the goroutine's stack. `finish` marks it as done under the lock, and touches nothing of
// it after that: a goroutine that was about to give up finds it done, and may be gone.
//
// IO1  the goroutine does not return before its operation is done: until then the system may write
//      into the buffer.
//
// Who watches the side (poll_watch.hpp) is told nothing of it: what it has taken is not there for
// others, and of what it has left the system tells them.
#ifndef THRUM_SCHED_IO_IO_OPERATION_HPP
#define THRUM_SCHED_IO_IO_OPERATION_HPP

#include <thrum/base/config.hpp>
#include <thrum/netpoll/contract.hpp>
#include <thrum/sched/core/section.hpp>
#include <thrum/sched/io/poll_desc.hpp>
#include <thrum/sched/queue/lock.hpp>
#include <thrum/sched/run/wait_point.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

struct io_operation : netpoll::operation {
  spin_lock* lock = nullptr;      // over the members below, and `*waiter`
  wait_point** waiter = nullptr;  // where the one stands that waits for it; null there: nobody
  std::int64_t result = 0;
  bool done = false;

  /// What the poller calls.
  static void end(netpoll::operation& self, netpoll::sink& to, std::int64_t result) noexcept;
};

/// What poll_wait does, for calls that the system may complete by itself. Where the poller completes
/// nothing, or the caller is no goroutine, all of it is as there.
struct completing_wait {
  /// As poll_wait::begin. `would_block`: the last call took all there was, and nothing was waited
  /// for: receive() is next.
  static int begin(poll_desc& d, io_side which, bool& would_block) noexcept;

  /// Within a turn, in place of a call that would block: the bytes that it received, or results as of
  /// poll_wait::wait(), of which 0 says that the call is to be made again.
  static std::int64_t receive(poll_desc& d, std::span<std::byte> buffer) noexcept;

  /// Without a turn and without regard to deadlines, as a call that blocks a thread. The caller has
  /// entered. os::would_block: the system does not complete it.
  static std::int64_t complete_alone(io_operation& what) noexcept;

 private:
  /// The caller's, if it is a goroutine whose poller completes operations.
  static runtime_scheduler* scheduler_of(const section& here) noexcept;

  /// Has the poller do it, while the caller is parked. Called with the lock, returns without it.
  static std::int64_t complete_locked(section& here, poll_desc& d, io_side which,
                                      io_operation& what) noexcept;
};

}}}  // namespace thrum::THRUM_ABI::sched

#if !THRUM_SEPARATE
#include <thrum/sched/io/io_operation_definition.hpp>
#endif

#endif
