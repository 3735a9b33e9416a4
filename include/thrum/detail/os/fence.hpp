// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Asymmetric fences: the side that runs often pays nothing, the side that runs seldom pays for both.
//
// Two sides of a Dekker handshake each write their own word, pass a fence and read the other's. One
// of the two must see the other's write.
//
// FN1: on Linux, which pair of fences is used is decided once, in prepare_heavy_fence(), before any
// thread exists that uses either. A light fence that saw the decision is never paired with a heavy one
// that did not.
//
// WF1  on Windows, which of the two ways it is is decided as the program is loaded, before there are
// threads.
//
// Fences of [fence.1]: full_fence, light_fence.
#ifndef THRUM_DETAIL_OS_FENCE_HPP
#define THRUM_DETAIL_OS_FENCE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>

#include <atomic>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

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

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_OS_LINUX && !THRUM_OS_PORTABLE

#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/os/answers.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace os {

// On Linux membarrier(PRIVATE_EXPEDITED) makes every running thread of the process pass a full fence,
// so that the frequent side needs to keep only its compiler from reordering.

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

#endif  // THRUM_OS_LINUX && !THRUM_OS_PORTABLE

#if THRUM_OS_PORTABLE

#include <thrum/detail/os/answers.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace os {

// Where the system has none, both sides pay for themselves. Known when this is compiled, so nothing
// asks which of the two ways it is.

class thread_ref;

inline fence_kind prepare_heavy_fence() noexcept { return fence_kind::on_both_sides; }
inline void light_fence() noexcept { full_fence(); }
inline void heavy_fence() noexcept { full_fence(); }
inline void heavy_fence_for(const thread_ref&) noexcept { full_fence(); }

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_PORTABLE

#if THRUM_OS_WINDOWS

#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/os/answers.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace os {

// On Windows FlushProcessWriteBuffers makes each running thread of the process pass one, and leaves
// nothing for the other side to do. Wine 8 has the function and does nothing in it, so under wine both
// sides pay for themselves.

class thread_ref;

// True where the system's call does what it says.
inline constinit base::set_once<bool> flush_works{false};

/// Finds out. Every scheduler calls it at its start, before its threads (WF1); calling it again is
/// harmless.
fence_kind prepare_heavy_fence() noexcept;

/// As the program is loaded.
inline const bool is_fence_prepared = (prepare_heavy_fence(), true);

/// The frequent side: between its store and its load. Costs nothing where the system's call works.
THRUM_INLINE void light_fence() noexcept {
  if (flush_works.get()) [[likely]] {
    asm volatile("" ::: "memory");  // keeps the compiler's order; heavy_fence does the rest
  } else {
    full_fence();
  }
}

/// Has all running threads of the process pass a fence, and the calling one.
void flush_write_buffers() noexcept;

/// The rare side: between its store and its load.
inline void heavy_fence() noexcept { flush_write_buffers(); }

/// The rare side against the light side of that thread alone: the system has a call for all only.
inline void heavy_fence_for(const thread_ref&) noexcept { flush_write_buffers(); }

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/windows/api.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE THRUM_OUT_OF_LINE fence_kind prepare_heavy_fence() noexcept {
  const ::HMODULE system = ::GetModuleHandleW(L"ntdll.dll");
  const bool works = system != nullptr && ::GetProcAddress(system, "wine_get_version") == nullptr;
  flush_works.set(works);
  return works ? fence_kind::free_light_side : fence_kind::on_both_sides;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void flush_write_buffers() noexcept {
  if (flush_works.get()) {
    ::FlushProcessWriteBuffers();
  }
  full_fence();  // this side's own order, and where both sides pay, all of it
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_DETAIL_OS_FENCE_HPP
