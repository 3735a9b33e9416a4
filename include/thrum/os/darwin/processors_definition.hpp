// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/darwin/processors.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_DARWIN_PROCESSORS_DEFINITION_HPP
#define THRUM_OS_DARWIN_PROCESSORS_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_MACOS

#include <thrum/os/darwin/processors.hpp>

#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE THRUM_OUT_OF_LINE unsigned available_processors() noexcept {
  const long count = ::sysconf(_SC_NPROCESSORS_ONLN);
  return count < 1 ? 1 : static_cast<unsigned>(count);
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_MACOS
#endif  // THRUM_OS_DARWIN_PROCESSORS_DEFINITION_HPP
