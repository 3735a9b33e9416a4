// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Puts a std::string together from several texts. One function that is not inlined: each append of the
// standard's costs a user's compiler more than a line of a report is worth.
#ifndef THRUM_DETAIL_BASE_APPEND_HPP
#define THRUM_DETAIL_BASE_APPEND_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/message.hpp>

#include <initializer_list>
#include <string>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace base {

/// Appends the parts in their order. Allocates.
[[gnu::cold]] void append(std::string& text, std::initializer_list<std::string_view> parts);

/// The digits of a number, for append.
using digits = message<24>;

}}}  // namespace thrum::THRUM_ABI::base

#if THRUM_BODIES
namespace thrum { inline namespace THRUM_ABI { namespace base {

THRUM_COLD THRUM_OUT_OF_LINE void append(std::string& text,
                                         std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts) {
    text.append(part);
  }
}

}}}  // namespace thrum::THRUM_ABI::base
#endif

#endif  // THRUM_DETAIL_BASE_APPEND_HPP
