// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How many processors the program may use on FreeBSD: those of the calling thread's mask, which cpuset(1)
// and jails set. Limits of CPU time (rctl) are not looked at: they need not be compiled into a kernel.
#ifndef THRUM_DETAIL_OS_FREEBSD_PROCESSORS_HPP
#define THRUM_DETAIL_OS_FREEBSD_PROCESSORS_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_FREEBSD

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// At least 1.
unsigned available_processors() noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <sys/param.h>

#include <sys/cpuset.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

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

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_FREEBSD
#endif  // THRUM_DETAIL_OS_FREEBSD_PROCESSORS_HPP
