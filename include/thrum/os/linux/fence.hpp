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
// Fences of [fence.1]: full_fence, light_fence.
//
// FN1: which pair of fences is used is decided once, in prepare_heavy_fence(), before any thread
// exists that uses either. A light fence that saw the decision is never paired with a heavy one
// that did not.
#ifndef THRUM_OS_LINUX_FENCE_HPP
#define THRUM_OS_LINUX_FENCE_HPP

#include <atomic>

#include <thrum/base/config.hpp>
#include <thrum/base/order.hpp>

#if THRUM_OS_LINUX

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

// True once membarrier has been registered for this process.
inline constinit std::atomic<bool> membarrier_works{false};

/// A fence that every thread pays for itself: the fallback of both sides.
inline void full_fence() noexcept {
#if defined(__GNUC__) && !defined(__clang__) && THRUM_TSAN
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"
#endif
  // [fence.1 =] orders the store before it and the load after it against those of the other side's
  // fence
  std::atomic_thread_fence(seq_cst);
#if defined(__GNUC__) && !defined(__clang__) && THRUM_TSAN
#pragma GCC diagnostic pop
#endif
}

/// Registers the process for membarrier. Every scheduler calls it at its start, before its threads
/// (FN1); calling it again is harmless. Where the kernel refuses, both fences are ordinary ones.
void prepare_heavy_fence() noexcept;

/// In each shared object that holds the library, as it is loaded: all of them must agree, and a
/// runtime may be made by another one.
inline const bool is_fence_prepared = (prepare_heavy_fence(), true);

/// The frequent side: between its store and its load. Costs nothing where membarrier works.
/// May be called from a signal handler.
THRUM_INLINE void light_fence() noexcept {
  // relaxed: decided before this thread existed (FN1)
  if (membarrier_works.load(relaxed)) [[likely]] {
    // [fence.1 =] keeps the compiler's order; heavy_fence does the rest
    std::atomic_signal_fence(seq_cst);
  } else {
    full_fence();
  }
}

/// The rare side: between its store and its load. A system call of some 15 us where membarrier
/// works. May be called from a signal handler that saves errno.
void heavy_fence() noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/linux/fence_definition.hpp>
#endif

#endif  // THRUM_OS_LINUX
#endif  // THRUM_OS_LINUX_FENCE_HPP
