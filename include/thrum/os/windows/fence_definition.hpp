// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/windows/fence.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_WINDOWS_FENCE_DEFINITION_HPP
#define THRUM_OS_WINDOWS_FENCE_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/base/order.hpp>
#include <thrum/os/full_fence.hpp>
#include <thrum/os/windows/api.hpp>
#include <thrum/os/windows/fence.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

THRUM_NOINLINE THRUM_OUT_OF_LINE fence_kind prepare_heavy_fence() noexcept {
  const ::HMODULE system = ::GetModuleHandleW(L"ntdll.dll");
  const bool works = system != nullptr && ::GetProcAddress(system, "wine_get_version") == nullptr;
  flush_works.store(works, relaxed);  // relaxed: before the threads that read it (WF1)
  return works ? fence_kind::free_light_side : fence_kind::on_both_sides;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void flush_write_buffers() noexcept {
  if (flush_works.load(relaxed)) {  // relaxed: decided before this thread existed (WF1)
    ::FlushProcessWriteBuffers();
  }
  full_fence();  // this side's own order, and where both sides pay, all of it
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_WINDOWS
#endif
