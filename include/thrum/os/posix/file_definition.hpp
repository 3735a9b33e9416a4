// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/posix/file.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_POSIX_FILE_DEFINITION_HPP
#define THRUM_OS_POSIX_FILE_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/convert.hpp>

#if THRUM_OS_POSIX

#include <thrum/os/file_modes.hpp>
#include <thrum/os/posix/descriptor.hpp>
#include <thrum/os/posix/file.hpp>
#include <thrum/os/posix/large_file.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

constexpr system_open_flags system_flags(open_mode mode) noexcept {
  int flags = has_all(mode, open_mode::read_write) ? O_RDWR
              : has_all(mode, open_mode::write)    ? O_WRONLY
                                                   : O_RDONLY;
  flags |= has_all(mode, open_mode::append) ? O_APPEND : 0;
  flags |= has_all(mode, open_mode::create) ? O_CREAT : 0;
  flags |= has_all(mode, open_mode::exclusive) ? O_EXCL : 0;
  flags |= has_all(mode, open_mode::truncate) ? O_TRUNC : 0;
  flags |= has_all(mode, open_mode::synchronous) ? O_SYNC : 0;
  return flags;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result open_file_with_flags(const char* path,
                                                                system_open_flags flags,
                                                                unsigned permissions) noexcept {
  return result_of(::open(path, flags | large_file::open_flag | O_CLOEXEC | O_NOCTTY, permissions));
}

THRUM_OUT_OF_LINE io_result open_file(const char* path, open_mode mode,
                                      unsigned permissions) noexcept {
  return open_file_with_flags(path, system_flags(mode), permissions);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result remove_file(const char* path) noexcept {
  return result_of(::unlink(path));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result make_directory(const char* path,
                                                          unsigned permissions) noexcept {
  return result_of(::mkdir(path, base::convert<::mode_t>(permissions)));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result read_at(handle fd, void* to, std::size_t n,
                                                   std::int64_t offset) noexcept {
  return result_of(large_file::pread(fd, to, n, offset));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result write_at(handle fd, const void* from, std::size_t n,
                                                    std::int64_t offset) noexcept {
  return result_of(large_file::pwrite(fd, from, n, offset));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result seek(handle fd, std::int64_t offset,
                                                seek_from from) noexcept {
  const int whence = from == seek_from::begin     ? SEEK_SET
                     : from == seek_from::current ? SEEK_CUR
                                                  : SEEK_END;
  return result_of(large_file::lseek(fd, offset, whence));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result sync(handle fd) noexcept {
  return result_of(::fsync(fd));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result truncate(handle fd, std::int64_t size) noexcept {
  return result_of(large_file::ftruncate(fd, size));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result file_size(handle fd) noexcept {
  large_file::status about{};
  return large_file::fstat(fd, about) == 0 ? about.st_size : io_result{-errno};
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result kind_of(handle fd, file_kind& kind) noexcept {
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

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result duplicate(handle fd) noexcept {
  constexpr int beyond_standard_streams = 3;
  return result_of(::fcntl(fd, F_DUPFD_CLOEXEC, beyond_standard_streams));
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_POSIX
#endif
