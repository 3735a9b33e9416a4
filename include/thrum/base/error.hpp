// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How a wrong use and a failed system call reach the caller: as exceptions, or as a fatal message
// without them.
#ifndef THRUM_BASE_ERROR_HPP
#define THRUM_BASE_ERROR_HPP

#include <string_view>
#include <system_error>

#include <thrum/base/config.hpp>

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

#if !THRUM_SEPARATE
#include <thrum/base/error_definition.hpp>
#endif

#endif  // THRUM_BASE_ERROR_HPP
