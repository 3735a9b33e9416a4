// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// child_watch: one thread sleeps until any of many children has ended.
#ifndef THRUM_DETAIL_OS_BSD_CHILD_WATCH_HPP
#define THRUM_DETAIL_OS_BSD_CHILD_WATCH_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_BSD

#include <thrum/detail/os/handle.hpp>
#include <thrum/detail/os/posix/result.hpp>

#include <cstddef>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// A kqueue of the handles of children, which are kqueues themselves.
class child_watch {
 public:
  constexpr child_watch() noexcept = default;

  bool is_open() const noexcept;

  /// 0, or an error below zero.
  io_result open() noexcept;

  void close() noexcept;

  /// Has sleep() find `who` once the child has ended. 0, or an error below zero.
  io_result add(handle child, void* who) noexcept;
  void remove(handle child) noexcept;

  /// Ends the sleep that is under way, or the next one.
  void wake() noexcept;

  /// Sleeps until the first `who` is found, for at most timeout_ms if that is not below 0. Returns
  /// how many were found; perhaps none.
  std::size_t sleep(void** found, std::size_t most, int timeout_ms) noexcept;

 private:
  handle queue_ = no_handle;
};

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/posix/descriptor.hpp>

#include <cstdint>
#include <ctime>

#include <fcntl.h>
#include <sys/event.h>
#include <sys/types.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_OUT_OF_LINE bool child_watch::is_open() const noexcept { return queue_ != no_handle; }

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result child_watch::open() noexcept {
  const io_result made = result_of(::kqueue());
  if (made < 0) {
    return made;
  }
  queue_ = handle_of(made);
  struct ::kevent alarm {};
  EV_SET(&alarm, 0, EVFILT_USER, EV_ADD | EV_CLEAR, 0, 0, nullptr);
  io_result result = result_of(::fcntl(queue_, F_SETFD, FD_CLOEXEC));
  if (result >= 0) {
    result = result_of(::kevent(queue_, &alarm, 1, nullptr, 0, nullptr));
  }
  if (result < 0) {
    close();
    return result;
  }
  return 0;
}

THRUM_OUT_OF_LINE void child_watch::close() noexcept {
  if (queue_ != no_handle) {
    os::close(queue_);
  }
  queue_ = no_handle;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result child_watch::add(handle child, void* who) noexcept {
  struct ::kevent change {};
  EV_SET(&change, static_cast<std::uintptr_t>(child), EVFILT_READ, EV_ADD, 0, 0, who);
  return result_of(::kevent(queue_, &change, 1, nullptr, 0, nullptr));
}

THRUM_OUT_OF_LINE void child_watch::remove(handle child) noexcept {
  struct ::kevent change {};
  EV_SET(&change, static_cast<std::uintptr_t>(child), EVFILT_READ, EV_DELETE, 0, 0, nullptr);
  ::kevent(queue_, &change, 1, nullptr, 0, nullptr);
}

THRUM_OUT_OF_LINE void child_watch::wake() noexcept {
  struct ::kevent alarm {};
  EV_SET(&alarm, 0, EVFILT_USER, 0, NOTE_TRIGGER, 0, nullptr);
  ::kevent(queue_, &alarm, 1, nullptr, 0, nullptr);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE std::size_t child_watch::sleep(void** found, std::size_t most,
                                                                int timeout_ms) noexcept {
  constexpr std::size_t at_once = 64;
  struct ::kevent events[at_once];
  const ::timespec limit{timeout_ms / 1000, timeout_ms % 1000 * 1'000'000L};
  const int n =
      ::kevent(queue_, nullptr, 0, events, static_cast<int>(most < at_once ? most : at_once),
               timeout_ms < 0 ? nullptr : &limit);
  std::size_t count = 0;
  for (int i = 0; i < n; ++i) {
    if (events[i].udata != nullptr) {  // the alarm has none
      found[count++] = events[i].udata;
    }
  }
  return count;
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_BSD
#endif  // THRUM_DETAIL_OS_BSD_CHILD_WATCH_HPP
