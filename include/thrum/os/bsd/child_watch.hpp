// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// child_watch: one thread sleeps until any of many children has ended.
#ifndef THRUM_OS_BSD_CHILD_WATCH_HPP
#define THRUM_OS_BSD_CHILD_WATCH_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_BSD

#include <thrum/os/posix/handle.hpp>
#include <thrum/os/posix/result.hpp>

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

  /// From the child's end on, sleep() finds `who`. 0, or an error below zero.
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

#if !THRUM_SEPARATE
#include <thrum/os/bsd/child_watch_definition.hpp>
#endif

#endif  // THRUM_OS_BSD
#endif  // THRUM_OS_BSD_CHILD_WATCH_HPP
