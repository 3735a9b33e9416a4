// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A file read or written by one call.
#ifndef THRUM_IO_WHOLE_FILE_HPP
#define THRUM_IO_WHOLE_FILE_HPP

#include <thrum/base/config.hpp>

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
  /// On Windows it fails while somebody has the file open: errc::permission_denied.
  bool atomic = false;
  /// Returns when it is on the disk. With `atomic` the folder is on the disk, too; if that fails, there is
  /// an error although the file has been replaced.
  bool sync = false;
  /// What is there stays, and this comes behind it. Not with `atomic`.
  bool append = false;
  /// Of a file that is created, less the process's umask.
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

#if !THRUM_SEPARATE
#include <thrum/io/whole_file_definition.hpp>
#endif

#endif
