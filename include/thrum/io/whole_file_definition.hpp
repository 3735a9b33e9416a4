// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What io/whole_file.hpp declares: the bodies that are not inlined.
#ifndef THRUM_IO_WHOLE_FILE_DEFINITION_HPP
#define THRUM_IO_WHOLE_FILE_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/error.hpp>
#include <thrum/base/message.hpp>
#include <thrum/blocking.hpp>
#include <thrum/io/file.hpp>
#include <thrum/io/path_text.hpp>
#include <thrum/io/whole_file.hpp>
#include <thrum/os/parts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

/// Writes all, and syncs if that is asked for.
inline void write_to(io::file& to, std::string_view text, bool sync, std::error_code& error) {
  to.write(text, error);
  if (!error && sync) {
    to.sync(error);
  }
}

/// Beside the file, and renamed.
inline void write_atomically(const std::string& path, std::string_view text,
                             const io::write_options& how, std::error_code& error) {
  std::string target;
  os::io_result kept = os::invalid;  // the permissions of what is there
  blocking([&] {
    const os::io_result real = take_path(
        target, [&](char* to, std::size_t room) { return os::real_path(path.c_str(), to, room); });
    if (real >= 0) {
      kept = os::permissions_of(target.c_str());
    } else {
      target = path;
    }
  });
  std::string beside;
  io::file to;
  do {
    beside = target + "." + random_name() + ".tmp";
    to = io::file::open(beside,
                        io::open_mode::write | io::open_mode::create | io::open_mode::exclusive,
                        how.permissions, error);
  } while (error == std::errc::file_exists);
  if (error) {
    return;
  }
  write_to(to, text, true, error);
  to.close();
  blocking([&] {
    os::io_result done = error ? os::io_result{os::invalid} : 0;
    if (!error && kept >= 0) {
      done = os::set_permissions(beside.c_str(), static_cast<unsigned>(kept));
    }
    if (done >= 0) {
      done = os::rename_file(beside.c_str(), target.c_str());
    }
    if (done < 0) {
      error = error ? error : error_of(done);
      os::remove_file(beside.c_str());
    }
  });
  if (!error && how.sync) {  // the directory, too, where that can be opened
    std::error_code no_directory;
    io::file directory = io::file::open(directory_of(target), io::open_mode::read, no_directory);
    if (!no_directory) {
      directory.sync(no_directory);
    }
  }
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
    text.resize(std::max(room, least));
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
    error = std::make_error_code(std::errc::invalid_argument);
    if (!how.append && path.find('\0') == std::string::npos) {
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
