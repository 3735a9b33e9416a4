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

/// What is in a file. errc::file_too_large if that is more than `most` bytes. With an error, nothing is
/// returned.
THRUM_OUT_OF_LINE std::string read_file(const std::string& path, std::size_t most = SIZE_MAX);
THRUM_OUT_OF_LINE std::string read_file(const std::string& path, std::error_code& error);
THRUM_OUT_OF_LINE std::string read_file(const std::string& path, std::size_t most,
                                        std::error_code& error);

/// How a file is written.
struct write_options {
  /// Whoever reads the file finds what was in it before or all of this, also when the system fails
  /// meanwhile: it is written beside it, synced, and renamed. A link stays one. A file that is there
  /// keeps its permissions, but not its owner, nor its other names.
  /// On Windows it fails while somebody has the file open: errc::permission_denied.
  bool atomic = false;
  /// Returns when it is on the disk.
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
