// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// read_directory, directory_walk: what a directory holds, and what is below it.
//
// The system has no way to wait for these but to block, so they go through blocking(), a directory at a
// time: as for regular files (io/file.hpp), a call that is under way is not ended by a stop.
#ifndef THRUM_IO_DIRECTORY_HPP
#define THRUM_IO_DIRECTORY_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/file_modes.hpp>
#include <thrum/detail/os/parts.hpp>

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
  /// The next one, as next(); with an error, what is returned is the directory that cannot be read.
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

#if THRUM_BODIES
#include <thrum/blocking.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/io/own_name.hpp>
#include <thrum/io/descriptor.hpp>

#include <algorithm>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

/// What is in a directory, a path or one that is open, sorted by name.
template <class Directory>
os::io_result read_names(const Directory& directory, const std::string& path,
                         std::vector<io::directory_entry>& all) {
  os::directory_reader reader;
  os::io_result result = reader.open(directory);
  const char* name = nullptr;
  for (io::entry_kind kind{}; result >= 0 && (result = reader.next(name, kind)) > 0;) {
    all.push_back({name, path_in(path, name), kind});
  }
  std::sort(all.begin(), all.end(), [](const io::directory_entry& a, const io::directory_entry& b) {
    return a.name < b.name;
  });
  return result;
}

}}}  // namespace thrum::THRUM_ABI::io_detail

namespace thrum { inline namespace THRUM_ABI { namespace io {

THRUM_OUT_OF_LINE std::vector<directory_entry> read_directory(const std::string& path) {
  std::error_code error;
  std::vector<directory_entry> all = read_directory(path, error);
  if (error) {
    base::throw_system(error, base::message<512>("read_directory ").append_quoted(path).view());
  }
  return all;
}

THRUM_OUT_OF_LINE std::vector<directory_entry> read_directory(const std::string& path,
                                                              std::error_code& error) {
  std::vector<directory_entry> all;
  os::io_result result = os::invalid;
  if (path.find('\0') == std::string::npos) {
    blocking([&] { result = io_detail::read_names(path.c_str(), path, all); });
  }
  error = result < 0 ? io_detail::error_of(result) : std::error_code();
  if (error) {
    return {};
  }
  return all;
}

THRUM_OUT_OF_LINE directory_walk::directory_walk(std::string path, std::size_t most_depth)
    : most_depth_(most_depth) {
  inside_.emplace();
  inside_->path = std::move(path);
  inside_->kind = entry_kind::directory;
}

THRUM_OUT_OF_LINE std::optional<directory_entry> directory_walk::next() {
  std::error_code error;
  std::optional<directory_entry> found = next(error);
  if (error) {
    base::throw_system(
        error, base::message<512>("directory_walk::next ").append_quoted(found->path).view());
  }
  return found;
}

THRUM_OUT_OF_LINE std::optional<directory_entry> directory_walk::next(std::error_code& error) {
  error.clear();
  if (inside_ && levels_.size() < most_depth_) {
    enter(error);
    if (error) {
      return std::exchange(inside_, std::nullopt);
    }
  }
  inside_.reset();
  while (!levels_.empty()) {
    level& last = levels_.back();
    if (last.at != last.entries.size()) {
      depth_ = levels_.size();
      directory_entry& found = last.entries[last.at++];
      if (found.is_directory()) {
        inside_ = found;
      }
      return std::move(found);
    }
    leave();
  }
  return std::nullopt;
}

THRUM_OUT_OF_LINE void directory_walk::enter(std::error_code& error) {
  level below;
  os::io_result result = os::invalid;
  const std::string& path = inside_->path;
  if (path.find('\0') == std::string::npos) {
    blocking([&] {
      result = levels_.empty()
                   ? below.place.open(path.c_str())
                   : below.place.open_in(levels_.back().place, inside_->name.c_str(), path.c_str());
      result = result < 0 ? result : below.place.status(below.about);
      result = result < 0 ? result : io_detail::read_names(below.place, path, below.entries);
    });
  }
  if (result < 0) {
    error = io_detail::error_of(result);
    return;
  }
  levels_.push_back(std::move(below));
  if (levels_.size() > os::most_open_directories) {
    levels_[levels_.size() - 1 - os::most_open_directories].place.close();
  }
}

THRUM_OUT_OF_LINE void directory_walk::leave() {
  const level done = std::move(levels_.back());
  levels_.pop_back();
  if (!levels_.empty() && !levels_.back().place.is_open()) {
    // Else it was moved, and stays closed: what is to be read in it fails.
    blocking([&] { levels_.back().place.open_above(done.place, levels_.back().about); });
  }
}

THRUM_OUT_OF_LINE void directory_walk::skip() noexcept { inside_.reset(); }

}}}  // namespace thrum::THRUM_ABI::io
#endif

#endif
