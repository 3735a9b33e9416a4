// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Why a name has no endpoint, as std::error_code in the words of the system's resolver.
#ifndef THRUM_DETAIL_NET_RESOLVE_ERROR_HPP
#define THRUM_DETAIL_NET_RESOLVE_ERROR_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/detail/os/socket_types.hpp>

#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

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
  std::error_condition default_error_condition(int value) const noexcept override;
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

#endif  // THRUM_DETAIL_NET_RESOLVE_ERROR_HPP
