// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/linux/file.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_LINUX_FILE_DEFINITION_HPP
#define THRUM_OS_LINUX_FILE_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_LINUX

#include <thrum/os/linux/descriptor.hpp>
#include <thrum/os/linux/file.hpp>
#include <thrum/os/linux/large_file.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result open_file(const char* path, int flags,
                                                     unsigned permissions) noexcept {
  return result_of(::open(path, flags | large_file::open_flag | O_CLOEXEC | O_NOCTTY, permissions));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result read_at(int fd, void* to, std::size_t n,
                                                   std::int64_t offset) noexcept {
  return result_of(large_file::pread(fd, to, n, offset));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result write_at(int fd, const void* from, std::size_t n,
                                                    std::int64_t offset) noexcept {
  return result_of(large_file::pwrite(fd, from, n, offset));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result seek(int fd, std::int64_t offset, int from) noexcept {
  return result_of(large_file::lseek(fd, offset, from));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result sync(int fd) noexcept { return result_of(::fsync(fd)); }

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result truncate(int fd, std::int64_t size) noexcept {
  return result_of(large_file::ftruncate(fd, size));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result file_size(int fd) noexcept {
  large_file::status about{};
  return large_file::fstat(fd, about) == 0 ? about.st_size : io_result{-errno};
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result kind_of(int fd, file_kind& kind) noexcept {
  large_file::status about{};
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || large_file::fstat(fd, about) != 0) {
    return -errno;
  }
  kind.may_break = S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode);
  kind.may_wait = kind.may_break || S_ISCHR(about.st_mode);
  kind.is_nonblocking = (flags & O_NONBLOCK) != 0;
  kind.appends = (flags & O_APPEND) != 0;
  return 0;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result duplicate(int fd) noexcept {
  constexpr int beyond_standard_streams = 3;
  return result_of(::fcntl(fd, F_DUPFD_CLOEXEC, beyond_standard_streams));
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_LINUX
#endif
