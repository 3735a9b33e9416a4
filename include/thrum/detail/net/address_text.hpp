// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// IPv4 and IPv6 addresses without a port, from text and to text. The digits are read and written by
// the system's own functions; what stands behind the % of an IPv6 address is done here.
#ifndef THRUM_DETAIL_NET_ADDRESS_TEXT_HPP
#define THRUM_DETAIL_NET_ADDRESS_TEXT_HPP

#include <thrum/detail/base/config.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace thrum { inline namespace THRUM_ABI { namespace net {

/// The bytes of an address in the order in which they are written.
using v4_address = std::array<std::uint8_t, 4>;
using v6_address = std::array<std::uint8_t, 16>;

}}}  // namespace thrum::THRUM_ABI::net

namespace thrum { inline namespace THRUM_ABI { namespace net_detail {

using namespace net;

/// An IPv6 address and the number of the network interface that it is meant on, 0 for none.
struct scoped_v6_address {
  v6_address bytes{};       ///< as they are written
  std::uint32_t scope = 0;  ///< the number of the interface
};

/// A text with a zero byte behind, for functions of C; empty if it does not fit into N bytes or
/// contains one itself, which would make it another text.
template <std::size_t N>
class terminated {
 public:
  /// Copies the text.
  explicit terminated(std::string_view text) noexcept {
    if (text.size() < N && text.find('\0') == std::string_view::npos) {
      std::copy(text.begin(), text.end(), text_);
    }
  }
  /// Never null; valid while the object is.
  [[nodiscard]] const char* c_str() const noexcept { return text_; }

 private:
  char text_[N] = {};
};

/// Reads "127.0.0.1": four numbers, no other form. Sets `error` to not_an_address on failure.
THRUM_OUT_OF_LINE v4_address read_v4(std::string_view text, std::error_code& error) noexcept;

/// The number of a network interface by number, which need not exist, or by name. Sets `error` to
/// unknown_interface on failure. One system call for a name.
THRUM_OUT_OF_LINE std::uint32_t read_scope(std::string_view text, std::error_code& error) noexcept;

/// Reads "::1", "fe80::1%eth0", "fe80::1%3". Sets `error` to not_an_address or unknown_interface on
/// failure.
THRUM_OUT_OF_LINE scoped_v6_address read_v6(std::string_view text, std::error_code& error) noexcept;

/// "127.0.0.1".
THRUM_OUT_OF_LINE std::string text_of_v4(std::span<const std::uint8_t, 4> address);

/// "::1" or, with a scope, "fe80::1%3".
THRUM_OUT_OF_LINE std::string text_of_v6(std::span<const std::uint8_t, 16> address,
                                         std::uint32_t scope);

}}}  // namespace thrum::THRUM_ABI::net_detail

#if THRUM_BODIES
#include <thrum/detail/net/errors.hpp>
#include <thrum/detail/os/socket_types.hpp>

#include <algorithm>
#include <charconv>

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

#endif  // THRUM_DETAIL_NET_ADDRESS_TEXT_HPP
