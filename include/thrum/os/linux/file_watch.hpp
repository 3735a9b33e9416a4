// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Changes of files: inotify.
#ifndef THRUM_OS_LINUX_FILE_WATCH_HPP
#define THRUM_OS_LINUX_FILE_WATCH_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_LINUX && !THRUM_OS_PORTABLE

#include <thrum/os/file_changes.hpp>
#include <thrum/os/posix/handle.hpp>
#include <thrum/os/posix/result.hpp>

#include <cstddef>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// All of it is the descriptor's.
struct file_watch {
  static io_result open() noexcept;
  static io_result add(handle fd, const char* path) noexcept;
  static io_result remove(handle fd, int number) noexcept;
  static io_result read(handle fd, std::byte* to, std::size_t room) noexcept;
  static void close() noexcept {}
};

const std::byte* take_change(const std::byte* at, file_change_seen& change) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/linux/file_watch_definition.hpp>
#endif

#endif  // THRUM_OS_LINUX && !THRUM_OS_PORTABLE
#endif
