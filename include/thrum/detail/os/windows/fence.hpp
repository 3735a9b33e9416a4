// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Asymmetric fences: FlushProcessWriteBuffers makes each running thread of the process pass one, and
// leaves nothing for the other side to do. Wine 8 has the function and does nothing in it, so under wine
// both sides pay for themselves.
//
// WF1  which of the two ways it is is decided as the program is loaded, before there are threads.
#ifndef THRUM_DETAIL_OS_WINDOWS_FENCE_HPP
#define THRUM_DETAIL_OS_WINDOWS_FENCE_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/os/answers.hpp>
#include <thrum/detail/os/full_fence.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace os {

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
#endif  // THRUM_DETAIL_OS_WINDOWS_FENCE_HPP
