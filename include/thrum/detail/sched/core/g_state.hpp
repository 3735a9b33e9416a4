// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The states of a goroutine, why it waits, and its priority (what that does: run/background.hpp).
//
// The numbers are those of Go's runtime, so that traces of both read alike. Three of Go's states
// are missing: `copystack` (a stack never moves here), the scan bit (there is no collector that
// would stop a goroutine to look at its stack), and `leaked`/`deadextra` (no collector, and a
// foreign thread needs no G). `preempted` stands for a goroutine that a signal took the processor
// from; it stays bound to its thread.
#ifndef THRUM_DETAIL_SCHED_CORE_G_STATE_HPP
#define THRUM_DETAIL_SCHED_CORE_G_STATE_HPP

#include <thrum/detail/base/config.hpp>

#include <cstdint>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI {

/// How urgent a goroutine is.
enum class priority : std::uint8_t {
  /// The priority of goroutines unless another one is given.
  normal = 0,
  /// It runs where a processor has found nothing else to run; and where none ever does, in one turn of 61
  /// of each processor, and once in 61 time slices. While others wait it is asked to give way after 1 ms.
  background = 1,
};

}}  // namespace thrum::THRUM_ABI

namespace thrum { inline namespace THRUM_ABI { namespace sched {

enum class g_status : std::uint8_t {
  /// Its memory exists, it has never run. On no queue.
  idle = 0,
  /// On exactly one run queue, not running. The M that takes it from the queue owns its stack.
  runnable = 1,
  /// Runs user code. It has an M, and its stack belongs to that M.
  running = 2,
  /// Inside blocking(). It has an M and its stack, but owns no P: the monitor may take the P away.
  syscall = 3,
  /// Parked. Recorded in some wait structure; a thread that removes it from there must ready it.
  /// Its stack has no owner once the commit of its park has run.
  waiting = 4,
  /// Finished or never started; on a free list, or held by a join handle that has not let go.
  dead = 6,
  /// The P was taken from it inside a signal handler; bound to its M, on a queue as if runnable.
  preempted = 9,
};

/// What a parked goroutine waits for. `describe` gives Go's words where Go has some.
enum class wait_reason : std::uint8_t {
  none,
  sleep,
  chan_receive,
  chan_send,
  chan_receive_nil,
  chan_send_nil,
  join,
  mutex_lock,
  wait_group_wait,
  select,
  select_no_cases,
  select_ready,
  cond_wait,
  shared_mutex_lock,
  shared_mutex_lock_shared,
  semaphore_acquire,
  latch_wait,
  barrier_wait,
  once_wait,
  generator_turn,
  task_group_wait,
  fork_join,
  bubble_wait,
  io_read,
  io_write,
  io_close,
  name_look_up,
  memory_pipe_read,
  memory_pipe_write,
};

constexpr std::string_view describe(wait_reason reason) noexcept {
  switch (reason) {
    case wait_reason::none: return "";
    case wait_reason::sleep: return "sleep";
    case wait_reason::chan_receive: return "chan receive";
    case wait_reason::chan_send: return "chan send";
    case wait_reason::chan_receive_nil: return "chan receive (nil chan)";
    case wait_reason::chan_send_nil: return "chan send (nil chan)";
    case wait_reason::join: return "join";
    case wait_reason::mutex_lock: return "mutex lock";
    case wait_reason::wait_group_wait: return "wait_group wait";
    case wait_reason::select: return "select";
    case wait_reason::select_ready: return "select (IO wait)";
    case wait_reason::select_no_cases: return "select (no cases)";
    case wait_reason::cond_wait: return "condition wait";
    case wait_reason::shared_mutex_lock: return "shared_mutex lock";
    case wait_reason::shared_mutex_lock_shared: return "shared_mutex lock shared";
    case wait_reason::semaphore_acquire: return "semaphore acquire";
    case wait_reason::latch_wait: return "latch wait";
    case wait_reason::barrier_wait: return "barrier wait";
    case wait_reason::once_wait: return "call_once";
    case wait_reason::generator_turn: return "generator turn";
    case wait_reason::task_group_wait: return "task_group wait";
    case wait_reason::fork_join: return "fork_join";
    case wait_reason::bubble_wait: return "bubble wait";
    case wait_reason::io_read: return "IO wait (read)";
    case wait_reason::io_write: return "IO wait (write)";
    case wait_reason::io_close: return "IO close";
    case wait_reason::name_look_up: return "name look-up";
    case wait_reason::memory_pipe_read: return "memory_pipe read";
    case wait_reason::memory_pipe_write: return "memory_pipe write";
  }
  return "";
}

/// Does a goroutine that waits so wait for the poller?
constexpr bool is_polled(wait_reason reason) noexcept {
  return reason == wait_reason::io_read || reason == wait_reason::io_write ||
         reason == wait_reason::select_ready;
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
