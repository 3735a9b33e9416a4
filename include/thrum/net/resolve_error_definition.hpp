// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What net/resolve_error.hpp declares: the bodies that are not inlined.
#ifndef THRUM_NET_RESOLVE_ERROR_DEFINITION_HPP
#define THRUM_NET_RESOLVE_ERROR_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/net/resolve_error.hpp>
#include <thrum/os/os.hpp>
#include <thrum/os/socket_types.hpp>

#include <system_error>

namespace thrum { inline namespace THRUM_ABI { namespace net {

THRUM_OUT_OF_LINE std::error_condition resolver_category_type::default_error_condition(
    int value) const noexcept {
  switch (value) {
    case EAI_AGAIN: return std::errc::resource_unavailable_try_again;
    case EAI_MEMORY: return std::errc::not_enough_memory;
    default: return {value, *this};
  }
}

THRUM_OUT_OF_LINE const std::error_category& resolver_category() noexcept {
  return os::process_wide<resolver_category_type>::get();
}

THRUM_OUT_OF_LINE std::error_code resolver_error(int returned, os::io_result cause) noexcept {
  return cause != 0 ? os::error_code_of(cause) : std::error_code(returned, resolver_category());
}

}}}  // namespace thrum::THRUM_ABI::net

#endif
