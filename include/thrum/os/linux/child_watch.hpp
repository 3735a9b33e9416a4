// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// child_watch: one thread sleeps until any of many children has ended.
#ifndef THRUM_OS_LINUX_CHILD_WATCH_HPP
#define THRUM_OS_LINUX_CHILD_WATCH_HPP

#include <thrum/base/config.hpp>
#include <thrum/os/posix/descriptor.hpp>

#if THRUM_OS_LINUX && !THRUM_OS_PORTABLE

#include <cstddef>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// An epoll of pidfds. A child that was added is removed before its pidfd is closed: a child of a
/// fork may have that open, and the epoll would go on to tell of it.
class child_watch {
 public:
  constexpr child_watch() noexcept = default;

  bool is_open() const noexcept { return poller_ != no_handle; }

  /// 0, or an errno value below zero.
  io_result open() noexcept;

  void close() noexcept;

  /// From the child's end on, sleep() finds `who`. 0, or an errno value below zero.
  io_result add(handle pidfd, void* who) noexcept;
  void remove(handle pidfd) noexcept;

  /// Ends the sleep that is under way, or the next one.
  void wake() noexcept;

  /// Sleeps until the first `who` is found, for at most timeout_ms if that is not below 0. Returns
  /// how many were found; perhaps none.
  std::size_t sleep(void** found, std::size_t most, int timeout_ms) noexcept;

 private:
  handle poller_ = no_handle;
  handle alarm_ = no_handle;
};

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/linux/child_watch_definition.hpp>
#endif

#endif  // THRUM_OS_LINUX && !THRUM_OS_PORTABLE
#endif  // THRUM_OS_LINUX_CHILD_WATCH_HPP
