// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Sending a file inside the system, where no call does that: it is read and sent.
#ifndef THRUM_DETAIL_OS_POSIX_NO_SEND_FILE_HPP
#define THRUM_DETAIL_OS_POSIX_NO_SEND_FILE_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_LINUX && THRUM_OS_PORTABLE

#include <thrum/detail/os/posix/handle.hpp>
#include <thrum/detail/os/posix/result.hpp>

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

inline io_result send_file(handle, handle, std::int64_t, std::size_t) noexcept {
  return not_supported;
}

/// Whether that is refused for files of this kind.
inline bool cannot_send_file(io_result sent) noexcept { return sent == not_supported; }

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_LINUX && THRUM_OS_PORTABLE
#endif  // THRUM_DETAIL_OS_POSIX_NO_SEND_FILE_HPP
