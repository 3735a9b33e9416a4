// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A small generator for scheduling decisions: fast and well spread, not for secrets.
//
// The state is Marsaglia's 64-bit xorshift with Vigna's multiplicative scrambler (xorshift64*), of
// which the upper 32 bits are used; the seed goes through a mixing function so that neighbouring
// seeds give unrelated sequences.
#ifndef THRUM_DETAIL_BASE_RANDOM_HPP
#define THRUM_DETAIL_BASE_RANDOM_HPP

#include <cstdint>

#include <thrum/detail/base/config.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace base {

// gcc warns at -O3 -Wnull-dereference that an M, and so its generator, might be null.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnull-dereference"

/// Not thread-safe: each M has its own. Equal seeds give equal sequences.
class random {
 public:
  explicit constexpr random(std::uint64_t seed) noexcept : state_(mixed(seed)) {}

  /// The next number, uniform over all 32-bit values.
  constexpr std::uint32_t next() noexcept {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<std::uint32_t>((state_ * 0x2545'F491'4F6C'DD1D) >> 32);
  }

  /// A number uniform over [0, n), without the bias of a remainder; 0 when n is 0. (Lemire's
  /// method.)
  constexpr std::uint32_t below(std::uint32_t n) noexcept {
    std::uint64_t product = std::uint64_t{next()} * n;
    if (static_cast<std::uint32_t>(product) < n) {
      const std::uint32_t unfair = (0 - n) % n;
      while (static_cast<std::uint32_t>(product) < unfair) {
        product = std::uint64_t{next()} * n;
      }
    }
    return static_cast<std::uint32_t>(product >> 32);
  }

 private:
  static constexpr std::uint64_t mixed(std::uint64_t seed) noexcept {
    seed += 0x9E37'79B9'7F4A'7C15;
    seed = (seed ^ (seed >> 30)) * 0xBF58'476D'1CE4'E5B9;
    seed = (seed ^ (seed >> 27)) * 0x94D0'49BB'1331'11EB;
    seed ^= seed >> 31;
    return seed != 0 ? seed : 1;  // zero is the one state that xorshift never leaves
  }

  std::uint64_t state_;
};

#pragma GCC diagnostic pop

}}}  // namespace thrum::THRUM_ABI::base

#endif  // THRUM_DETAIL_BASE_RANDOM_HPP
