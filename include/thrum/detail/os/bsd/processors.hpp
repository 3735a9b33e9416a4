// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How many processors there are, on macOS and FreeBSD.
#ifndef THRUM_DETAIL_OS_BSD_PROCESSORS_HPP
#define THRUM_DETAIL_OS_BSD_PROCESSORS_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_BSD

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Those that are switched on; at least 1.
unsigned available_processors() noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#if THRUM_OS_FREEBSD
#include <sys/param.h>

#include <sys/cpuset.h>
#endif
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

#if THRUM_OS_MACOS
THRUM_NOINLINE THRUM_OUT_OF_LINE unsigned available_processors() noexcept {
  const long count = ::sysconf(_SC_NPROCESSORS_ONLN);
  return count < 1 ? 1 : static_cast<unsigned>(count);
}
#elif THRUM_OS_FREEBSD
THRUM_NOINLINE THRUM_OUT_OF_LINE unsigned available_processors() noexcept {
  ::cpuset_t mask;
  CPU_ZERO(&mask);
  long count = 0;
  // Refused where the kernel has more processors than the mask of these headers.
  if (::cpuset_getaffinity(CPU_LEVEL_WHICH, CPU_WHICH_TID, -1, sizeof mask, &mask) == 0) {
    count = CPU_COUNT(&mask);
  } else {
    count = ::sysconf(_SC_NPROCESSORS_ONLN);
  }
  return count < 1 ? 1 : static_cast<unsigned>(count);
}
#endif

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_BSD
#endif  // THRUM_DETAIL_OS_BSD_PROCESSORS_HPP
