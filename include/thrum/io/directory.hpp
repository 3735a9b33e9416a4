// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Directories: what is in one, and what is below it.
//
// The system has no way to wait for these but to block, so they go through blocking(), a directory at a
// time: as for regular files (io/file.hpp), a call that is under way is not ended by a stop.
#ifndef THRUM_IO_DIRECTORY_HPP
#define THRUM_IO_DIRECTORY_HPP

#include <thrum/base/config.hpp>
#include <thrum/os/file_modes.hpp>
#include <thrum/os/parts.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace io {

/// What kind of thing stands under a name: file, directory, link (whatever it leads to), pipe, socket,
/// device, or other, also if it was gone before it could be looked at.
using os::entry_kind;

/// One name in a directory.
struct directory_entry {
  std::string name;                     ///< in its directory
  std::string path;                     ///< the directory's path as it was given, and the name
  entry_kind kind = entry_kind::other;  ///< of what has the name

  /// Whether it is one, and not a link to one.
  bool is_directory() const noexcept { return kind == entry_kind::directory; }
};

/// What is in a directory, sorted by name, without "." and "..". errc::invalid_argument: a path with a
/// null character in it. May be called from any thread.
THRUM_OUT_OF_LINE std::vector<directory_entry> read_directory(const std::string& path);
THRUM_OUT_OF_LINE std::vector<directory_entry> read_directory(const std::string& path,
                                                              std::error_code& error);

/// Everything below a directory, each directory before what is in it, sorted by name: as Go's
/// filepath.WalkDir. Links are not followed below the given path, nor is one that has taken the place of a
/// directory: that fails with errc::not_a_directory (on Windows, if it was there before the directory is
/// read). One directory is read when its entries are asked for, so what changes meanwhile may be seen or
/// not; if one above is moved, errc::no_such_file_or_directory says what is not seen. A walk holds up to 17
/// descriptors, in a tree of any depth. Move-only; for one goroutine or thread at a time.
///
///   for (thrum::io::directory_walk walk("src"); auto each = walk.next();) {
///     if (each->name == ".git") walk.skip();
///   }
class directory_walk {
 public:
  /// Nothing is read yet. Entries deeper than `most_depth` are left out: with 1, those of the directory
  /// itself are all.
  explicit directory_walk(std::string path, std::size_t most_depth = SIZE_MAX);

  /// The next one; none at the end. Throws std::system_error for a directory that cannot be read, after
  /// which it goes on with what comes behind it.
  std::optional<directory_entry> next();
  /// The same; with an error, what is returned is the directory that cannot be read.
  std::optional<directory_entry> next(std::error_code& error);

  /// Leaves out what is in the directory that was returned last.
  void skip() noexcept;

  /// How deep the entry is that was returned last: 1 in the directory itself; 0 before the first.
  std::size_t depth() const noexcept { return depth_; }

 private:
  struct level {
    std::vector<directory_entry> entries;
    std::size_t at = 0;
    os::open_directory place;  // closed if it is far above: leave() opens it again
    os::file_status about;
  };

  void enter(std::error_code& error);
  void leave();

  std::vector<level> levels_;
  std::optional<directory_entry> inside_;  // whose entries come next
  std::size_t most_depth_;
  std::size_t depth_ = 0;
};

}}}  // namespace thrum::THRUM_ABI::io

#if !THRUM_SEPARATE
#include <thrum/io/directory_definition.hpp>
#endif

#endif
