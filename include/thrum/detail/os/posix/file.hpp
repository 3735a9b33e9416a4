// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Files: the system calls. Each new descriptor is closed by exec.
#ifndef THRUM_DETAIL_OS_POSIX_FILE_HPP
#define THRUM_DETAIL_OS_POSIX_FILE_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_POSIX

#include <thrum/detail/os/file_modes.hpp>
#include <thrum/detail/os/handle.hpp>
#include <thrum/detail/os/result.hpp>

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
  bool may_break = false;  ///< a fifo or a socket: writing may fail for want of a reader
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

#if THRUM_BODIES
#include <thrum/detail/base/convert.hpp>

#include <thrum/detail/os/posix/descriptor.hpp>
#include <thrum/detail/os/posix/large_file.hpp>

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#if __has_include(<sys/xattr.h>) && !__has_include(<crt_externs.h>)  // Linux
#include <sys/xattr.h>
#endif

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

constexpr entry_kind kind_of_mode(::mode_t mode) noexcept {
  return S_ISREG(mode)                    ? entry_kind::file
         : S_ISDIR(mode)                  ? entry_kind::directory
         : S_ISLNK(mode)                  ? entry_kind::link
         : S_ISFIFO(mode)                 ? entry_kind::pipe
         : S_ISSOCK(mode)                 ? entry_kind::socket
         : S_ISBLK(mode) || S_ISCHR(mode) ? entry_kind::device
                                          : entry_kind::other;
}

inline void take_status(const large_file::status& about, file_status& status) noexcept {
  constexpr ::mode_t all = 07777;
  status.kind = kind_of_mode(about.st_mode);
  status.device = base::convert<std::uint64_t>(about.st_dev);
  status.number = base::convert<std::uint64_t>(about.st_ino);
  status.permissions = base::convert<unsigned>(about.st_mode & all);
  status.owner = about.st_uid;
  status.group = about.st_gid;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result status_of(handle fd, file_status& status) noexcept {
  large_file::status about{};
  if (large_file::fstat(fd, about) != 0) {
    return -errno;
  }
  take_status(about, status);
  return 0;
}

/// Which rights a list gives beside the permissions, the system says by a name of its own. 1: the file has
/// one, and so has the other; 0: none has one; below zero: an error.
inline io_result give_access_list([[maybe_unused]] handle fd,
                                  [[maybe_unused]] const char* like) noexcept {
#if __has_include(<sys/xattr.h>) && !__has_include(<crt_externs.h>)
  constexpr const char* name = "system.posix_acl_access";
  constexpr std::size_t longest = 4096;
  char list[longest];
  const ::ssize_t size = ::getxattr(like, name, list, sizeof list);
  if (size > 0) {
    return ::fsetxattr(fd, name, list, static_cast<std::size_t>(size), 0) == 0 ? 1
                                                                               : io_result{-errno};
  }
  if (size < 0 && errno != ENODATA && errno != ENOTSUP) {
    return -errno;
  }
  // What the directory has given a new file would let others in.
  if (::fremovexattr(fd, name) != 0 && errno != ENODATA && errno != ENOTSUP) {
    return -errno;
  }
#endif
  return 0;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result give_rights(handle fd, const char* like,
                                                       const file_status& status) noexcept {
  constexpr ::uid_t as_it_is = static_cast<::uid_t>(-1);
  constexpr unsigned plain = 01777;
  constexpr unsigned of_everybody = 07;
  file_status own;
  if (const io_result result = status_of(fd, own); result < 0) {
    return result;
  }
  const bool has_group = (own.owner == status.owner && own.group == status.group) ||
                         ::fchown(fd, status.owner, status.group) == 0 ||
                         own.group == status.group || ::fchown(fd, as_it_is, status.group) == 0;
  unsigned permissions = status.permissions & plain;
  if (has_group) {
    const io_result listed = give_access_list(fd, like);
    if (listed != 0) {
      return listed < 0 ? listed : 0;
    }
  } else {
    const unsigned everybody = permissions & of_everybody;
    permissions = (permissions & ~(of_everybody << 3)) | everybody << 3;
  }
  return result_of(::fchmod(fd, base::convert<::mode_t>(permissions)));
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_POSIX
#endif
