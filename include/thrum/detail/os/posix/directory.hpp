// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Directories, and the calls that take paths.
#ifndef THRUM_DETAIL_OS_POSIX_DIRECTORY_HPP
#define THRUM_DETAIL_OS_POSIX_DIRECTORY_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_POSIX

#include <thrum/detail/os/file_modes.hpp>
#include <thrum/detail/os/handle.hpp>
#include <thrum/detail/os/posix/file.hpp>
#include <thrum/detail/os/result.hpp>

#include <cstddef>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// What stands between names.
inline constexpr char path_separator = '/';

/// Whether a name may follow behind it at once.
constexpr bool ends_directory(char last) noexcept { return last == '/'; }

/// A directory that is held open: what is put in its place meanwhile is not followed. Move-only.
class open_directory {
 public:
  open_directory() noexcept = default;
  open_directory(open_directory&& other) noexcept : fd_(std::exchange(other.fd_, no_handle)) {}
  open_directory& operator=(open_directory&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~open_directory() { close(); }

  /// Opens what a path leads to. May block, as may the others.
  io_result open(const char* path) noexcept;
  /// Opens `name` in `above`, and not what a link leads to. -ENOTDIR: it is no directory, or a link.
  io_result open_in(const open_directory& above, const char* name, const char* path) noexcept;
  /// Opens the directory above `below` if it is `expected`. -ENOENT: it is not; one of the two has moved.
  io_result open_above(const open_directory& below, const file_status& expected) noexcept;

  bool is_open() const noexcept { return fd_ != no_handle; }
  handle native_handle() const noexcept { return fd_; }
  io_result status(file_status& about) const noexcept { return status_of(fd_, about); }
  void close() noexcept;

  /// A path counts from the directory `place`. Whether a link at its end is followed.
  io_result open_at(handle place, const char* name, bool follows) noexcept;

 private:
  handle fd_ = no_handle;
};

/// The names in a directory.
class directory_reader {
 public:
  directory_reader() noexcept = default;
  directory_reader(const directory_reader&) = delete;
  directory_reader& operator=(const directory_reader&) = delete;
  ~directory_reader();

  /// Once. May block.
  io_result open(const char* path) noexcept;
  io_result open(const open_directory& directory) noexcept;
  /// The next one that is not "." or "..", good until the next call: 1; or 0, there are no more. May
  /// block.
  io_result next(const char*& name, entry_kind& kind) noexcept;

