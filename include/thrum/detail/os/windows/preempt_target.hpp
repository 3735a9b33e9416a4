// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the thread that interrupts another one leaves for the call that it makes there (preempt_signal.hpp).
#ifndef THRUM_DETAIL_OS_WINDOWS_PREEMPT_TARGET_HPP
#define THRUM_DETAIL_OS_WINDOWS_PREEMPT_TARGET_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The thread of ours that an interruption is for; outlives it. The assembly in machine_*.hpp knows
/// the order of the first four words.
struct preempt_target {
  /// Where the thread goes on, and what its first register had. The interrupting thread writes them.
  std::uintptr_t place = 0;
  std::uintptr_t first_register = 0;
  /// How much room the registers of floating point and vectors take, and which of them are kept.
  std::uintptr_t vector_bytes = 0;
  std::uintptr_t vector_mask = 0;

  void (*interrupt)(void* argument) noexcept = nullptr;
  void* argument = nullptr;
  /// The words that the call which runs now has pushed; null outside of it. Its own thread writes it.
  const void* context = nullptr;
  /// True from the moment that the thread is sent to the call until the call is over.
  std::atomic<bool> is_under_way{false};
};
static_assert(offsetof(preempt_target, first_register) == 8);
static_assert(offsetof(preempt_target, vector_bytes) == 16);
static_assert(offsetof(preempt_target, vector_mask) == 24);

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_DETAIL_OS_WINDOWS_PREEMPT_TARGET_HPP
