// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the system knows an open descriptor by: here the smallest number that was free.
//
// Elsewhere it is an address that looks like any other, and none is not -1. So the floors above
// compare one with no_handle only, take it out of a result by handle_of(), and ask for number_of()
// where they have a table.
#ifndef THRUM_DETAIL_OS_POSIX_HANDLE_HPP
#define THRUM_DETAIL_OS_POSIX_HANDLE_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_POSIX

#include <thrum/detail/os/posix/result.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using handle = int;

inline constexpr handle no_handle = -1;

/// Whether it can be one at all: no_handle, and what else cannot stand for a descriptor, is not.
constexpr bool is_handle(handle h) noexcept { return h >= 0; }

/// The one that a call has returned, from 0 on.
constexpr handle handle_of(io_result result) noexcept { return static_cast<handle>(result); }

/// Small, and another one for each that is open.
constexpr unsigned number_of(handle h) noexcept { return static_cast<unsigned>(h); }

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_POSIX
#endif  // THRUM_DETAIL_OS_POSIX_HANDLE_HPP
