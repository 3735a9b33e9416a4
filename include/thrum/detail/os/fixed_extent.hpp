// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Down to where a goroutine's stack can be touched, where the system brings in each page by itself.
#ifndef THRUM_DETAIL_OS_FIXED_EXTENT_HPP
#define THRUM_DETAIL_OS_FIXED_EXTENT_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_POSIX

#include <thrum/detail/os/memory.hpp>

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
#endif  // THRUM_DETAIL_OS_FIXED_EXTENT_HPP
