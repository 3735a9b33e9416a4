// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A conversion that on some processors is none.
#ifndef THRUM_DETAIL_BASE_CONVERT_HPP
#define THRUM_DETAIL_BASE_CONVERT_HPP

#include <thrum/detail/base/config.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace base {

/// Converts as static_cast does, but without the compiler's warning of a cast between equal types
/// (-Wuseless-cast).
template <class To, class From>
constexpr To convert(From from) noexcept {
  return static_cast<To>(from);
}

}}}  // namespace thrum::THRUM_ABI::base

#endif
