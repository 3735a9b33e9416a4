// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Directories, and the calls that take paths, which are UTF-8.
#ifndef THRUM_OS_WINDOWS_DIRECTORY_HPP
#define THRUM_OS_WINDOWS_DIRECTORY_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/os/file_modes.hpp>
#include <thrum/os/windows/result.hpp>

#include <cstddef>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// What stands between names.
inline constexpr char path_separator = '\\';

/// Whether a name may follow behind it at once.
constexpr bool ends_directory(char last) noexcept {
  return last == '/' || last == '\\' || last == ':';
}

/// A directory that is not to be exchanged for a link: whether it is one is looked at before it is read,
/// and not while it is read. Move-only.
class open_directory {
 public:
  open_directory() noexcept = default;
  open_directory(open_directory&& other) noexcept : path_(std::exchange(other.path_, nullptr)) {}
  open_directory& operator=(open_directory&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~open_directory() { close(); }

  /// What a path leads to. May block, as may the others.
  io_result open(const char* path) noexcept;
  /// The one of that path, and not what a link leads to. -ERROR_DIRECTORY: it is none, or a link.
  io_result open_in(const open_directory& above, const char* name, const char* path) noexcept;
  /// Is not needed: none is closed before its time.
  io_result open_above(const open_directory& below, const file_status& expected) noexcept;

  bool is_open() const noexcept { return path_ != nullptr; }
  const char* path() const noexcept { return path_; }
  io_result status(file_status& about) const noexcept;
  void close() noexcept;

 private:
  char* path_ = nullptr;
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
  io_result open(const open_directory& directory) noexcept { return open(directory.path()); }
  /// The next one that is not "." or "..", good until the next call: 1; or 0, there are no more. May
  /// block.
  io_result next(const char*& name, entry_kind& kind) noexcept;

 private:
  static constexpr std::size_t longest = 260 * 3;
  void* names_ = nullptr;
  bool has_next_ = false;  // the system finds the first when it opens
  entry_kind kind_ = entry_kind::other;
  char name_[longest];
};

/// Removes what stands under a name, and everything below it if that is a directory, without following
/// links. Ends at the first error; none if nothing is there. May block.
io_result remove_tree(const char* path) noexcept;

/// In place of a file that is there. May block.
io_result rename_file(const char* from, const char* to) noexcept;

/// The absolute path of what is there, with no links in it; its length. `to` has it, with a null
/// behind it, if that is less than `room`. May block.
io_result real_path(const char* path, char* to, std::size_t room) noexcept;

/// Where a link leads in the end, if something is there, as an absolute path; its length, 0 if no link is
/// there. `to` has it, with a null behind it, if that is less than `room`. May block.
io_result read_link(const char* path, char* to, std::size_t room) noexcept;

/// Where temporary files go: TMP, TEMP, or the user's directory. As read_link().
io_result temporary_path(char* to, std::size_t room) noexcept;

/// A path that leads to the same name from every working directory; its length. As read_link().
io_result absolute_path(const char* path, char* to, std::size_t room) noexcept;

/// What stands under a name, which may be a link. May block.
io_result status_of_name(const char* path, file_status& status) noexcept;

/// What a path leads to. May block.
io_result status_of_target(const char* path, file_status& status) noexcept;

/// Does nothing: the system offers no such call.
inline io_result sync_directory(const char* /*path*/) noexcept { return 0; }

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/windows/directory_definition.hpp>
#endif

#endif  // THRUM_OS_WINDOWS
#endif
