// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Which threads of the process are hosts: known to all shared objects, as a thread that waits may do
// so in another one than that which has attached it.
#ifndef THRUM_DETAIL_SCHED_HOST_HOST_THREADS_HPP
#define THRUM_DETAIL_SCHED_HOST_HOST_THREADS_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/detail/sched/queue/lock.hpp>

#include <atomic>
#include <cstdint>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// How help_while_waiting has ended.
enum class help_end : std::uint8_t {
  none,      // the thread is no host, or not of a runtime that still runs: it waits by itself
  event,     // what it waits for has happened
  timed_out  // the deadline came first
};

struct host_threads {
  static constexpr std::string_view process_name = "sched::host_threads";
  /// The calling thread's `attachments`; null: it is no host.
  os::thread_key key;
  blocking_lock lock{lock_rank::registry};
  /// Runs goroutines until the note's event has happened. Null: no thread has ever been a host. In
  /// host/host_loop.hpp.
  std::atomic<help_end (*)(os::note&, std::int64_t deadline) noexcept> help{nullptr};
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
