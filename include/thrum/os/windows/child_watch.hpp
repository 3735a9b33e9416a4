// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// child_watch: there is none, and whoever would use it looks at children in intervals.
#ifndef THRUM_OS_WINDOWS_CHILD_WATCH_HPP
#define THRUM_OS_WINDOWS_CHILD_WATCH_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/os/windows/handle.hpp>
#include <thrum/os/windows/result.hpp>

#include <cstddef>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Is never open.
class child_watch {
 public:
  constexpr child_watch() noexcept = default;

  bool is_open() const noexcept { return false; }
  io_result open() noexcept { return not_supported; }
  void close() noexcept {}
  io_result add(handle, void*) noexcept { return not_supported; }
  void remove(handle) noexcept {}
  void wake() noexcept {}
  std::size_t sleep(void**, std::size_t, int) noexcept { return 0; }
};

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_OS_WINDOWS_CHILD_WATCH_HPP
