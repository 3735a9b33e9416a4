// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the system knows an open file, socket or other object by: a word of its own choice.
#ifndef THRUM_DETAIL_OS_WINDOWS_HANDLE_HPP
#define THRUM_DETAIL_OS_WINDOWS_HANDLE_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/detail/os/windows/result.hpp>

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

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_DETAIL_OS_WINDOWS_HANDLE_HPP
