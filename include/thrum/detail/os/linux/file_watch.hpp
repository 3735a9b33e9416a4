// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Changes of files: inotify.
#ifndef THRUM_DETAIL_OS_LINUX_FILE_WATCH_HPP
#define THRUM_DETAIL_OS_LINUX_FILE_WATCH_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_LINUX && !THRUM_OS_PORTABLE

#include <thrum/detail/os/answers.hpp>
#include <thrum/detail/os/handle.hpp>
#include <thrum/detail/os/result.hpp>

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

#if THRUM_BODIES
#include <thrum/detail/os/posix/descriptor.hpp>

#include <cstring>

#include <sys/inotify.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_OUT_OF_LINE io_result file_watch::open() noexcept {
  return result_of(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
}

THRUM_OUT_OF_LINE io_result file_watch::add(handle fd, const char* path) noexcept {
  return result_of(::inotify_add_watch(fd, path,
                                       IN_CREATE | IN_DELETE | IN_MODIFY | IN_ATTRIB |
                                           IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF |
                                           IN_MOVE_SELF));
}

THRUM_OUT_OF_LINE io_result file_watch::remove(handle fd, int number) noexcept {
  return result_of(::inotify_rm_watch(fd, number));
}

THRUM_OUT_OF_LINE io_result file_watch::read(handle fd, std::byte* to, std::size_t room) noexcept {
  return os::read(fd, to, room);
}

THRUM_OUT_OF_LINE const std::byte* take_change(const std::byte* at,
                                               file_change_seen& change) noexcept {
  ::inotify_event event;
  std::memcpy(&event, at, sizeof event);
  change.number = event.wd;
  change.is_created = (event.mask & (IN_CREATE | IN_MOVED_TO)) != 0;
  change.is_removed =
      (event.mask & (IN_DELETE | IN_MOVED_FROM | IN_DELETE_SELF | IN_MOVE_SELF)) != 0;
  change.is_modified = (event.mask & IN_MODIFY) != 0;
  change.has_attributes = (event.mask & IN_ATTRIB) != 0;
  change.is_lost = (event.mask & IN_Q_OVERFLOW) != 0;
  change.is_last = (event.mask & IN_IGNORED) != 0;
  change.is_moved = (event.mask & IN_MOVE_SELF) != 0;
  change.is_directory = (event.mask & IN_ISDIR) != 0;
  change.name = event.len != 0 ? reinterpret_cast<const char*>(at + sizeof event) : "";
  return at + sizeof event + event.len;
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_LINUX && !THRUM_OS_PORTABLE
#endif
