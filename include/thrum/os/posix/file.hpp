// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Files: the system calls. Each new descriptor is closed by exec.
#ifndef THRUM_OS_POSIX_FILE_HPP
#define THRUM_OS_POSIX_FILE_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_POSIX

#include <thrum/os/file_modes.hpp>
#include <thrum/os/posix/handle.hpp>
#include <thrum/os/posix/result.hpp>

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Nothing to read; what is written disappears.
inline constexpr const char* null_device = "/dev/null";

/// May block.
io_result open_file(const char* path, open_mode mode, unsigned permissions) noexcept;

/// What open(2) knows besides: O_RDWR | O_DIRECT. A system without has a type of which there is no
/// value.
using system_open_flags = int;
io_result open_file_with_flags(const char* path, system_open_flags flags,
                               unsigned permissions) noexcept;

/// Takes it out of its directory. May block.
io_result remove_file(const char* path) noexcept;

/// A new directory, with these permissions less the umask. May block.
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
  bool may_wait = false;   ///< a fifo, a socket, a terminal or another device of characters
  bool may_break = false;  ///< a fifo or a socket: writing may fail because nobody reads
  bool is_nonblocking = false;
  bool appends = false;
};

io_result kind_of(handle fd, file_kind& kind) noexcept;

/// Another number, from 3 on, for the same open file.
io_result duplicate(handle fd) noexcept;

/// The process's standard input (0), output (1) or error (2).
inline handle standard_handle(int number) noexcept { return number; }

io_result status_of(handle fd, file_status& status) noexcept;

/// Gives an open file the owner, the group, the permissions and on Linux the access control list of the
/// file `like`, whose status is known; never the right to run as its owner or group. If the group cannot be
/// given, the file's group gets what everybody has. May block.
io_result give_rights(handle fd, const char* like, const file_status& status) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/posix/file_definition.hpp>
#endif

#endif  // THRUM_OS_POSIX
#endif
