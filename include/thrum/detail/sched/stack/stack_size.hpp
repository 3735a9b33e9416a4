// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Sizes of stacks: their classes, and the guard below each.
#ifndef THRUM_DETAIL_SCHED_STACK_STACK_SIZE_HPP
#define THRUM_DETAIL_SCHED_STACK_STACK_SIZE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/parts.hpp>

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// The smallest and largest stack, as log2 of bytes. Below 16 KiB a signal frame of a processor
/// with wide vectors does not fit; 1 GiB is Go's limit for a stack.
inline constexpr std::uint8_t min_stack_class = 14;
inline constexpr std::uint8_t max_stack_class = 30;

/// The size class for a stack of at least so many bytes.
constexpr std::uint8_t stack_class(std::size_t bytes) noexcept {
  std::uint8_t c = min_stack_class;
  while (c < max_stack_class && (std::size_t{1} << c) < bytes) {
    ++c;
  }
  return c;
}

/// The class for stacks of this size on this system, whose pages may be larger than the smallest class.
inline std::uint8_t usable_stack_class(std::size_t bytes) noexcept {
  const std::size_t page = os::page_size();
  return stack_class(bytes > page ? bytes : page);
}

/// The guard below each stack: a larger frame is a mistake of the program.
inline constexpr std::size_t stack_guard_bytes = std::size_t{64} << 10;

/// The guard in whole pages, an odd number of them. A stack of more than one page has an even number. So the
/// tops of stacks are an odd number of pages apart, and their entries in the processor's cache of page
/// tables (TLB) spread over all of its sets. With 64 KiB a thousand goroutines shared a sixteenth of them:
/// to spawn 1,000 took 58 ns each and not 47, 2,000 took 102 and not 63.
constexpr std::size_t stack_guard_bytes_of(std::size_t page) noexcept {
  const std::size_t pages = (stack_guard_bytes + page - 1) / page;
  return (pages | 1) * page;
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
