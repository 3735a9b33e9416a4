// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/posix/result.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_POSIX_RESULT_DEFINITION_HPP
#define THRUM_OS_POSIX_RESULT_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_POSIX

#include <thrum/os/posix/result.hpp>

#include <system_error>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_OUT_OF_LINE std::error_code error_code_of(io_result result) noexcept {
  return {result < 0 ? static_cast<int>(-result) : 0, std::system_category()};
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_POSIX
#endif
