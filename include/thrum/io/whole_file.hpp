// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A file read or written by one call.
#ifndef THRUM_IO_WHOLE_FILE_HPP
#define THRUM_IO_WHOLE_FILE_HPP

#include <thrum/detail/base/config.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace thrum { inline namespace THRUM_ABI { namespace io {

/// What is in a file. errc::file_too_large if that is more than `most` bytes, errc::not_enough_memory if it
/// is more than memory holds. With an error, nothing is returned.
THRUM_OUT_OF_LINE std::string read_file(const std::string& path, std::size_t most = SIZE_MAX);
THRUM_OUT_OF_LINE std::string read_file(const std::string& path, std::error_code& error);
THRUM_OUT_OF_LINE std::string read_file(const std::string& path, std::size_t most,
                                        std::error_code& error);

/// How a file is written.
struct write_options {
  /// A reader of the file finds what was in it before or the whole text, also if the system fails meanwhile.
  /// The text is written into a new file in the same folder, .thrum-*.tmp, synced, and renamed.
  ///  - A new file gets `permissions`. A file that is there is replaced by one with its permissions, owner,
  ///    group and, on Linux, access control list; without set-user-ID and set-group-ID, and without its
  ///    other names and extended attributes. Until it has them, only this user may open the new file.
  ///  - If the system refuses the owner, it is this user. If it refuses the group, the file's group gets
  ///    the permissions that everybody has.
  ///  - A symbolic link stays one, also if nothing is there where it leads: that file is written. On
  ///    Windows a link that leads nowhere is an error.
  ///  - The folder must be writable; the file need not be.
  ///  - errc::is_a_directory; errc::operation_not_supported for a fifo, a socket or a device;
  ///    errc::too_many_symbolic_link_levels. Nothing has changed then.
  ///  - If the program is killed meanwhile, .thrum-*.tmp stays; an error or an exception removes it.
  /// On Windows it fails while a program has the file open: errc::permission_denied.
  bool atomic = false;
  /// Returns when it is on the disk. With `atomic` the folder is on the disk, too; if that fails, there is
  /// an error although the file has been replaced.
  bool sync = false;
  /// What is there stays, and this comes behind it. Not with `atomic`.
  bool append = false;
  /// The permissions of a file that is created, less the process's umask.
  unsigned permissions = 0666;
};

/// Writes a file, in place of what was in it, if it is there. After an error it may have been written in
/// part, unless `atomic`; errc::invalid_argument: options that exclude each other.
THRUM_OUT_OF_LINE void write_file(const std::string& path, std::string_view text,
                                  const write_options& how = {});
THRUM_OUT_OF_LINE void write_file(const std::string& path, std::string_view text,
                                  const write_options& how, std::error_code& error);
THRUM_OUT_OF_LINE void write_file(const std::string& path, std::span<const std::byte> bytes,
                                  const write_options& how = {});
THRUM_OUT_OF_LINE void write_file(const std::string& path, std::span<const std::byte> bytes,
                                  const write_options& how, std::error_code& error);

}}}  // namespace thrum::THRUM_ABI::io

#if THRUM_BODIES
#include <thrum/blocking.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/io/own_name.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/io/file.hpp>

#include <algorithm>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

/// Writes all, and syncs if that is asked for.
inline void write_to(io::file& to, std::string_view text, bool sync, std::error_code& error) {
  to.write(text, error);
  if (!error && sync) {
    to.sync(error);
  }
}

/// False: so much memory there is not.
inline bool resize_if_possible(std::string& text, std::size_t size) {
  THRUM_TRY {
    text.resize(size);
    return true;
  }
  THRUM_CATCH_ALL { return false; }
}

/// Where a file is written that is opened by `path`: links at its end are followed, also to what is not
/// there.
inline std::string path_to_write(const std::string& path, std::error_code& error) {
  constexpr int most_links = 40;
  std::string target = path;
  for (int links = 0;; ++links) {
    std::string leads_to;
    const os::io_result length = take_path(leads_to, [&](char* to, std::size_t room) {
      return os::read_link(target.c_str(), to, room);
    });
    if (length == 0) {
      return target;
    }
    if (length < 0 || links == most_links) {
      error = length < 0 ? error_of(length)
                         : std::make_error_code(std::errc::too_many_symbolic_link_levels);
      return {};
    }
    target = std::move(leads_to);
  }
}

/// What is there and is to be replaced, whose kind is `other` if nothing is. The system follows the links
/// here: it refuses those that it would not follow for open, as another user's in a folder for all.
inline os::file_status replaced_file(const std::string& path, std::error_code& error) {
  os::file_status found;
  const os::io_result result = os::status_of_target(path.c_str(), found);
  if (result >= 0) {
    if (found.kind != os::entry_kind::file) {
      error = std::make_error_code(found.kind == os::entry_kind::directory
                                       ? std::errc::is_a_directory
                                       : std::errc::operation_not_supported);
    }
  } else if (error = error_of(result); error == std::errc::no_such_file_or_directory) {
    error.clear();
  }
  return found;
}

