// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// child_watch: one thread sleeps at a port until any of many children has ended.
#ifndef THRUM_OS_WINDOWS_CHILD_WATCH_HPP
#define THRUM_OS_WINDOWS_CHILD_WATCH_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/os/windows/handle.hpp>
#include <thrum/os/windows/result.hpp>

#include <cstddef>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The port, and for each child a wait of the system's own threads, which post to it. A child is
/// removed before its handle is closed. All members but sleep() and wake() by one thread at a time.
class child_watch {
 public:
  constexpr child_watch() noexcept = default;

  bool is_open() const noexcept { return port_ != no_handle; }

  /// 0, or an error below zero.
  io_result open() noexcept;

  void close() noexcept;

  /// From the child's end on, sleep() finds `who`, once. 0, or an error below zero.
  io_result add(handle child, void* who) noexcept;
  void remove(handle child) noexcept;

  /// Ends the sleep that is under way, or the next one.
  void wake() noexcept;

  /// Sleeps until the first `who` is found, for at most timeout_ms if that is not below 0. Returns
  /// how many were found; perhaps none.
  std::size_t sleep(void** found, std::size_t most, int timeout_ms) noexcept;

 private:
  struct watched;

  handle port_ = no_handle;
  watched* first_ = nullptr;
};

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/windows/child_watch_definition.hpp>
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_OS_WINDOWS_CHILD_WATCH_HPP
