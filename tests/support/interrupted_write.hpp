// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Something happens between two steps of a function: where it writes to an object, by the handler
// of the signal, or of the exception of the system, that this write raises. So an exchange that follows meets a word that has changed
// since it was read, each time.
#ifndef THRUM_TESTS_SUPPORT_INTERRUPTED_WRITE_HPP
#define THRUM_TESTS_SUPPORT_INTERRUPTED_WRITE_HPP

#include <thrum.hpp>

#include <cstddef>
#include <cstdlib>
#include <functional>
#include <new>
#include <utility>

#if defined(_WIN32)
#include <thrum/detail/os/windows/api.hpp>
#else
#include <signal.h>
#include <sys/mman.h>
#endif

namespace support {

/// An object on pages of its own.
template <class T>
class on_own_pages {
 public:
  template <class... Args>
  explicit on_own_pages(Args&&... args) : memory_(thrum::os::map(sizeof(T))) {
    if (memory_ == nullptr) {
      std::abort();
    }
    object_ = ::new (memory_) T(std::forward<Args>(args)...);
  }
  ~on_own_pages() {
    object_->~T();
    thrum::os::unmap(memory_, sizeof(T));
  }
  on_own_pages(const on_own_pages&) = delete;
  on_own_pages& operator=(const on_own_pages&) = delete;

  T& operator*() const noexcept { return *object_; }
  T* operator->() const noexcept { return object_; }

 private:
  void* memory_;
  T* object_ = nullptr;
};

/// The next write to the object calls `work` in a handler, before it is done. One at a time, and
/// nobody else writes to it meanwhile.
class interrupted_write {
 public:
  template <class T>
  interrupted_write(const on_own_pages<T>& to, std::function<void()> work)
      : address_(&*to), bytes_(sizeof(T)), work_(std::move(work)) {
    current = this;
#if defined(_WIN32)
    constexpr ::ULONG before_others = 1;
    handler_ = ::AddVectoredExceptionHandler(before_others, [](::EXCEPTION_POINTERS* of) -> ::LONG {
      if (of->ExceptionRecord->ExceptionCode != EXCEPTION_ACCESS_VIOLATION) {
        return EXCEPTION_CONTINUE_SEARCH;
      }
      current->interrupt();
      return EXCEPTION_CONTINUE_EXECUTION;
    });
#else
    struct ::sigaction ours {};
    ours.sa_handler = [](int) { current->interrupt(); };
    ::sigaction(SIGSEGV, &ours, &before_);
#endif
    set_writable(false);
  }
  ~interrupted_write() {
    set_writable(true);
#if defined(_WIN32)
    ::RemoveVectoredExceptionHandler(handler_);
#else
    ::sigaction(SIGSEGV, &before_, nullptr);
#endif
  }
  interrupted_write(const interrupted_write&) = delete;
  interrupted_write& operator=(const interrupted_write&) = delete;

 private:
  static inline interrupted_write* current = nullptr;

  void set_writable(bool may) const noexcept {
#if defined(_WIN32)
    ::DWORD before = 0;
    ::VirtualProtect(address_, bytes_, may ? PAGE_READWRITE : PAGE_READONLY, &before);
#else
    ::mprotect(address_, bytes_, may ? PROT_READ | PROT_WRITE : PROT_READ);
#endif
  }
  void interrupt() {
    if (std::exchange(is_done_, true)) {
      std::abort();  // another fault than that write
    }
    set_writable(true);
    work_();
  }

  void* address_;
  std::size_t bytes_;
  std::function<void()> work_;
  bool is_done_ = false;
#if defined(_WIN32)
  void* handler_ = nullptr;
#else
  struct ::sigaction before_ {};
#endif
};

}  // namespace support

#endif
