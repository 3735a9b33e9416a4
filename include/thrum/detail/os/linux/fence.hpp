// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Asymmetric fences on Linux: the side that runs often pays nothing, the side that runs seldom pays
// for both.
//
// Two sides of a Dekker handshake each write their own word, pass a fence and read the other's. One
// of the two must see the other's write. membarrier(PRIVATE_EXPEDITED) makes every running thread
// of the process pass a full fence, so that the frequent side needs to keep only its compiler from
// reordering.
//
// FN1: which pair of fences is used is decided once, in prepare_heavy_fence(), before any thread
// exists that uses either. A light fence that saw the decision is never paired with a heavy one
// that did not.
#ifndef THRUM_DETAIL_OS_LINUX_FENCE_HPP
#define THRUM_DETAIL_OS_LINUX_FENCE_HPP

#include <atomic>

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/os/answers.hpp>
#include <thrum/detail/os/full_fence.hpp>

#if THRUM_OS_LINUX && !THRUM_OS_PORTABLE

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

class thread_ref;

// True once membarrier has been registered for this process.
inline constinit base::set_once<bool> membarrier_works{false};

/// Registers the process for membarrier. Every scheduler calls it at its start, before its threads
/// (FN1); calling it again is harmless. Where the kernel refuses, both fences are ordinary ones.
fence_kind prepare_heavy_fence() noexcept;

/// In each shared object that holds the library, as it is loaded: all of them must agree, and a
/// runtime may be made by another one.
THRUM_CALLED_AT_LOAD inline void prepare_fence_early() noexcept { prepare_heavy_fence(); }
THRUM_ELSE_AT_START(prepare_fence_early);

/// The frequent side: between its store and its load. Costs nothing where membarrier works.
/// May be called from a signal handler.
THRUM_INLINE void light_fence() noexcept {
  if (membarrier_works.get()) [[likely]] {
    // [fence.1 =] keeps the compiler's order; heavy_fence does the rest
    std::atomic_signal_fence(seq_cst);
  } else {
    full_fence();
  }
}

/// The rare side: between its store and its load. A system call of some 15 us where membarrier
/// works. May be called from a signal handler that saves errno.
void heavy_fence() noexcept;

/// The rare side against the light side of that thread alone: on Linux it costs as much as for all.
inline void heavy_fence_for(const thread_ref&) noexcept { heavy_fence(); }

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/base/fatal.hpp>

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

THRUM_NOINLINE THRUM_OUT_OF_LINE fence_kind prepare_heavy_fence() noexcept {
  if (membarrier_works.get()) {
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
  membarrier_works.set(true);
  return fence_kind::free_light_side;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void heavy_fence() noexcept {
  THRUM_AT_LOAD(&prepare_fence_early);
  full_fence();
  if (membarrier_works.get()) {
    if (::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0) {
      base::fatal(
          "membarrier: the kernel refuses a command for which it has registered this process");
    }
  }
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_LINUX
#endif  // THRUM_DETAIL_OS_LINUX_FENCE_HPP
