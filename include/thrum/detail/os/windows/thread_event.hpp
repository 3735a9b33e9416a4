// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the wait table needs of the system (os/wait_table.hpp), on Windows: an event, an object of the
// kernel. Code that no other thread interrupts is in uninterrupted.hpp.
//
// Events are kept for the next that sleeps there: making one is dearer than the sleep.
#ifndef THRUM_DETAIL_OS_WINDOWS_THREAD_EVENT_HPP
#define THRUM_DETAIL_OS_WINDOWS_THREAD_EVENT_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/os/clock.hpp>
#include <thrum/detail/os/windows/api.hpp>
#include <thrum/detail/os/windows/uninterrupted.hpp>  // IWYU pragma: export

#include <cstddef>
#include <cstdint>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Keeps the thread's last error to the end of a block.
class kept_error {
 public:
  kept_error() noexcept = default;
  ~kept_error() { ::SetLastError(before_); }
  kept_error(const kept_error&) = delete;
  kept_error& operator=(const kept_error&) = delete;

 private:
  const ::DWORD before_ = ::GetLastError();
};

/// An event that happens once at most, for which one thread waits.
class thread_event {
 public:
  /// The unused events of one bucket, under its lock.
  struct spares {
    static constexpr std::size_t most = 8;
    std::size_t count = 0;
    ::HANDLE events[most] = {};
  };

  /// Does not return if the system refuses.
  void open(spares& from) noexcept {
    event_ =
        from.count != 0 ? from.events[--from.count] : ::CreateEventW(nullptr, TRUE, FALSE, nullptr);
    if (event_ == nullptr) {
      base::fatal("event: the system refuses to create one");
    }
  }
  void lay_aside(spares& to) noexcept {
    if (to.count != spares::most) {
      ::ResetEvent(event_);
      to.events[to.count++] = std::exchange(event_, nullptr);
    }
  }
  void close() noexcept {
    if (event_ != nullptr) {
      ::CloseHandle(event_);
    }
  }

  void post() noexcept { ::SetEvent(event_); }

  /// False: `deadline` (of now(); negative: none) has passed.
  bool wait_until(std::int64_t deadline) noexcept {
    constexpr std::int64_t millisecond = 1'000'000;
    constexpr std::int64_t longest = 86'400'000 * millisecond;  // a day, and then the next one
    if (deadline < 0) {
      ::WaitForSingleObject(event_, INFINITE);
      return true;
    }
    for (std::int64_t left = deadline - now(); left > 0; left = deadline - now()) {
      const std::int64_t part = left < longest ? left : longest;
      const auto rounded_up = static_cast<::DWORD>((part + millisecond - 1) / millisecond);
      if (::WaitForSingleObject(event_, rounded_up) == WAIT_OBJECT_0) {
        return true;
      }
    }
    return false;
  }

 private:
  ::HANDLE event_ = nullptr;
};

/// Lets another thread run; `for_long`: also one that runs only while this one sleeps.
inline void stand_aside(bool for_long) noexcept {
  if (for_long) {
    ::Sleep(1);
  } else {
    ::SwitchToThread();
  }
}

/// There are no child processes that begin as copies.
inline void call_in_child(void (* /*what*/)()) noexcept {}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_DETAIL_OS_WINDOWS_THREAD_EVENT_HPP
