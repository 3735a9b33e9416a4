// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Chooses the operating system, for memory and for what is there once in a process: what the layer's
// own files need of it.
#ifndef THRUM_DETAIL_OS_MEMORY_PARTS_HPP
#define THRUM_DETAIL_OS_MEMORY_PARTS_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/memory.hpp>  // IWYU pragma: export

#if THRUM_OS_POSIX
#include <thrum/detail/os/posix/process_wide.hpp>  // IWYU pragma: export
#elif THRUM_OS_WINDOWS
#include <thrum/detail/os/windows/process_wide.hpp>  // IWYU pragma: export
#endif

// Down to where a goroutine's stack can be touched, where the system brings in each page by itself.
#if THRUM_OS_POSIX

#include <cstddef>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// All of it, always: there is nothing to keep.
class stack_extent {
 public:
  static constexpr bool open(char*, char*) noexcept { return true; }
  static constexpr const void* limit(const char* low) noexcept { return low; }
  static constexpr bool reach(const char*, const char*) noexcept { return true; }
  static constexpr void note_limit(const void*) noexcept {}
  /// The pages from `low` up to `end` are not needed any more.
  static void shrink(char* low, char* end) noexcept {
    discard_now(low, static_cast<std::size_t>(end - low));
  }
};

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_POSIX

#endif  // THRUM_DETAIL_OS_MEMORY_PARTS_HPP
