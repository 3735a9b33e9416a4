// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A word of each thread that is read often.
//
// The compiler's own thread_local is emulated by mingw's gcc: a call with a table and a lock, and malloc
// at the first use in a thread. The system keeps 64 words in the block of each thread (TEB), as TlsAlloc
// gives them out; reading one is an instruction, measured as a twentieth of the emulation.
#ifndef THRUM_OS_WINDOWS_THREAD_WORD_HPP
#define THRUM_OS_WINDOWS_THREAD_WORD_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/base/order.hpp>
#include <thrum/os/windows/machine.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

/// One of the words of the block, or null from then on; null at first.
class thread_word_place {
 public:
  constexpr thread_word_place() noexcept = default;

  void* get() const noexcept {
    const std::uint32_t at = at_.load(relaxed);  // relaxed: a constant once set, of no data
    if (at == 0) {
      return nullptr;  // nobody has set it
    }
    return load_thread_word(at);
  }

  void set(void* value) noexcept { store_thread_word(place(), value); }

 private:
  /// Where in the block. Ends the program if all words are taken.
  std::uint32_t place() noexcept;

  std::atomic<std::uint32_t> at_{0};
};

/// Stands for a thread_local T* where that is declared with THRUM_THREAD_LOCAL, which is nothing here.
template <class Pointer>
class thread_word {
 public:
  constexpr thread_word() noexcept = default;
  constexpr thread_word(std::nullptr_t) noexcept {}
  operator Pointer() const noexcept { return static_cast<Pointer>(place_.get()); }
  thread_word& operator=(Pointer value) noexcept {
    place_.set(value);
    return *this;
  }

 private:
  thread_word_place place_;
};

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/windows/thread_word_definition.hpp>
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_OS_WINDOWS_THREAD_WORD_HPP
