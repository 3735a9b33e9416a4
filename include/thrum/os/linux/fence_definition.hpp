// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/linux/fence.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_LINUX_FENCE_DEFINITION_HPP
#define THRUM_OS_LINUX_FENCE_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_LINUX && !THRUM_OS_PORTABLE

#include <thrum/base/fatal.hpp>
#include <thrum/base/order.hpp>
#include <thrum/os/answers.hpp>
#include <thrum/os/full_fence.hpp>
#include <thrum/os/linux/fence.hpp>

#include <atomic>

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

THRUM_NOINLINE THRUM_OUT_OF_LINE fence_kind prepare_heavy_fence() noexcept {
  if (membarrier_works.load(relaxed)) {  // relaxed: only a repetition is saved
    return fence_kind::free_light_side;
  }
  const long commands = ::syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
  constexpr long needed =
      MEMBARRIER_CMD_PRIVATE_EXPEDITED | MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
  if (commands < 0 || (commands & needed) != needed) {
    return fence_kind::on_both_sides;
  }
  if (::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0) {
    return fence_kind::on_both_sides;
  }
  // relaxed: threads that use it are created after this (FN1)
  membarrier_works.store(true, relaxed);
  return fence_kind::free_light_side;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void heavy_fence() noexcept {
  full_fence();
  if (membarrier_works.load(relaxed)) {  // relaxed: decided before this thread existed (FN1)
    if (::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0) {
      base::fatal("membarrier: the kernel refused a command that it had registered");
    }
  }
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_LINUX
#endif
