// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// OS threads: starting and joining one, a word of each, yielding.
#ifndef THRUM_OS_WINDOWS_THREAD_HPP
#define THRUM_OS_WINDOWS_THREAD_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/os/bystanders.hpp>  // IWYU pragma: export

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Handle of a running OS thread. Must be joined before it is destroyed or assigned to.
class thread {
 public:
  constexpr thread() noexcept = default;
  thread(thread&& other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
  thread& operator=(thread&& other) noexcept {
    require_joined();
    handle_ = other.handle_;
    other.handle_ = nullptr;
    return *this;
  }
  ~thread() { require_joined(); }

  /// Starts a thread that calls entry(argument). Returns 0, or ERROR_NOT_ENOUGH_MEMORY and leaves `out`
  /// alone. Allocates and takes locks of the C library.
  [[nodiscard]] static int start(thread& out, void* (*entry)(void*), void* argument) noexcept;

  /// Blocks until the thread has ended.
  void join() noexcept;

  /// Whether the thread has ended; if so it is joined.
  [[nodiscard]] bool try_join() noexcept;

  [[nodiscard]] bool joinable() const noexcept { return handle_ != nullptr; }

 private:
  void require_joined() const noexcept;

  void* handle_ = nullptr;
};

/// Starts a thread that calls entry(argument) and is never joined: it may still run when the process
/// ends. 0 or ERROR_NOT_ENOUGH_MEMORY. Allocates and takes locks of the C library.
[[nodiscard]] int start_detached_thread(void* (*entry)(void*), void* argument) noexcept;

/// 0: there is no class of threads of which one runs until it sleeps.
inline int real_time_priority() noexcept { return 0; }

/// Does nothing, as nobody is in such a class.
inline int set_real_time_priority(int) noexcept { return 0; }

/// A word that each thread has for itself; null at first.
class thread_key {
 public:
  thread_key() noexcept;
  void* get() const noexcept;
  void set(const void* word) const noexcept;

 private:
  unsigned long index_;
};

/// Lets another thread run that is ready on this processor.
void yield_thread() noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/windows/thread_definition.hpp>
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_OS_WINDOWS_THREAD_HPP
