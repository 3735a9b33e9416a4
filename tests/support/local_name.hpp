// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Unix addresses that nobody else has.
#ifndef THRUM_TESTS_SUPPORT_LOCAL_NAME_HPP
#define THRUM_TESTS_SUPPORT_LOCAL_NAME_HPP

#include "support/folder.hpp"

#include <thrum/detail/base/config.hpp>
#include <thrum/net/endpoint.hpp>

#include <atomic>
#include <string>

#include <unistd.h>

namespace support {

/// Whether there are addresses that no file stands for.
inline constexpr bool has_abstract_names = THRUM_OS_LINUX;

/// One of those, or, where there are none, that of a file that is not there.
inline thrum::net::endpoint unused_local_name() {
  static std::atomic<int> count{0};
  const std::string number = std::to_string(count++);
  if (has_abstract_names) {
    return thrum::net::endpoint::abstract("thrum-" + std::to_string(::getpid()) + "-" + number);
  }
  static const folder files;
  return thrum::net::endpoint::local((files / number).string());
}

}  // namespace support

#endif