 private:
  void* names_ = nullptr;
};

/// In place of a file that is there. May block.
io_result rename_file(const char* from, const char* to) noexcept;

/// Where a symbolic link leads, as a path for the same caller; the length of that, 0 if no link is there. `to` has it, with a null
/// behind it, if that is less than `room`. May block.
io_result read_link(const char* path, char* to, std::size_t room) noexcept;

/// Where temporary files go: TMPDIR, or what others call it, or /tmp. As read_link().
io_result temporary_path(char* to, std::size_t room) noexcept;

/// A path that leads to the same name from every working directory; its length. As read_link().
io_result absolute_path(const char* path, char* to, std::size_t room) noexcept;

/// What stands under a name, which may be a link. May block.
io_result status_of_name(const char* path, file_status& status) noexcept;

/// What a path leads to. May block.
io_result status_of_target(const char* path, file_status& status) noexcept;

/// Returns when the names in a directory are on the disk, if the file system can do that. May block.
io_result sync_directory(const char* path) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/posix/large_file.hpp>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// As the file system tells it beside the name; `other` where it does not.
inline entry_kind told_kind([[maybe_unused]] const large_file::entry& entry) noexcept {
#if defined(DT_UNKNOWN)
  switch (entry.d_type) {
    case DT_REG: return entry_kind::file;
    case DT_DIR: return entry_kind::directory;
    case DT_LNK: return entry_kind::link;
    case DT_FIFO: return entry_kind::pipe;
    case DT_SOCK: return entry_kind::socket;
    case DT_BLK:
    case DT_CHR: return entry_kind::device;
    default: break;
  }
#endif
  return entry_kind::other;
}

/// The next entry but "." and ".."; null at the end, or with errno for an error, else 0.
inline const large_file::entry* next_entry(::DIR* names) noexcept {
  const large_file::entry* found = nullptr;
  do {
    errno = 0;
    found = large_file::readdir(names);
  } while (found != nullptr &&
           (std::strcmp(found->d_name, ".") == 0 || std::strcmp(found->d_name, "..") == 0));
  return found;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE directory_reader::~directory_reader() {
  if (names_ != nullptr) {
    ::closedir(static_cast<::DIR*>(names_));
  }
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void open_directory::close() noexcept {
  if (fd_ != no_handle) {
    ::close(fd_);
    fd_ = no_handle;
  }
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result open_directory::open_at(handle place, const char* name,
                                                                   bool follows) noexcept {
  const int fd = ::openat(
      place, name, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC | (follows ? 0 : O_NOFOLLOW));
  if (fd < 0) {
    // Each system has another error for a link.
    return !follows && (errno == ELOOP || errno == EMLINK) ? -ENOTDIR : -errno;
  }
  close();
  fd_ = fd;
  return 0;
}

THRUM_OUT_OF_LINE io_result open_directory::open(const char* path) noexcept {
  return open_at(AT_FDCWD, path, true);
}

THRUM_OUT_OF_LINE io_result open_directory::open_in(const open_directory& above, const char* name,
                                                    const char* /*path*/) noexcept {
  return above.is_open() ? open_at(above.fd_, name, false) : -ENOENT;
}

THRUM_OUT_OF_LINE io_result open_directory::open_above(const open_directory& below,
                                                       const file_status& expected) noexcept {
  file_status found;
  const io_result opened = open_in(below, "..", nullptr);
  if (opened < 0 || (status(found) >= 0 && found.is_same_file(expected))) {
    return opened;
  }
  close();
  return -ENOENT;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result directory_reader::open(const char* path) noexcept {
  names_ = ::opendir(path);
  return names_ != nullptr ? 0 : io_result{-errno};
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result
directory_reader::open(const open_directory& directory) noexcept {
  // Another number for it: closedir() closes what it has.
  const io_result fd = duplicate(directory.native_handle());
  if (fd < 0) {
    return fd;
  }
  names_ = ::fdopendir(handle_of(fd));
  if (names_ == nullptr) {
    const int error = errno;
    ::close(handle_of(fd));
    return -error;
  }
  ::rewinddir(static_cast<::DIR*>(names_));
  return 0;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result directory_reader::next(const char*& name,
                                                                  entry_kind& kind) noexcept {
  auto* const names = static_cast<::DIR*>(names_);
  const large_file::entry* const found = next_entry(names);
  if (found == nullptr) {
    return -errno;
  }
  name = found->d_name;
  kind = told_kind(*found);
  large_file::status about{};
  if (kind == entry_kind::other &&
      large_file::fstatat(::dirfd(names), name, about, AT_SYMLINK_NOFOLLOW) == 0) {
    kind = kind_of_mode(about.st_mode);
  }
  return 1;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result rename_file(const char* from, const char* to) noexcept {
  return result_of(::rename(from, to));
}

/// Writes a text with its null if it fits; its length.
inline io_result put_text(const char* text, char* to, std::size_t room) noexcept {
  const std::size_t length = std::strlen(text);
  if (length < room) {
    std::memcpy(to, text, length + 1);
  }
  return static_cast<io_result>(length);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result read_link(const char* path, char* to,
                                                     std::size_t room) noexcept {
  constexpr std::size_t longest = 4096;
  char text[longest];
  const ::ssize_t length = ::readlink(path, text, sizeof text - 1);
  if (length < 0) {
    return errno == EINVAL || errno == ENOENT ? 0 : io_result{-errno};
  }
  // What counts from the link's directory.
  const char* const last = std::strrchr(path, path_separator);
  const std::size_t above =
      text[0] == path_separator || last == nullptr ? 0 : static_cast<std::size_t>(last - path) + 1;
  const std::size_t size = static_cast<std::size_t>(length);
  if (above + size < room) {
    std::memcpy(to, path, above);
    std::memcpy(to + above, text, size);
    to[above + size] = '\0';
  }
  return static_cast<io_result>(above + size);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result absolute_path(const char* path, char* to,
                                                         std::size_t room) noexcept {
  if (*path == path_separator) {
    return put_text(path, to, room);
  }
  constexpr std::size_t longest = 4096;
  char text[longest];
  if (::getcwd(text, sizeof text) == nullptr) {
    return -errno;
  }
  const std::size_t length = std::strlen(text);
  const std::size_t size = std::strlen(path) + 1;
  if (length + 1 + size > sizeof text) {
    return -ENAMETOOLONG;
  }
  text[length] = path_separator;
  std::memcpy(text + length + 1, path, size);
  return put_text(text, to, room);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result temporary_path(char* to, std::size_t room) noexcept {
  // If a program has the rights of another user, its caller does not choose where it writes.
  if (::getuid() == ::geteuid() && ::getgid() == ::getegid()) {
    for (const char* const name : {"TMPDIR", "TMP", "TEMP", "TEMPDIR"}) {
      if (const char* const path = std::getenv(name); path != nullptr && *path != '\0') {
        return put_text(path, to, room);
      }
    }
  }
  return put_text("/tmp", to, room);
}

inline io_result status_at(const char* path, int flags, file_status& status) noexcept {
  large_file::status about{};
  if (large_file::fstatat(AT_FDCWD, path, about, flags) != 0) {
    return -errno;
  }
  take_status(about, status);
  return 0;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result status_of_name(const char* path,
                                                          file_status& status) noexcept {
  return status_at(path, AT_SYMLINK_NOFOLLOW, status);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result status_of_target(const char* path,
                                                            file_status& status) noexcept {
  return status_at(path, 0, status);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result sync_directory(const char* path) noexcept {
  const int fd = ::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    return -errno;
  }
  const io_result result = result_of(::fsync(fd));
  ::close(fd);
  return result == invalid ? 0 : result;  // of this file system none can be synced
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_POSIX
#endif
