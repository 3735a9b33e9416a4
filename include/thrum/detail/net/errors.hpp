// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Why a text is no endpoint, as std::error_code whose message says what to write instead.
//
// Why a name has no endpoint, as std::error_code in the words of the system's resolver.
#ifndef THRUM_DETAIL_NET_ERRORS_HPP
#define THRUM_DETAIL_NET_ERRORS_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/detail/os/socket_types.hpp>

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
  /// The name by which all shared objects of the process find one and the same category: errors compare
  /// equal.
  static constexpr std::string_view process_name = "net::endpoint_category";

  const char* name() const noexcept override { return "endpoint"; }

  THRUM_OUT_OF_LINE std::string message(int value) const override;

  THRUM_OUT_OF_LINE std::error_condition default_error_condition(int value) const noexcept override;
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

namespace thrum { inline namespace THRUM_ABI { namespace net {

/// The answers of the resolver that a program may want to tell apart. Others come with the number
/// that getaddrinfo() gave (EAI_...), in the same category.
enum class resolve_error {
  host_not_found = EAI_NONAME,      ///< there is no such host
  service_not_found = EAI_SERVICE,  ///< there is no such service
  try_again = EAI_AGAIN,            ///< no answer, perhaps later
  failed = EAI_FAIL,                ///< an answer that says the name server has failed
};

/// See resolver_category().
class resolver_category_type final : public std::error_category {
 public:
  /// The name by which all shared objects of the process find one and the same category: errors compare
  /// equal.
  static constexpr std::string_view process_name = "net::resolver_category";

  const char* name() const noexcept override { return "resolver"; }
  std::string message(int value) const override { return ::gai_strerror(value); }
  THRUM_OUT_OF_LINE std::error_condition default_error_condition(int value) const noexcept override;
};

/// The category of resolve_error, called "resolver"; messages are those of gai_strerror().
/// EAI_AGAIN equals std::errc::resource_unavailable_try_again, EAI_MEMORY
/// std::errc::not_enough_memory.
THRUM_OUT_OF_LINE const std::error_category& resolver_category() noexcept;

/// Makes `error == resolve_error::host_not_found` work.
inline std::error_code make_error_code(resolve_error error) noexcept {
  return {static_cast<int>(error), resolver_category()};
}

/// What getaddrinfo() returned, as an error, which is `cause` if that is an error of the system.
THRUM_OUT_OF_LINE std::error_code resolver_error(int returned, os::io_result cause) noexcept;

}}}  // namespace thrum::THRUM_ABI::net

template <>
struct std::is_error_code_enum<thrum::net::resolve_error> : std::true_type {};

#if THRUM_BODIES
#include <thrum/detail/os/os.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace net {

THRUM_OUT_OF_LINE std::string endpoint_category_type::message(int value) const {
  switch (static_cast<endpoint_error>(value)) {
    case endpoint_error::no_port:
      return "the port is missing; write it after a colon, as in 127.0.0.1:80 or [::1]:80";
    case endpoint_error::bad_port:
      return "the port is neither a number from 0 to 65535 nor, for net::resolve, the name of a "
             "service";
    case endpoint_error::no_brackets:
      return "more than one colon; write an IPv6 address in brackets, as in [::1]:80";
    case endpoint_error::bad_brackets:
      return "a bracket is misplaced; put brackets around an IPv6 address and the port after them, "
             "as in [::1]:80";
    case endpoint_error::not_an_address:
      return "the host is not an IPv4 or IPv6 address; look up a name with net::resolve";
    case endpoint_error::unknown_interface:
      return "no network interface has the name that follows the %";
    case endpoint_error::no_path:
      return "the path is missing; write unix:/run/x.sock, or unix:@name for an abstract name";
    case endpoint_error::nul_in_path: return "the path contains a zero byte";
    case endpoint_error::path_too_long:
      return "the path is longer than 107 bytes, the most that the system takes; a relative path "
             "may be shorter";
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

#endif  // THRUM_DETAIL_NET_ERRORS_HPP
