// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What net/address_text.hpp declares: the bodies that are not inlined.
#ifndef THRUM_NET_ADDRESS_TEXT_DEFINITION_HPP
#define THRUM_NET_ADDRESS_TEXT_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/net/address_text.hpp>
#include <thrum/net/endpoint_error.hpp>
#include <thrum/os/socket_types.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace thrum { inline namespace THRUM_ABI { namespace net_detail {

THRUM_OUT_OF_LINE v4_address read_v4(std::string_view text, std::error_code& error) noexcept {
  const terminated<INET_ADDRSTRLEN> digits(text);
  v4_address address{};
  error.clear();
  if (::inet_pton(AF_INET, digits.c_str(), address.data()) != 1) {
    error = endpoint_error::not_an_address;
  }
  return address;
}

THRUM_OUT_OF_LINE std::uint32_t read_scope(std::string_view text, std::error_code& error) noexcept {
  constexpr std::size_t longest_name = 256;  // and more than any system allows
  std::uint32_t scope = 0;
  const char* const last = text.data() + text.size();
  error.clear();
  // A number first, although an interface may be called 3: that is what text_of_v6() writes.
  if (const auto read = std::from_chars(text.data(), last, scope);
      read.ec == std::errc() && read.ptr == last) {
    return scope;
  }
  scope = os::interface_number(terminated<longest_name>(text).c_str());
  if (scope == 0) {
    error = endpoint_error::unknown_interface;
  }
  return scope;
}

THRUM_OUT_OF_LINE scoped_v6_address read_v6(std::string_view text,
                                            std::error_code& error) noexcept {
  const std::size_t percent = std::min(text.find('%'), text.size());
  const terminated<INET6_ADDRSTRLEN> digits(text.substr(0, percent));
  scoped_v6_address address;
  error.clear();
  if (::inet_pton(AF_INET6, digits.c_str(), address.bytes.data()) != 1) {
    error = endpoint_error::not_an_address;
  } else if (percent != text.size()) {
    address.scope = read_scope(text.substr(percent + 1), error);
  }
  return address;
}

THRUM_OUT_OF_LINE std::string text_of_v4(std::span<const std::uint8_t, 4> address) {
  char digits[INET_ADDRSTRLEN] = {};
  return ::inet_ntop(AF_INET, address.data(), digits, sizeof digits);
}

THRUM_OUT_OF_LINE std::string text_of_v6(std::span<const std::uint8_t, 16> address,
                                         std::uint32_t scope) {
  char digits[INET6_ADDRSTRLEN] = {};
  std::string text = ::inet_ntop(AF_INET6, address.data(), digits, sizeof digits);
  return scope == 0 ? text : text.append("%").append(std::to_string(scope));
}

}}}  // namespace thrum::THRUM_ABI::net_detail

#endif
