// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Texts of paths, which are UTF-8 on every system here. For definitions: <filesystem> would do it, too,
// but including it costs more than all the rest of io.
#ifndef THRUM_DETAIL_IO_PATH_TEXT_HPP
#define THRUM_DETAIL_IO_PATH_TEXT_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/random.hpp>
#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/os/parts.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

/// The path of something in a directory.
inline std::string path_in(std::string_view directory, std::string_view name) {
  std::string path;
  path.reserve(directory.size() + 1 + name.size());
  path.append(directory);
  if (!directory.empty() && !os::ends_directory(directory.back())) {
    path += os::path_separator;
  }
  return path.append(name);
}

/// The directory in which a path's last name stands.
inline std::string directory_of(std::string_view path) {
  std::size_t end = path.size();
  while (end != 0 && !os::ends_directory(path[end - 1])) {
    --end;
  }
  return end == 0 ? std::string(".") : std::string(path.substr(0, end));
}

/// A path that call(to, room) gives, as os::real_path() does; what is returned is below zero for an
/// error.
template <class Call>
os::io_result take_path(std::string& path, Call call) {
  constexpr std::size_t usual = 255;
  path.resize(usual);
  for (;;) {
    const os::io_result length = call(path.data(), path.size() + 1);
    const bool fits = length <= static_cast<os::io_result>(path.size());
    path.resize(length < 0 ? 0 : static_cast<std::size_t>(length));
    if (fits) {
      return length;
    }
  }
}

/// Ten letters and digits, others each time, also in other processes.
inline std::string random_name() {
  static constinit base::shared_figure<std::uint64_t> made{0};
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789";
  base::random draw(static_cast<std::uint64_t>(os::now()) ^
                    static_cast<std::uint64_t>(os::own_process()) << 40 ^ made.add() << 20);
  std::string name;
  for (int i = 0; i != 10; ++i) {
    name += letters[draw.below(static_cast<std::uint32_t>(letters.size()))];
  }
  return name;
}

}}}  // namespace thrum::THRUM_ABI::io_detail

#endif
