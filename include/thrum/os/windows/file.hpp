// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Files: the system calls. Paths are UTF-8. Each new handle is closed in a child.
#ifndef THRUM_OS_WINDOWS_FILE_HPP
#define THRUM_OS_WINDOWS_FILE_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/os/file_modes.hpp>
#include <thrum/os/windows/handle.hpp>
#include <thrum/os/windows/result.hpp>

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Nothing to read; what is written disappears.
inline constexpr const char* null_device = "NUL";

/// Of `permissions` there is one: without any to write, what is created is read-only. An open file can be
/// renamed and removed by others.
io_result open_file(const char* path, open_mode mode, unsigned permissions) noexcept;

/// There are none of open(2).
struct system_open_flags {
  system_open_flags() = delete;
};
io_result open_file_with_flags(const char* path, const system_open_flags& flags,
                               unsigned permissions) noexcept;

/// Takes it out of its directory. May block.
io_result remove_file(const char* path) noexcept;

/// A new directory, with the permissions of the one above it. May block.
io_result make_directory(const char* path, unsigned permissions) noexcept;

io_result read_at(handle fd, void* to, std::size_t n, std::int64_t offset) noexcept;

io_result write_at(handle fd, const void* from, std::size_t n, std::int64_t offset) noexcept;

/// The new position.
io_result seek(handle fd, std::int64_t offset, seek_from from) noexcept;

io_result sync(handle fd) noexcept;

io_result truncate(handle fd, std::int64_t size) noexcept;

io_result file_size(handle fd) noexcept;

/// What kind of file a descriptor is.
struct file_kind {
  bool may_wait = false;   ///< a socket or a pipe of ours: what the poller can watch
  bool may_break = false;  ///< a pipe or a socket: writing may fail because nobody reads
  bool is_nonblocking = false;
  bool appends = false;
};

io_result kind_of(handle fd, file_kind& kind) noexcept;

/// Another handle for the same open file.
io_result duplicate(handle fd) noexcept;

/// The process's standard input (0), output (1) or error (2).
handle standard_handle(int number) noexcept;

io_result status_of(handle fd, file_status& status) noexcept;

/// Makes an open file read-only if the one with that status is. Its other rights are the directory's. May
/// block.
io_result give_rights(handle fd, const char* like, const file_status& status) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/windows/file_definition.hpp>
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_OS_WINDOWS_FILE_HPP
