// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the processors of Windows have in common.
#ifndef THRUM_DETAIL_ARCH_WIN64_HPP
#define THRUM_DETAIL_ARCH_WIN64_HPP

#include <thrum/detail/base/config.hpp>

#include <cstddef>

#if THRUM_OS_WINDOWS

namespace thrum { inline namespace THRUM_ABI { namespace arch {

/// How much of a stack the system keeps for handlers of its overflow: some pages, but no more than
/// a quarter.
constexpr std::size_t bytes_for_overflow(std::size_t stack_bytes) noexcept {
  constexpr std::size_t wanted = 16'384;
  constexpr std::size_t page = 4'096;
  return stack_bytes / 4 < wanted ? stack_bytes / 4 / page * page : wanted;
}

}}}  // namespace thrum::THRUM_ABI::arch

#endif
#endif  // THRUM_DETAIL_ARCH_WIN64_HPP
