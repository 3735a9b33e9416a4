// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/posix/directory.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_POSIX_DIRECTORY_DEFINITION_HPP
#define THRUM_OS_POSIX_DIRECTORY_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_POSIX

#include <thrum/os/file_modes.hpp>
#include <thrum/os/posix/directory.hpp>
#include <thrum/os/posix/file_definition.hpp>
#include <thrum/os/posix/large_file.hpp>
#include <thrum/os/posix/result.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <new>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
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

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result directory_reader::open(const char* path) noexcept {
  names_ = ::opendir(path);
  return names_ != nullptr ? 0 : io_result{-errno};
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

/// One of the directories in each other that remove_tree() is emptying. Its name is behind it.
struct emptied_directory {
  emptied_directory* above;
  ::DIR* names;

  char* name() noexcept { return reinterpret_cast<char*>(this + 1); }
};

/// In which directory a name is looked up.
inline int place_of_names(const emptied_directory* in) noexcept {
  return in != nullptr ? ::dirfd(in->names) : AT_FDCWD;
}

/// Makes it the innermost one, if it is a directory.
inline io_result begin_to_empty(emptied_directory*& innermost, const char* name) noexcept {
  const int fd = ::openat(place_of_names(innermost), name,
                          O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) {
    return -errno;
  }
  const std::size_t size = std::strlen(name) + 1;
  void* const room = ::operator new(sizeof(emptied_directory) + size, std::nothrow);
  ::DIR* const names = room != nullptr ? ::fdopendir(fd) : nullptr;
  if (names == nullptr) {
    ::close(fd);
    ::operator delete(room);
    return no_memory;
  }
  innermost = new (room) emptied_directory{innermost, names};
  std::memcpy(innermost->name(), name, size);
  return 0;
}

/// Removes it, or makes it the innermost directory.
inline io_result remove_or_begin(emptied_directory*& innermost, const char* name,
                                 entry_kind kind) noexcept {
  io_result begun = 0;
  if (kind == entry_kind::directory || kind == entry_kind::other) {
    begun = begin_to_empty(innermost, name);
    if (begun == 0) {
      return 0;
    }
  }
  const int place = place_of_names(innermost);
  if (::unlinkat(place, name, 0) == 0 || errno == ENOENT) {
    return 0;
  }
  const io_result kept = -errno;
  // A directory that must not be read goes if it is empty.
  if (begun != 0 && ::unlinkat(place, name, AT_REMOVEDIR) == 0) {
    return 0;
  }
  return begun != 0 && errno != ENOTDIR ? begun : kept;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result remove_tree(const char* path) noexcept {
  // By descriptors: who exchanges a directory for a link meanwhile leads it nowhere else. Without
  // recursion: the caller may have a small stack.
  emptied_directory* innermost = nullptr;
  io_result first = remove_or_begin(innermost, path, entry_kind::other);
  while (innermost != nullptr) {
    io_result result = 0;
    if (const large_file::entry* const found = next_entry(innermost->names); found != nullptr) {
      result = remove_or_begin(innermost, found->d_name, told_kind(*found));
    } else {
      result = -errno;
      emptied_directory* const done = innermost;
      innermost = done->above;
      ::closedir(done->names);
      const bool gone = ::unlinkat(place_of_names(innermost), done->name(), AT_REMOVEDIR) == 0;
      result = gone ? 0 : result != 0 ? result : io_result{-errno};
      ::operator delete(done);
    }
    first = first != 0 ? first : result;
  }
  return first;
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
  text[length] = '\0';
  return put_text(text, to, room);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result temporary_path(char* to, std::size_t room) noexcept {
  // Who runs a program with somebody else's rights does not choose where that writes.
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

#endif  // THRUM_OS_POSIX
#endif
