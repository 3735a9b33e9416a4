// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// OS threads on Linux: starting and joining one, its name and number, counting, yielding, sleeping.
//
// std::thread is not used: it allocates, throws, and its header is too dear for this floor.
//
// Whatever reads errno or the thread pointer is not inlined: the compiler takes their addresses for
// constants of a function, and a function that parks may go on running on another thread.
#ifndef THRUM_OS_LINUX_THREAD_HPP
#define THRUM_OS_LINUX_THREAD_HPP

#include <cstddef>
#include <cstdint>

#include <thrum/base/config.hpp>

#if THRUM_OS_LINUX

#include <atomic>
#include <cerrno>
#include <ctime>

#include <pthread.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Handle of a running OS thread. Must be joined before it is destroyed or assigned to.
class thread {
 public:
  constexpr thread() noexcept = default;
  thread(thread&& other) noexcept : handle_(other.handle_), joinable_(other.joinable_) {
    other.joinable_ = false;
  }
  thread& operator=(thread&& other) noexcept {
    require_joined();
    handle_ = other.handle_;
    joinable_ = other.joinable_;
    other.joinable_ = false;
    return *this;
  }
  ~thread() { require_joined(); }

  /// Starts a thread that calls entry(argument). Returns 0, or an errno value and leaves `out`
  /// alone. Allocates and takes locks of the C library: not for a signal handler, nor for the
  /// monitor.
  [[nodiscard]] static int start(thread& out, void* (*entry)(void*), void* argument) noexcept;

  /// Blocks until the thread has ended.
  void join() noexcept;

  /// Whether the thread has ended; if so it is joined. Does not block.
  [[nodiscard]] bool try_join() noexcept;

  [[nodiscard]] bool joinable() const noexcept { return joinable_; }

 private:
  void require_joined() const noexcept;

  pthread_t handle_{};
  bool joinable_ = false;
};

/// Starts a thread that calls entry(argument), takes no signals, and is never joined: it may still
/// run when the process ends. 0 or an errno value. Allocates and takes locks of the C library.
[[nodiscard]] int start_detached_thread(void* (*entry)(void*), void* argument) noexcept;

/// How many threads of this process are in a bystander_scope.
inline constinit std::atomic<unsigned> bystanders{0};

/// From here on the calling thread makes no goroutine runnable, except by locks that it takes and
/// releases: so a deadlock is reported although it runs.
class bystander_scope {
 public:
  // relaxed: each counts itself, and a thread that is not counted yet, or not any more, may as well
  // be any thread
  bystander_scope() noexcept { bystanders.fetch_add(1, std::memory_order_relaxed); }
  ~bystander_scope() { bystanders.fetch_sub(1, std::memory_order_relaxed); }  // relaxed: as above
  bystander_scope(const bystander_scope&) = delete;
  bystander_scope& operator=(const bystander_scope&) = delete;
};

/// Names the calling thread for debuggers and ps; what is longer than 15 bytes is cut off.
void set_thread_name(const char* name) noexcept;

/// Asks the kernel that the calling thread, when it wakes, should not wait for others to use up
/// their time on a CPU. No privilege is needed, the share of CPU time stays the same. Without
/// effect before Linux 6.12.
void ask_for_short_waits() noexcept;

/// The priority of the calling thread in a real-time class, of which a thread runs until it sleeps
/// or one of a higher priority is ready; 0: it is in none.
int real_time_priority() noexcept;

/// Changes it, within the class. 0 or an errno value: more than one has needs a permission.
int set_real_time_priority(int priority) noexcept;

/// The CPU that the calling thread runs on; it may have left it by now. No system call.
std::uint32_t current_cpu() noexcept;

/// A word that each thread has for itself; null at first. Unlike a thread_local, it is the same for
/// all shared objects that know the key.
class thread_key {
 public:
  thread_key() noexcept : known_(::pthread_key_create(&key_, nullptr) == 0) {}
  void* get() const noexcept { return known_ ? ::pthread_getspecific(key_) : nullptr; }
  void set(const void* word) const noexcept;

 private:
  ::pthread_key_t key_{};
  bool known_;
};

/// The kernel's number of the calling thread: unique in the system while the thread lives. A system
/// call. May be called from a signal handler.
std::uint64_t thread_id() noexcept;

/// Threads of this process, also those of others; 0 if the system does not say. No malloc.
std::size_t count_threads() noexcept;

/// Lets another thread run that is ready on this processor.
THRUM_OUT_OF_LINE void yield_thread() noexcept;

/// Blocks the thread for ns nanoseconds, through any number of signals; at once when ns <= 0.
/// May be called from a signal handler.
THRUM_OUT_OF_LINE void sleep_ns(std::int64_t ns) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/linux/thread_definition.hpp>
#endif

#endif  // THRUM_OS_LINUX
#endif  // THRUM_OS_LINUX_THREAD_HPP
