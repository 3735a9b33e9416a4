// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the calling thread asks about itself.
#ifndef THRUM_DETAIL_OS_WINDOWS_THIS_THREAD_HPP
#define THRUM_DETAIL_OS_WINDOWS_THIS_THREAD_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Names the calling thread for debuggers; does nothing before Windows 10 1607.
void set_thread_name(const char* name) noexcept;

/// Has the system look at its timers each millisecond, for the rest of the process, and not each 15.6;
/// and the calling thread run when it wakes: of equals, the one that computes goes on to the end of its
/// turn, which on a server is 180 ms. No privilege is needed.
void ask_for_short_waits() noexcept;

/// The CPU that the calling thread runs on; it may have left it by now.
std::uint32_t current_cpu() noexcept;

/// The system's number of the calling thread: unique in it while the thread lives.
std::uint64_t thread_id() noexcept;

/// 0: the system starts threads of its own in each process.
inline std::size_t count_threads() noexcept { return 0; }

/// Blocks the thread for ns nanoseconds; at once when ns <= 0.
void sleep_ns(std::int64_t ns) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/clock.hpp>
#include <thrum/detail/os/windows/api.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// A function that not every version of the system has, as a `Function`; or null.
template <class Function>
Function* find_function(const wchar_t* library, const char* name) noexcept {
  const ::HMODULE module = ::GetModuleHandleW(library);
  return module == nullptr
             ? nullptr
             : reinterpret_cast<Function*>(reinterpret_cast<void*>(::GetProcAddress(module, name)));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void set_thread_name(const char* name) noexcept {
  using describe = ::HRESULT __stdcall(::HANDLE, const wchar_t*);
  static describe* const set = find_function<describe>(L"kernelbase.dll", "SetThreadDescription");
  if (set == nullptr) {
    return;
  }
  constexpr std::size_t most = 63;
  wchar_t wide[most + 1] = {};
  for (std::size_t i = 0; i != most && name[i] != '\0'; ++i) {
    wide[i] = static_cast<unsigned char>(name[i]);
  }
  set(::GetCurrentThread(), wide);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void ask_for_short_waits() noexcept {
  static const bool asked = [] {
    using begin_period = unsigned __stdcall(unsigned);
    if (::LoadLibraryW(L"winmm.dll") == nullptr) {
      return false;
    }
    auto* const begin = find_function<begin_period>(L"winmm.dll", "timeBeginPeriod");
    return begin != nullptr && begin(1) == 0;
  }();
  static_cast<void>(asked);
  ::SetThreadPriority(::GetCurrentThread(), THREAD_PRIORITY_HIGHEST);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE std::uint32_t current_cpu() noexcept {
  constexpr std::uint32_t of_a_group = 64;
  ::PROCESSOR_NUMBER found;
  ::GetCurrentProcessorNumberEx(&found);
  return found.Group * of_a_group + found.Number;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE std::uint64_t thread_id() noexcept {
  return ::GetCurrentThreadId();
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void sleep_ns(std::int64_t ns) noexcept {
  constexpr std::int64_t millisecond = 1'000'000;
  constexpr std::int64_t longest = 86'400'000 * millisecond;  // a day, and then the next one
  const std::int64_t deadline = deadline_after(ns);
  for (std::int64_t left = ns; left > 0; left = deadline - now()) {
    const std::int64_t part = left < longest ? left : longest;
    ::Sleep(static_cast<::DWORD>((part + millisecond - 1) / millisecond));
  }
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_DETAIL_OS_WINDOWS_THIS_THREAD_HPP
