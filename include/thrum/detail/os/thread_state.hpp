// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the C library and the C++ library keep for each thread: errno, and the record of exceptions.
//
// errno
//   The C library declares the function behind errno `const`: a compiler calls it once for a function
//   and keeps the address, also across a call in which the goroutine has changed threads. The
//   accessor below is not inlined, and its asm keeps it from being taken for such a function. An M
//   asks once and keeps the address of its own thread; a goroutine reaches errno through its M.
//
// The C++ ABI's per-thread record of exceptions, which a goroutine takes with it when it parks
//   The Itanium ABI keeps the chain of caught exceptions and the number of uncaught ones per thread.
//   A goroutine that parks inside a catch block or in a destructor during unwinding leaves its
//   entries behind, and the next goroutine on the thread would see, rethrow and free them. So the
//   switch saves the two words with the goroutine and puts the arriving goroutine's in their place.
//   libstdc++ and libc++abi have the same layout on every processor we support; the unwinder of
//   32-bit Arm adds the chain of exceptions that are on their way.
//
//   The address is constant for a thread and differs between threads. The ABI declares
//   __cxa_get_globals `const`, so a compiler may call it once and keep the result across a switch;
//   the accessor below is not inlined and its asm keeps the compiler from taking it for a pure
//   function. Call it once for each M and keep the address there: the cached address makes a switch
//   0.25 ns dearer, the call 3 ns.
#ifndef THRUM_DETAIL_OS_THREAD_STATE_HPP
#define THRUM_DETAIL_OS_THREAD_STATE_HPP

#include <thrum/detail/base/config.hpp>

#include <cerrno>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The calling thread's errno; good on this thread only.
THRUM_NOINLINE inline int* thread_error_number() noexcept {
  asm volatile("");
  return &errno;
}

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_EXCEPTIONS
#include <cxxabi.h>

#if defined(_LIBCPP_VERSION)  // its header does not declare it
namespace __cxxabiv1 {
struct __cxa_eh_globals;
extern "C" __cxa_eh_globals* __cxa_get_globals() noexcept;
}  // namespace __cxxabiv1
#endif
#endif

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The layout of __cxa_eh_globals. All zero: no exception is being handled.
struct exception_state {
  void* caught = nullptr;
  unsigned uncaught = 0;
#if THRUM_HAS_ARM_UNWINDER
  void* propagating = nullptr;
#endif
};

/// The record of the calling thread; nullptr without exceptions. The address is good on this thread
/// only.
#if THRUM_EXCEPTIONS
THRUM_NOINLINE inline exception_state* thread_exception_state() noexcept {
  asm volatile("");
  return reinterpret_cast<exception_state*>(__cxxabiv1::__cxa_get_globals());
}
#else
THRUM_INLINE exception_state* thread_exception_state() noexcept { return nullptr; }
#endif

/// Saves the record of the running thread, `live`, to `from` and loads that of `to`: one half of a
/// switch. Does nothing without exceptions.
THRUM_INLINE void switch_exception_state([[maybe_unused]] exception_state* live,
                                         [[maybe_unused]] exception_state& from,
                                         [[maybe_unused]] const exception_state& to) noexcept {
#if THRUM_EXCEPTIONS
  from = *live;
  *live = to;
#endif
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_DETAIL_OS_THREAD_STATE_HPP
