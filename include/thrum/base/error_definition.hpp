// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What base/error.hpp declares: the bodies that are not inlined.
#ifndef THRUM_BASE_ERROR_DEFINITION_HPP
#define THRUM_BASE_ERROR_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/error.hpp>

#include <string>
#include <string_view>
#include <system_error>

#if !THRUM_EXCEPTIONS
#include <thrum/base/fatal.hpp>
#include <thrum/base/message.hpp>
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
