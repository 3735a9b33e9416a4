// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Files on Linux: the system calls, with results as in descriptor.hpp. Each new descriptor is
// closed by exec.
#ifndef THRUM_OS_LINUX_FILE_HPP
#define THRUM_OS_LINUX_FILE_HPP

#include <thrum/base/config.hpp>
#include <thrum/os/linux/descriptor.hpp>

#if THRUM_OS_LINUX

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// `flags` as of open(2). May block.
io_result open_file(const char* path, int flags, unsigned permissions) noexcept;

io_result read_at(int fd, void* to, std::size_t n, std::int64_t offset) noexcept;

io_result write_at(int fd, const void* from, std::size_t n, std::int64_t offset) noexcept;

/// The new position. `from` is SEEK_SET, SEEK_CUR or SEEK_END.
io_result seek(int fd, std::int64_t offset, int from) noexcept;

io_result sync(int fd) noexcept;

io_result truncate(int fd, std::int64_t size) noexcept;

io_result file_size(int fd) noexcept;

/// What kind of file a descriptor is.
struct file_kind {
  bool may_wait = false;   ///< a fifo, a socket, a terminal or another device of characters
  bool may_break = false;  ///< a fifo or a socket: writing may fail because nobody reads
  bool is_nonblocking = false;
  bool appends = false;
};

io_result kind_of(int fd, file_kind& kind) noexcept;

/// Another number, from 3 on, for the same open file.
io_result duplicate(int fd) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/linux/file_definition.hpp>
#endif

#endif  // THRUM_OS_LINUX
#endif
