// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How many processors the program may use on macOS, which has neither masks nor quotas.
#ifndef THRUM_DETAIL_OS_DARWIN_PROCESSORS_HPP
#define THRUM_DETAIL_OS_DARWIN_PROCESSORS_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_MACOS

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Those that are switched on; at least 1.
unsigned available_processors() noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE THRUM_OUT_OF_LINE unsigned available_processors() noexcept {
  const long count = ::sysconf(_SC_NPROCESSORS_ONLN);
  return count < 1 ? 1 : static_cast<unsigned>(count);
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_MACOS
#endif  // THRUM_DETAIL_OS_DARWIN_PROCESSORS_HPP
