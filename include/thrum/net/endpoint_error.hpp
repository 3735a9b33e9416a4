// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Why a text is no endpoint, as std::error_code whose message says what to write instead.
#ifndef THRUM_NET_ENDPOINT_ERROR_HPP
#define THRUM_NET_ENDPOINT_ERROR_HPP

#include <thrum/base/config.hpp>

#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace thrum { inline namespace THRUM_ABI { namespace net {

/// What is wrong with the text of an endpoint. As a std::error_code each equals
/// std::errc::invalid_argument, except path_too_long (std::errc::filename_too_long) and
/// unknown_interface (std::errc::no_such_device).
enum class endpoint_error {
  no_port = 1,        ///< nothing behind the last colon, or no colon
  bad_port,           ///< not a number from 0 to 65535, nor (where it may be one) a name
  no_brackets,        ///< more than one colon outside of brackets
  bad_brackets,       ///< brackets around something else than an IPv6 address, or not in pairs
  not_an_address,     ///< a host that is not written in numbers
  unknown_interface,  ///< no network interface is called what stands behind the %
  no_path,            ///< a Unix address without path or name
  nul_in_path,        ///< a path that the system would cut off
  path_too_long,      ///< a path or name of over 107 bytes
};

/// See endpoint_category().
class endpoint_category_type final : public std::error_category {
 public:
  /// By which all shared objects of the process find the same one: errors compare equal.
  static constexpr std::string_view process_name = "net::endpoint_category";

  const char* name() const noexcept override { return "endpoint"; }

  std::string message(int value) const override;

  std::error_condition default_error_condition(int value) const noexcept override;
};

/// The category of endpoint_error, called "endpoint".
THRUM_OUT_OF_LINE const std::error_category& endpoint_category() noexcept;

/// Makes `std::error_code error = endpoint_error::no_port` work.
inline std::error_code make_error_code(endpoint_error error) noexcept {
  return {static_cast<int>(error), endpoint_category()};
}

}}}  // namespace thrum::THRUM_ABI::net

template <>
struct std::is_error_code_enum<thrum::net::endpoint_error> : std::true_type {};

#if !THRUM_SEPARATE
#include <thrum/net/endpoint_error_definition.hpp>
#endif

#endif  // THRUM_NET_ENDPOINT_ERROR_HPP
