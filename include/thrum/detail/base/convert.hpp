// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A conversion that on some processors is none.
#ifndef THRUM_DETAIL_BASE_CONVERT_HPP
#define THRUM_DETAIL_BASE_CONVERT_HPP

#include <thrum/detail/base/config.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace base {

/// As static_cast. Where both types are one, compilers can be asked to say that a cast is useless
/// (-Wuseless-cast); of this one they do not.
template <class To, class From>
constexpr To convert(From from) noexcept {
  return static_cast<To>(from);
}

}}}  // namespace thrum::THRUM_ABI::base

#endif
