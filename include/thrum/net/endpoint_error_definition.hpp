// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What net/endpoint_error.hpp declares: the bodies that are not inlined.
#ifndef THRUM_NET_ENDPOINT_ERROR_DEFINITION_HPP
#define THRUM_NET_ENDPOINT_ERROR_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/net/endpoint_error.hpp>
#include <thrum/os/os.hpp>

#include <string>
#include <system_error>

namespace thrum { inline namespace THRUM_ABI { namespace net {

THRUM_OUT_OF_LINE std::string endpoint_category_type::message(int value) const {
  switch (static_cast<endpoint_error>(value)) {
    case endpoint_error::no_port:
      return "the port is missing; write it behind a colon, as in 127.0.0.1:80 or [::1]:80";
    case endpoint_error::bad_port:
      return "the port is no number from 0 to 65535 and, for net::resolve, no name of a "
             "service either";
    case endpoint_error::no_brackets:
      return "more than one colon; write an IPv6 address in brackets, as in [::1]:80";
    case endpoint_error::bad_brackets:
      return "brackets go around an IPv6 address, with the port behind, as in [::1]:80";
    case endpoint_error::not_an_address:
      return "the host is not an IPv4 or IPv6 address; names are for net::resolve";
    case endpoint_error::unknown_interface:
      return "there is no network interface of the name behind the %";
    case endpoint_error::no_path:
      return "the path is missing; write unix:/run/x.sock, or unix:@name for an abstract name";
    case endpoint_error::nul_in_path: return "the path contains a zero byte";
    case endpoint_error::path_too_long:
      return "the path is longer than the 107 bytes that the system takes; a relative one may "
             "do";
  }
  return "unknown error";
}

THRUM_OUT_OF_LINE std::error_condition endpoint_category_type::default_error_condition(
    int value) const noexcept {
  const auto error = static_cast<endpoint_error>(value);
  return error == endpoint_error::unknown_interface ? std::errc::no_such_device
         : error == endpoint_error::path_too_long   ? std::errc::filename_too_long
                                                    : std::errc::invalid_argument;
}

THRUM_OUT_OF_LINE const std::error_category& endpoint_category() noexcept {
  return os::process_wide<endpoint_category_type>::get();
}

}}}  // namespace thrum::THRUM_ABI::net

#endif
