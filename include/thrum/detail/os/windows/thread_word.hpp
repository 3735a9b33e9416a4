// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A word of each thread that is read often.
//
// The compiler's own thread_local is emulated by mingw's gcc: a call with a table and a lock, and malloc
// at the first use in a thread. The system keeps 64 words in the block of each thread (TEB), as TlsAlloc
// gives them out; reading one is an instruction, measured as a twentieth of the emulation.
#ifndef THRUM_DETAIL_OS_WINDOWS_THREAD_WORD_HPP
#define THRUM_DETAIL_OS_WINDOWS_THREAD_WORD_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/os/windows/machine_aarch64.hpp>
#include <thrum/detail/os/windows/machine_x86_64.hpp>

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// One of the words of the block, or null from then on; null at first.
class thread_word_place {
 public:
  constexpr thread_word_place() noexcept = default;

  void* get() const noexcept {
    const std::uint32_t at = at_.get();
    if (at == 0) {
      return nullptr;  // no thread has set it
    }
    return load_thread_word(at);
  }

  void set(void* value) noexcept { store_thread_word(place(), value); }

 private:
  /// Where in the block. Ends the program if all words are taken.
  std::uint32_t place() noexcept;

  base::set_once<std::uint32_t> at_{0};
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

/// A word of each thread, null at first; one that is not null is given to `at_end` when its thread ends.
class thread_slot {
 public:
  explicit constexpr thread_slot(void (*at_end)(void* word)) noexcept : at_end_(at_end) {}

  void* get() noexcept;
  void set(void* word) noexcept;

 private:
  std::uint32_t index() noexcept;

  void (*at_end_)(void*);
  base::set_once<std::uint32_t> made_{0};  // one more than the system's number
};

/// The calling thread's own, made when it is asked for first and destroyed at the thread's end. Not by
/// thread_local: mingw's gcc gives the memory back before it destroys what is there.
template <class T>
THRUM_NOINLINE T& of_this_thread() noexcept {
  static constinit thread_slot slot([](void* own) { delete static_cast<T*>(own); });
  if (void* const own = slot.get(); own != nullptr) {
    return *static_cast<T*>(own);
  }
  auto* const fresh = new T;
  slot.set(fresh);
  return *fresh;
}

/// Stands for a thread_local T where that is declared with THRUM_THREAD_LOCAL; made at the thread's first
/// use. Also for a call that has interrupted the thread anywhere, as the compiler's own is not: mingw's
/// takes a lock of the thread, which the interrupted code may hold.
template <class T>
class thread_object {
 public:
  constexpr thread_object() noexcept = default;
  thread_object(const thread_object&) = delete;
  thread_object& operator=(const thread_object&) = delete;

  /// The calling thread's own.
  T& own() noexcept {
    if (void* const known = slot_.get(); known != nullptr) {
      return *static_cast<T*>(known);
    }
    auto* const fresh = new T;
    slot_.set(fresh);
    return *fresh;
  }

 private:
  thread_slot slot_{[](void* known) { delete static_cast<T*>(known); }};
};

/// The calling thread's own of such an object.
template <class T>
T& of_this_thread(thread_object<T>& object) noexcept {
  return object.own();
}

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/os/windows/api.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE THRUM_OUT_OF_LINE std::uint32_t thread_word_place::place() noexcept {
  constexpr std::uint32_t first_in_block = 0x1480;
  if (const std::uint32_t known = at_.get(); known != 0) {
    return known;
  }
  const ::DWORD index = ::TlsAlloc();
  if (index >= TLS_MINIMUM_AVAILABLE) {
    base::fatal(
        "thread: the system has no thread-local index left (TlsAlloc); allocate fewer in this "
        "program");
  }
  const auto own = static_cast<std::uint32_t>(first_in_block + index * sizeof(void*));
  const std::uint32_t first = at_.settle(own);
  if (first != own) {
    ::TlsFree(index);
  }
  return first;
}

/// The system's words of fibres: a fibre that the program makes has words of its own.
THRUM_NOINLINE THRUM_OUT_OF_LINE std::uint32_t thread_slot::index() noexcept {
  if (const std::uint32_t known = made_.get(); known != 0) {
    return known - 1;
  }
  const ::DWORD index = ::FlsAlloc(at_end_);
  if (index == FLS_OUT_OF_INDEXES) {
    base::fatal(
        "thread: the system has no fiber-local index left (FlsAlloc); allocate fewer in this "
        "program");
  }
  const std::uint32_t first = made_.settle(index + 1);
  if (first != index + 1) {
    ::FlsFree(index);
  }
  return first - 1;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void* thread_slot::get() noexcept {
  return ::FlsGetValue(index());
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void thread_slot::set(void* word) noexcept {
  ::FlsSetValue(index(), word);
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_DETAIL_OS_WINDOWS_THREAD_WORD_HPP
