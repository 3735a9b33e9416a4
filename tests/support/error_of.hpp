// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#ifndef THRUM_TESTS_SUPPORT_ERROR_OF_HPP
#define THRUM_TESTS_SUPPORT_ERROR_OF_HPP

#include <system_error>

namespace support {

/// The code of the std::system_error that f throws, or none.
template <class F>
std::error_code error_of(F f) {
  try {
    f();
  } catch (const std::system_error& error) {
    return error.code();
  }
  return {};
}

}  // namespace support

#endif
