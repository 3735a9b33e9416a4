// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the system knows an open descriptor by. Apart from the rest of the layer, for a poller that is
// compiled alone.
#ifndef THRUM_DETAIL_OS_HANDLE_HPP
#define THRUM_DETAIL_OS_HANDLE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/result.hpp>

#if THRUM_OS_POSIX

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

#elif THRUM_OS_WINDOWS

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using handle = std::uintptr_t;

inline constexpr handle no_handle = UINTPTR_MAX;

/// Whether it can be one at all: no_handle and zero, with which some calls say that there is none, are
/// not.
constexpr bool is_handle(handle h) noexcept { return h != no_handle && h != 0; }

/// As the system's calls take it.
inline void* native(handle h) noexcept { return reinterpret_cast<void*>(h); }

/// The one that a call has returned.
constexpr handle handle_of(io_result result) noexcept { return static_cast<handle>(result); }

/// Small, and another one for each that is open: the system counts in steps of four.
constexpr unsigned number_of(handle h) noexcept { return static_cast<unsigned>(h >> 2); }

}}}  // namespace thrum::THRUM_ABI::os

#endif

#endif  // THRUM_DETAIL_OS_HANDLE_HPP
