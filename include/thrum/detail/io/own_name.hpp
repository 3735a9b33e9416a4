// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// own_name: the name of something that this process has made and removes again.
//
// Another file may have the name by then: a successor's socket, or, if the working directory has changed, the file
// that a relative path names there. So set() makes the path absolute, and a removal compares device and file
// number. Another process can still exchange the file between the comparison and the removal; no system
// prevents that. A system reuses the number of a file that is gone, but not of one that is open, as a
// listening socket and a temporary file are.
//
// Texts of paths, which are UTF-8 on every system here. For definitions: <filesystem> would do it, too,
// but including it costs more than all the rest of io.
#ifndef THRUM_DETAIL_IO_OWN_NAME_HPP
#define THRUM_DETAIL_IO_OWN_NAME_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/random.hpp>
#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/os/file_modes.hpp>
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

/// Move-only. Holds none at first, and when moved from.
class own_name {
 public:
  own_name() noexcept = default;
  own_name(own_name&& other) noexcept;
  own_name& operator=(own_name&& other) noexcept;

  /// What has this name now is ours. If the system does not say what it is, it is never removed.
  void set(const std::string& path);
  void forget() noexcept { path_.clear(); }

  /// Removes the file or the socket, if the name is still its own and this is the process that has made it.
  void remove_file() const noexcept;
  /// Removes the directory with all that is in it, on these conditions.
  void remove_tree() const noexcept;

 private:
  bool is_still_ours() const noexcept;

  std::string path_;
  os::file_status about_;
  std::int64_t maker_ = 0;
};

}}}  // namespace thrum::THRUM_ABI::io_detail

#if THRUM_BODIES
#include <thrum/detail/os/parts.hpp>

#include <cstddef>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

THRUM_OUT_OF_LINE own_name::own_name(own_name&& other) noexcept
    : path_(std::exchange(other.path_, {})), about_(other.about_), maker_(other.maker_) {}

THRUM_OUT_OF_LINE own_name& own_name::operator=(own_name&& other) noexcept {
  path_ = std::exchange(other.path_, {});
  about_ = other.about_;
  maker_ = other.maker_;
  return *this;
}

THRUM_OUT_OF_LINE void own_name::set(const std::string& path) {
  const os::io_result found = take_path(
      path_, [&](char* to, std::size_t room) { return os::absolute_path(path.c_str(), to, room); });
  if (found < 0) {
    path_ = path;
  }
  if (os::status_of_name(path_.c_str(), about_) < 0) {
    path_.clear();
  }
  maker_ = os::own_process();
}

THRUM_OUT_OF_LINE bool own_name::is_still_ours() const noexcept {
  os::file_status found;
  return !path_.empty() && maker_ == os::own_process() &&
         os::status_of_name(path_.c_str(), found) >= 0 && found.is_same_file(about_);
}

THRUM_OUT_OF_LINE void own_name::remove_file() const noexcept {
  if (is_still_ours()) {
    os::remove_file(path_.c_str());
  }
}

THRUM_OUT_OF_LINE void own_name::remove_tree() const noexcept {
  if (is_still_ours()) {
    os::remove_tree(path_.c_str());
  }
}

}}}  // namespace thrum::THRUM_ABI::io_detail
#endif

#endif  // THRUM_DETAIL_IO_OWN_NAME_HPP
