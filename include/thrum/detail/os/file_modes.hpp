// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How a file is opened, where positions count from, and what kind of thing stands under a name: words
// that are the same for all systems.
#ifndef THRUM_DETAIL_OS_FILE_MODES_HPP
#define THRUM_DETAIL_OS_FILE_MODES_HPP

#include <thrum/detail/base/config.hpp>

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// How a file is opened: values are joined by `|`.
enum class open_mode : unsigned {
  read = 1,
  write = 2,
  read_write = 3,
  append = 4 | 2,    ///< each write goes to the end
  create = 8,        ///< if it does not exist
  exclusive = 16,    ///< with create: fails if it exists
  truncate = 32,     ///< what was in it goes
  synchronous = 64,  ///< each write returns when the data is on the disk
};

/// Both together: open_mode::write | open_mode::create.
constexpr open_mode operator|(open_mode a, open_mode b) noexcept {
  return static_cast<open_mode>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}

/// Whether all of `what` is in it.
constexpr bool has_all(open_mode mode, open_mode what) noexcept {
  return (static_cast<unsigned>(mode) & static_cast<unsigned>(what)) == static_cast<unsigned>(what);
}

/// Where a position counts from.
enum class seek_from { begin, current, end };

/// What kind of thing stands under a name.
enum class entry_kind : std::uint8_t {
  file,       ///< a regular file
  directory,  ///< a directory
  link,       ///< a symbolic link, whatever it leads to
  pipe,       ///< a fifo
  socket,     ///< a Unix socket
  device,     ///< of blocks or characters
  other,      ///< anything else, or it was gone before it could be looked at
};

/// What the system says of a file beside what is in it.
struct file_status {
  entry_kind kind = entry_kind::other;
  std::uint64_t device = 0;  // with `number`: which file it is
  std::uint64_t number = 0;
  unsigned permissions = 0;
  std::uint32_t owner = 0;
  std::uint32_t group = 0;

  /// Whether both are one file, and not two of one name.
  bool is_same_file(const file_status& other) const noexcept {
    return kind == other.kind && device == other.device && number == other.number;
  }
};

/// At most this many directories in each other are open at once while a tree is gone through.
inline constexpr std::size_t most_open_directories = 16;

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_DETAIL_OS_FILE_MODES_HPP
