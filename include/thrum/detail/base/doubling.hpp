// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Where an element stands in an array that grows and never moves: chunks, each as long as all before
// it together, so that a dozen pointers lead to millions of elements and an array that is not used
// takes no memory.
#ifndef THRUM_DETAIL_BASE_DOUBLING_HPP
#define THRUM_DETAIL_BASE_DOUBLING_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/convert.hpp>

#include <bit>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace base {

/// The first chunk has 2^first_bits elements, the next as many, each further one twice as many.
template <unsigned first_bits>
struct doubling_place {
  unsigned chunk;
  std::uint32_t at;  // within the chunk

  static constexpr doubling_place of(std::uint32_t index) noexcept {
    const auto chunk = convert<unsigned>(std::bit_width(index >> first_bits));
    return {chunk, chunk == 0 ? index : index - size_of(chunk)};
  }
  /// How many elements a chunk has, which for all but the first is how many stand before it.
  static constexpr std::uint32_t size_of(unsigned chunk) noexcept {
    return std::uint32_t{1} << (chunk == 0 ? first_bits : first_bits + chunk - 1);
  }
  /// How many chunks hold 2^bits elements.
  static constexpr unsigned chunks_for(unsigned bits) noexcept { return bits - first_bits + 1; }
};

}}}  // namespace thrum::THRUM_ABI::base

#endif
