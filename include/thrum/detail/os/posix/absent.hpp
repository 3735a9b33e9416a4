// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a system of which we ask no more than POSIX does not have: it does not watch children (their user
// looks at them in intervals) or files, and sends no file inside of itself (it is read and sent).
#ifndef THRUM_DETAIL_OS_POSIX_ABSENT_HPP
#define THRUM_DETAIL_OS_POSIX_ABSENT_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_LINUX && THRUM_OS_PORTABLE

#include <thrum/detail/os/answers.hpp>
#include <thrum/detail/os/handle.hpp>
#include <thrum/detail/os/posix/result.hpp>

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Is never open.
class child_watch {
 public:
  constexpr child_watch() noexcept = default;

  bool is_open() const noexcept { return false; }
  io_result open() noexcept { return not_supported; }
  void close() noexcept {}
  io_result add(handle, void*) noexcept { return not_supported; }
  void remove(handle) noexcept {}
  void wake() noexcept {}
  std::size_t sleep(void**, std::size_t, int) noexcept { return 0; }
};

struct file_watch {
  static io_result open() noexcept { return not_supported; }
  static io_result add(handle, const char*) noexcept { return not_supported; }
  static io_result remove(handle, int) noexcept { return not_supported; }
  static io_result read(handle, std::byte*, std::size_t) noexcept { return not_supported; }
  static void close() noexcept {}
};
inline const std::byte* take_change(const std::byte* at, file_change_seen&) noexcept { return at; }

inline io_result send_file(handle, handle, std::int64_t, std::size_t) noexcept {
  return not_supported;
}

/// Whether that is refused for files of this kind.
inline bool cannot_send_file(io_result sent) noexcept { return sent == not_supported; }

}}}  // namespace thrum::THRUM_ABI::os

#endif
#endif  // THRUM_DETAIL_OS_POSIX_ABSENT_HPP
