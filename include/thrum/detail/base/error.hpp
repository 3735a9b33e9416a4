// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How a wrong use and a failed system call reach the caller: as exceptions, or as a fatal message
// without them.
#ifndef THRUM_DETAIL_BASE_ERROR_HPP
#define THRUM_DETAIL_BASE_ERROR_HPP

#include <string_view>
#include <system_error>

#include <thrum/detail/base/config.hpp>

#if THRUM_EXCEPTIONS
#include <stdexcept>
#endif

namespace thrum { inline namespace THRUM_ABI {

#if THRUM_EXCEPTIONS
/// The library was used against its contract, in a way that only a change of the program can mend:
/// closing a closed channel, a negative counter. Does not exist under -fno-exceptions; there the
/// program ends instead.
class [[gnu::visibility("default")]] usage_error : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};
#endif

namespace base {

/// Throws usage_error with the text "operation: what is wrong"; without exceptions, fatal() with
/// that text.
[[noreturn]] [[gnu::cold]] void throw_usage(const char* operation_and_message);

/// Throws std::system_error with the text "operation object: what the error's category says";
/// without exceptions, fatal() with that text.
[[noreturn]] [[gnu::cold]] void throw_system(const std::error_code& error,
                                             std::string_view operation_and_object);

}  // namespace base
}}  // namespace thrum::THRUM_ABI

#if THRUM_BODIES
#include <string>

#if !THRUM_EXCEPTIONS
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/base/message.hpp>
#endif

namespace thrum { inline namespace THRUM_ABI { namespace base {

THRUM_COLD THRUM_OUT_OF_LINE void throw_usage(const char* operation_and_message) {
#if THRUM_EXCEPTIONS
  throw usage_error(operation_and_message);
#else
  fatal(operation_and_message);
#endif
}

THRUM_COLD THRUM_OUT_OF_LINE void throw_system(const std::error_code& error,
                                               std::string_view operation_and_object) {
#if THRUM_EXCEPTIONS
  throw std::system_error(error, std::string(operation_and_object));
#else
  message<512> text(operation_and_object);
  text.append(": ").append(error.message());
  fatal(text.view());
#endif
}

}}}  // namespace thrum::THRUM_ABI::base
#endif

#endif  // THRUM_DETAIL_BASE_ERROR_HPP
