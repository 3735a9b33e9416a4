// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/windows/thread_word.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_WINDOWS_THREAD_WORD_DEFINITION_HPP
#define THRUM_OS_WINDOWS_THREAD_WORD_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/base/fatal.hpp>
#include <thrum/base/order.hpp>
#include <thrum/os/windows/api.hpp>
#include <thrum/os/windows/thread_word.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE THRUM_OUT_OF_LINE std::uint32_t thread_word_place::place() noexcept {
  constexpr std::uint32_t first_in_block = 0x1480;
  std::uint32_t known = at_.load(relaxed);  // relaxed: a constant once set, of no data
  if (known != 0) {
    return known;
  }
  const ::DWORD index = ::TlsAlloc();
  if (index >= TLS_MINIMUM_AVAILABLE) {
    base::fatal("thread: the program has used up the system's words of threads (TlsAlloc)");
  }
  const auto own = static_cast<std::uint32_t>(first_in_block + index * sizeof(void*));
  // relaxed: a constant once set, of no data
  if (at_.compare_exchange_strong(known, own, relaxed, relaxed)) {
    return own;
  }
  ::TlsFree(index);
  return known;
}

/// The system's words of fibres: a fibre that the program makes has words of its own.
THRUM_NOINLINE THRUM_OUT_OF_LINE std::uint32_t thread_slot::index() noexcept {
  std::uint32_t known = made_.load(relaxed);  // relaxed: a constant once set, of no data
  if (known != 0) {
    return known - 1;
  }
  const ::DWORD index = ::FlsAlloc(at_end_);
  if (index == FLS_OUT_OF_INDEXES) {
    base::fatal("thread: the program has used up the system's words of threads (FlsAlloc)");
  }
  // relaxed: a constant once set, of no data
  if (made_.compare_exchange_strong(known, index + 1, relaxed, relaxed)) {
    return index;
  }
  ::FlsFree(index);
  return known - 1;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void* thread_slot::get() noexcept {
  return ::FlsGetValue(index());
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void thread_slot::set(void* word) noexcept {
  ::FlsSetValue(index(), word);
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_WINDOWS
#endif
