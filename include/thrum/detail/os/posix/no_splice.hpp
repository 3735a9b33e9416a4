// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Moving bytes between descriptors without copying them, where no call does that.
#ifndef THRUM_DETAIL_OS_POSIX_NO_SPLICE_HPP
#define THRUM_DETAIL_OS_POSIX_NO_SPLICE_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_BSD || (THRUM_OS_LINUX && THRUM_OS_PORTABLE)

#include <thrum/detail/os/handle.hpp>
#include <thrum/detail/os/posix/result.hpp>

#include <cstddef>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Whether the system has it.
inline constexpr bool has_splice = false;

inline io_result splice_to_pipe(handle, handle, std::size_t) noexcept { return not_supported; }
inline io_result splice_from_pipe(handle, handle, std::size_t) noexcept { return not_supported; }

/// Whether that is refused for such descriptors.
constexpr bool cannot_splice(io_result moved) noexcept { return moved == not_supported; }

inline void widen_pipe(handle, std::size_t) noexcept {}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_BSD || (THRUM_OS_LINUX && THRUM_OS_PORTABLE)
#endif  // THRUM_DETAIL_OS_POSIX_NO_SPLICE_HPP
