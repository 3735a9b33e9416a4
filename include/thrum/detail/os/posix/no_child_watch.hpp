// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// child_watch, where nothing but a number stands for a child: there is none, and its user looks at the
// children in intervals.
#ifndef THRUM_DETAIL_OS_POSIX_NO_CHILD_WATCH_HPP
#define THRUM_DETAIL_OS_POSIX_NO_CHILD_WATCH_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_LINUX && THRUM_OS_PORTABLE

#include <thrum/detail/os/posix/handle.hpp>
#include <thrum/detail/os/posix/result.hpp>

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

#endif  // THRUM_OS_LINUX && THRUM_OS_PORTABLE
#endif  // THRUM_DETAIL_OS_POSIX_NO_CHILD_WATCH_HPP
