// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Timers of the time that a thread computes: Linux has them.
#ifndef THRUM_DETAIL_OS_CPU_TIMER_HPP
#define THRUM_DETAIL_OS_CPU_TIMER_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_LINUX && !THRUM_OS_PORTABLE
#include <thrum/detail/os/linux/cpu_timer.hpp>  // IWYU pragma: export
#else

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

struct cpu_timer_signal {
  std::uint32_t value = 0;
  std::uint32_t periods = 1;
  const void* context = nullptr;
  std::uintptr_t signals_low = 0;
  std::uintptr_t signals_high = 0;
};

struct cpu_timer {
  static constexpr bool exists = false;
  static bool open(std::uint64_t, std::uint32_t, std::int64_t, std::int64_t) noexcept {
    return false;
  }
  static void close() noexcept {}
  static const void* outer_context(const void*, std::uintptr_t) noexcept { return nullptr; }
  static bool install(void (*)(const cpu_timer_signal&) noexcept) noexcept { return false; }
};

template <class ThreadRef>
std::uint64_t number_of(const ThreadRef&) noexcept {
  return 0;
}

}}}  // namespace thrum::THRUM_ABI::os

#endif
#endif
