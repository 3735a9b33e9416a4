// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#ifndef THRUM_TESTS_SUPPORT_STOP_SOURCE_HPP
#define THRUM_TESTS_SUPPORT_STOP_SOURCE_HPP

#include <stop_token>

namespace support {

/// Not inlined: gcc 12 warns that a source is uninitialised when it sees it made.
[[gnu::noinline]] inline std::stop_source new_source() { return std::stop_source(); }

}  // namespace support

#endif
