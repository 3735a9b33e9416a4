// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// OS threads: starting and joining one, a word of each, yielding.
//
// What the calling thread asks about itself.
#ifndef THRUM_DETAIL_OS_WINDOWS_THREAD_HPP
#define THRUM_DETAIL_OS_WINDOWS_THREAD_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/passive_threads.hpp>  // IWYU pragma: export
#include <thrum/detail/os/windows/process_wide.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

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

/// Does nothing, as no thread is in such a class.
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

/// Names the calling thread for debuggers; does nothing before Windows 10 1607.
void set_thread_name(const char* name) noexcept;

/// Has the system look at its timers each millisecond, for the rest of the process, and not each 15.6;
/// and the calling thread run when it wakes: of equals, the one that computes goes on to the end of its
/// turn, which on a server is 180 ms. No privilege is needed.
void ask_for_short_waits() noexcept;

/// The CPU that the calling thread runs on; it may have left it by now.
std::uint32_t current_cpu() noexcept;

/// The system's number of the calling thread: unique in it while the thread lives.
std::uint64_t thread_id() noexcept;

/// 0: the system starts threads of its own in each process.
inline std::size_t count_threads() noexcept { return 0; }

/// Blocks the thread for ns nanoseconds; at once when ns <= 0.
void sleep_ns(std::int64_t ns) noexcept;

// Code in which another thread must not stop the calling one: a thread that waits for a lock of the
// caller would wait for as long as the caller is stopped. Elsewhere a blocked signal does this.

using namespace base::orders;

/// The key of the first that was loaded.
struct uninterrupted_key {
  static constexpr std::string_view process_name = "os::uninterrupted_key";
  std::atomic<const thread_key*> first{nullptr};
};

inline const thread_key own_uninterrupted_key;

/// The key by which a thread finds how many such blocks it is in; the number is in its thread_ref.
inline const thread_key& own_uninterrupted() noexcept {
  std::atomic<const thread_key*>& first = process_wide<uninterrupted_key>::get().first;
  const thread_key* known = first.load(acquire);  // [un.key <] acquire: the key
  if (known == nullptr) {
    // [un.key <>] publishes this one's key, or sees another's
    const bool is_first =
        first.compare_exchange_strong(known, &own_uninterrupted_key, acq_rel, acquire);
    known = is_first ? &own_uninterrupted_key : known;
  }
  return *known;
}

/// Keeps the thread uninterrupted to the end of a block. Threads without a thread_ref always are.
class uninterrupted {
 public:
  uninterrupted() noexcept
      : count_(static_cast<std::atomic<unsigned>*>(own_uninterrupted().get())) {
    if (count_ != nullptr) {
      // relaxed: others read it when the thread has stopped
      count_->fetch_add(1, std::memory_order_relaxed);
      asm volatile("" ::: "memory");  // keeps the compiler's order
    }
  }
  ~uninterrupted() {
    if (count_ != nullptr) {
      asm volatile("" ::: "memory");
      count_->fetch_sub(1, std::memory_order_relaxed);  // relaxed: as in uninterrupted
    }
  }
  uninterrupted(const uninterrupted&) = delete;
  uninterrupted& operator=(const uninterrupted&) = delete;

 private:
  std::atomic<unsigned>* count_;
};

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/os/clock.hpp>
#include <thrum/detail/os/windows/api.hpp>

#include <new>

#include <process.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// What a new thread takes over and frees.
struct thread_start {
  void* (*entry)(void*);
  void* argument;

  static unsigned __stdcall run(void* of_start) noexcept {
    auto* const start = static_cast<thread_start*>(of_start);
    const thread_start own = *start;
    delete start;
    own.entry(own.argument);
    return 0;
  }

  /// Null where there is no memory for it.
  static ::HANDLE begin(void* (*entry)(void*), void* argument) noexcept {
    auto* const start = new (std::nothrow) thread_start{entry, argument};
    if (start == nullptr) {
      return nullptr;
    }
    const std::uintptr_t begun =
        ::_beginthreadex(nullptr, 0, &run, start, STACK_SIZE_PARAM_IS_A_RESERVATION, nullptr);
    if (begun == 0) {
      delete start;
    }
    return reinterpret_cast<::HANDLE>(begun);
  }
};

