// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Changes of files, where we do not ask the system for them.
#ifndef THRUM_DETAIL_OS_POSIX_NO_FILE_WATCH_HPP
#define THRUM_DETAIL_OS_POSIX_NO_FILE_WATCH_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_PORTABLE && !THRUM_OS_BSD

#include <thrum/detail/os/file_changes.hpp>
#include <thrum/detail/os/posix/handle.hpp>
#include <thrum/detail/os/posix/result.hpp>

#include <cstddef>

namespace thrum { inline namespace THRUM_ABI { namespace os {

struct file_watch {
  static io_result open() noexcept { return not_supported; }
  static io_result add(handle, const char*) noexcept { return not_supported; }
  static io_result remove(handle, int) noexcept { return not_supported; }
  static io_result read(handle, std::byte*, std::size_t) noexcept { return not_supported; }
  static void close() noexcept {}
};
inline const std::byte* take_change(const std::byte* at, file_change_seen&) noexcept { return at; }

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_PORTABLE && !THRUM_OS_BSD
#endif