/// A name that is removed, unless it was given up.
class unfinished_file {
 public:
  unfinished_file() noexcept = default;
  unfinished_file(const unfinished_file&) = delete;
  unfinished_file& operator=(const unfinished_file&) = delete;
  ~unfinished_file() {
    if (exists_) {
      blocking([&] { os::remove_file(path_.c_str()); });
    }
  }

  /// In a directory, by a name that is not too long anywhere.
  io::file open(const std::string& directory, unsigned permissions, std::error_code& error) {
    io::file made;
    do {
      path_ = path_in(directory, ".thrum-" + random_name() + ".tmp");
      made = io::file::open(path_,
                            io::open_mode::write | io::open_mode::create | io::open_mode::exclusive,
                            permissions, error);
    } while (error == std::errc::file_exists);
    exists_ = !error;
    return made;
  }

  /// Gives it another name, in place of what has that.
  os::io_result rename(const std::string& target) {
    const os::io_result result = os::rename_file(path_.c_str(), target.c_str());
    exists_ = result < 0;
    return result;
  }

 private:
  std::string path_;
  bool exists_ = false;
};

/// Into another file, which takes its name.
inline void write_atomically(const std::string& path, std::string_view text,
                             const io::write_options& how, std::error_code& error) {
  constexpr unsigned only_this_user = 0600;
  std::string target;
  os::file_status kept;
  blocking([&] {
    kept = replaced_file(path, error);
    if (!error) {
      target = path_to_write(path, error);
    }
  });
  if (error) {
    return;
  }
  const bool replaces = kept.kind == os::entry_kind::file;
  const std::string directory = directory_of(target);
  unfinished_file beside;
  io::file to = beside.open(directory, replaces ? only_this_user : how.permissions, error);
  if (!error) {
    to.write(text, error);
  }
  if (!error && replaces) {
    blocking([&] { count_or(os::give_rights(to.native_handle(), target.c_str(), kept), error); });
  }
  if (!error) {
    to.sync(error);
  }
  to.close();
  if (error) {
    return;
  }
  blocking([&] {
    os::io_result done = beside.rename(target);
    if (done >= 0 && how.sync) {
      done = os::sync_directory(directory.c_str());
    }
    count_or(done < 0 ? done : 0, error);
  });
}

}}}  // namespace thrum::THRUM_ABI::io_detail

namespace thrum { inline namespace THRUM_ABI { namespace io {

THRUM_OUT_OF_LINE std::string read_file(const std::string& path, std::size_t most) {
  std::error_code error;
  std::string text = read_file(path, most, error);
  if (error) {
    base::throw_system(error, base::message<512>("read_file ").append_quoted(path).view());
  }
  return text;
}

THRUM_OUT_OF_LINE std::string read_file(const std::string& path, std::error_code& error) {
  return read_file(path, SIZE_MAX, error);
}

THRUM_OUT_OF_LINE std::string read_file(const std::string& path, std::size_t most,
                                        std::error_code& error) {
  file from = file::open(path, open_mode::read, error);
  if (error) {
    return {};
  }
  std::error_code no_size;
  const std::uint64_t size = from.size(no_size);  // 0 of files that the system makes up
  if (size > most) {
    error = std::make_error_code(std::errc::file_too_large);
    return {};
  }
  constexpr std::size_t least = 4096;
  std::string text;
  std::size_t used = 0;
  for (std::size_t room = static_cast<std::size_t>(size) + 1;; room = 2 * used) {
    if (!io_detail::resize_if_possible(text, std::max(room, least))) {
      error = std::make_error_code(std::errc::not_enough_memory);
      return {};
    }
    used += from.read_full(std::span<char>(text).subspan(used), error);
    if (error || used > most) {
      error = error ? error : std::make_error_code(std::errc::file_too_large);
      return {};
    }
    if (used != text.size()) {
      text.resize(used);
      return text;
    }
  }
}

THRUM_OUT_OF_LINE void write_file(const std::string& path, std::string_view text,
                                  const write_options& how) {
  std::error_code error;
  write_file(path, text, how, error);
  if (error) {
    base::throw_system(error, base::message<512>("write_file ").append_quoted(path).view());
  }
}

THRUM_OUT_OF_LINE void write_file(const std::string& path, std::string_view text,
                                  const write_options& how, std::error_code& error) {
  if (how.atomic) {
    error.clear();
    if (how.append || path.find('\0') != std::string::npos) {
      error = std::make_error_code(std::errc::invalid_argument);
    } else {
      io_detail::write_atomically(path, text, how, error);
    }
    return;
  }
  file to = file::open(
      path,
      (how.append ? open_mode::append : open_mode::write | open_mode::truncate) | open_mode::create,
      how.permissions, error);
  if (!error) {
    io_detail::write_to(to, text, how.sync, error);
  }
}

THRUM_OUT_OF_LINE void write_file(const std::string& path, std::span<const std::byte> bytes,
                                  const write_options& how) {
  write_file(path, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
             how);
}

THRUM_OUT_OF_LINE void write_file(const std::string& path, std::span<const std::byte> bytes,
                                  const write_options& how, std::error_code& error) {
  write_file(path, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()), how,
             error);
}

}}}  // namespace thrum::THRUM_ABI::io
#endif

#endif
