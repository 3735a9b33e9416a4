// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Keeps what different processors write on different cache lines.
#ifndef THRUM_DETAIL_BASE_CACHE_LINE_HPP
#define THRUM_DETAIL_BASE_CACHE_LINE_HPP

#include <cstddef>

#include <thrum/detail/base/config.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace base {

/// Bytes of a cache line. A fixed number, unlike std::hardware_destructive_interference_size,
/// because it is part of the layout of types that cross translation units and -mtune must not
/// change it.
inline constexpr std::size_t cache_line_size = 64;

/// A value that shares its cache line with nothing else.
template <class T>
struct alignas(cache_line_size) padded {
  T value;
};

}}}  // namespace thrum::THRUM_ABI::base

#endif  // THRUM_DETAIL_BASE_CACHE_LINE_HPP
