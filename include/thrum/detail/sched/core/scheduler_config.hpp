// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a runtime tells its scheduler, once: figures, and what to call on the floors above.
#ifndef THRUM_DETAIL_SCHED_CORE_SCHEDULER_CONFIG_HPP
#define THRUM_DETAIL_SCHED_CORE_SCHEDULER_CONFIG_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/netpoll/contract.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/memory_hooks.hpp>

#include <atomic>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

using namespace base::orders;

/// For how long a stack, or a thread, must have been of no use before it goes back to the system.
/// Tests shorten them, before they make a runtime.
inline constinit base::set_once<std::int64_t> default_stack_idle_ns{1'000'000'000};
inline constinit base::set_once<std::int64_t> default_thread_idle_ns{10'000'000'000};

class host_bell;

struct scheduler_config {
  unsigned procs = 1;
  unsigned max_threads = 10'000;
  memory_hooks memory{};
  std::uint8_t stack_class = 18;
  std::int64_t time_slice_ns = 10'000'000;
  std::int64_t stack_idle_ns = default_stack_idle_ns.get();
  std::int64_t thread_idle_ns = default_thread_idle_ns.get();
  bool preempts = true;    // asks goroutines to yield, and takes Ps from those that block
  bool interrupts = true;  // ... and from those that compute, by a signal
  /// Called on each M's thread as its first and its last act.
  void (*thread_started)(void* user, unsigned m) = nullptr;
  void (*thread_stopping)(void* user, unsigned m) = nullptr;
  /// Called by the monitor, every trace_every_ns, if that is not 0.
  void (*trace)(void* user, std::int64_t now) = nullptr;
  std::int64_t trace_every_ns = 0;
  /// Called by the creator when a dump was requested; null: none can be requested.
  void (*dump)(void* user) = nullptr;
  /// Called by the creator, every check_every_ns, if that is not 0.
  void (*check)(void* user) = nullptr;
  std::int64_t check_every_ns = 0;
  /// Called by the monitor when no goroutine can ever run again; does not return. Null: not asked
  /// for. See deadlock.hpp.
  void (*deadlock)(void* user) = nullptr;
  /// Called once by the thread that stops the runtime, when it has waited for a second.
  void (*slow_stop)(void* user) noexcept = nullptr;
  /// Called when a goroutine was found to have left its stack; `g` is that goroutine.
  void (*stack_overrun)(const void* g) noexcept = nullptr;
  bool is_whole_program = false;  // made by run()
  /// Which poller, where there are several.
  netpoll::choice poller = netpoll::choice::usual;
  /// What exit() is to call first.
  os::exit_hook exit_hook = nullptr;
  /// An exception that leaves a goroutine is caught, for `panic`; else it ends the program where it
  /// was thrown.
  bool catches_panics = false;
  /// Tells the first host of goroutines that are bound to it. Null: not asked for.
  host_bell* bell = nullptr;
  /// Threads of the process that are neither Ms nor the monitor and cannot wake a goroutine.
  unsigned passive_threads = 0;
  void* user = nullptr;
  char name[12] = "thrum";
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