THRUM_NOINLINE THRUM_OUT_OF_LINE int thread::start(thread& out, void* (*entry)(void*),
                                                   void* argument) noexcept {
  out.require_joined();
  const ::HANDLE fresh = thread_start::begin(entry, argument);
  if (fresh == nullptr) {
    return ERROR_NOT_ENOUGH_MEMORY;
  }
  out.handle_ = fresh;
  return 0;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void thread::join() noexcept {
  if (handle_ == nullptr || ::GetThreadId(handle_) == ::GetCurrentThreadId() ||
      ::WaitForSingleObject(handle_, INFINITE) != WAIT_OBJECT_0) {
    base::fatal("thread: join: the thread is not running, or it is the calling thread");
  }
  ::CloseHandle(handle_);
  handle_ = nullptr;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE bool thread::try_join() noexcept {
  if (handle_ == nullptr || ::WaitForSingleObject(handle_, 0) != WAIT_OBJECT_0) {
    return false;
  }
  ::CloseHandle(handle_);
  handle_ = nullptr;
  return true;
}

THRUM_OUT_OF_LINE void thread::require_joined() const noexcept {
  if (handle_ != nullptr) {
    base::fatal("thread: the handle was destroyed or reused before the thread was joined");
  }
}

THRUM_NOINLINE THRUM_OUT_OF_LINE int start_detached_thread(void* (*entry)(void*),
                                                           void* argument) noexcept {
  const ::HANDLE fresh = thread_start::begin(entry, argument);
  if (fresh == nullptr) {
    return ERROR_NOT_ENOUGH_MEMORY;
  }
  ::CloseHandle(fresh);
  return 0;
}

THRUM_OUT_OF_LINE thread_key::thread_key() noexcept : index_(::TlsAlloc()) {}

THRUM_NOINLINE THRUM_OUT_OF_LINE void* thread_key::get() const noexcept {
  return ::TlsGetValue(index_);  // null where the index is none
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void thread_key::set(const void* word) const noexcept {
  ::TlsSetValue(index_, const_cast<void*>(word));
}

THRUM_OUT_OF_LINE void yield_thread() noexcept { ::SwitchToThread(); }

/// A function that not every version of the system has, as a `Function`; or null.
template <class Function>
Function* find_function(const wchar_t* library, const char* name) noexcept {
  const ::HMODULE module = ::GetModuleHandleW(library);
  return module == nullptr
             ? nullptr
             : reinterpret_cast<Function*>(reinterpret_cast<void*>(::GetProcAddress(module, name)));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void set_thread_name(const char* name) noexcept {
  using describe = ::HRESULT __stdcall(::HANDLE, const wchar_t*);
  static describe* const set = find_function<describe>(L"kernelbase.dll", "SetThreadDescription");
  if (set == nullptr) {
    return;
  }
  constexpr std::size_t most = 63;
  wchar_t wide[most + 1] = {};
  for (std::size_t i = 0; i != most && name[i] != '\0'; ++i) {
    wide[i] = static_cast<unsigned char>(name[i]);
  }
  set(::GetCurrentThread(), wide);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void ask_for_short_waits() noexcept {
  static const bool asked = [] {
    using begin_period = unsigned __stdcall(unsigned);
    if (::LoadLibraryW(L"winmm.dll") == nullptr) {
      return false;
    }
    auto* const begin = find_function<begin_period>(L"winmm.dll", "timeBeginPeriod");
    return begin != nullptr && begin(1) == 0;
  }();
  static_cast<void>(asked);
  ::SetThreadPriority(::GetCurrentThread(), THREAD_PRIORITY_HIGHEST);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE std::uint32_t current_cpu() noexcept {
  constexpr std::uint32_t of_a_group = 64;
  ::PROCESSOR_NUMBER found;
  ::GetCurrentProcessorNumberEx(&found);
  return found.Group * of_a_group + found.Number;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE std::uint64_t thread_id() noexcept {
  return ::GetCurrentThreadId();
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void sleep_ns(std::int64_t ns) noexcept {
  constexpr std::int64_t millisecond = 1'000'000;
  constexpr std::int64_t longest = 86'400'000 * millisecond;  // a day, and then the next one
  const std::int64_t deadline = deadline_after(ns);
  for (std::int64_t left = ns; left > 0; left = deadline - now()) {
    const std::int64_t part = left < longest ? left : longest;
    ::Sleep(static_cast<::DWORD>((part + millisecond - 1) / millisecond));
  }
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_DETAIL_OS_WINDOWS_THREAD_HPP
