// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Directories, and the calls that take paths.
#ifndef THRUM_OS_POSIX_DIRECTORY_HPP
#define THRUM_OS_POSIX_DIRECTORY_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_POSIX

#include <thrum/os/file_modes.hpp>
#include <thrum/os/posix/file.hpp>
#include <thrum/os/posix/handle.hpp>
#include <thrum/os/posix/result.hpp>

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

  /// What a path leads to. May block, as may the others.
  io_result open(const char* path) noexcept;
  /// By its name in another one, and not what a link leads to. -ENOTDIR: it is none, or a link.
  io_result open_in(const open_directory& above, const char* name, const char* path) noexcept;
  /// The one above, if it is `expected`, as it was unless one of the two has moved. -ENOENT: it is not.
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

/// Removes what stands under a name, and everything below it if that is a directory, without following
/// links, with a few descriptors for a tree of any depth. What cannot be removed stays, and the first error
/// is returned; none if nothing is there. May block.
io_result remove_tree(const char* path) noexcept;

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

#if !THRUM_SEPARATE
#include <thrum/os/posix/directory_definition.hpp>
#endif

#endif  // THRUM_OS_POSIX
#endif
