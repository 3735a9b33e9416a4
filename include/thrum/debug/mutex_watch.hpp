// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Finds goroutines that park while they hold a std::mutex, or any other lock of the C library.
//
// Such a goroutine may wake on another thread and unlock there what it locked here, which is
// undefined; and a goroutine that waits for the lock meanwhile blocks its whole thread. The library
// cannot know which goroutine holds a std::mutex, unless it sees the calls: this header defines the
// program's own pthread_mutex_lock and its kin, which count per thread and call the C library's.
//
// Include it in exactly one source file of a program, for debugging, and not in a library; the
// program must be linked dynamically. <thrum.hpp> does not include it. Each place is reported once,
// on standard error.
#ifndef THRUM_DEBUG_MUTEX_WATCH_HPP
#define THRUM_DEBUG_MUTEX_WATCH_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/debug/backtrace.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/run/park.hpp>

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <dlfcn.h>
#include <pthread.h>

namespace thrum { inline namespace THRUM_ABI { namespace debug {

/// Locks that the calling thread holds, without those of goroutines that have parked with them.
THRUM_NOINLINE inline std::int64_t& held_locks() noexcept {
  asm volatile("");
  static thread_local constinit std::int64_t n = 0;
  return n;
}

inline void count_lock(int result, std::int64_t change) noexcept {
  std::int64_t& held = held_locks();
  if (result == 0 && held + change >= 0) {
    held += change;
  }
}

/// The C library's function of that name. No static local: its guard may be such a mutex itself.
template <class Function>
class next_function {
 public:
  constexpr explicit next_function(const char* name) noexcept : name_(name) {}
  Function* get() noexcept {
    auto* found = found_.get();
    if (found == nullptr) {
      found = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name_));
      found_.set(found);
    }
    return found;
  }

 private:
  const char* name_;
  base::set_once<Function*> found_{nullptr};
};
using mutex_call = int(pthread_mutex_t*);
inline constinit next_function<mutex_call> next_lock("pthread_mutex_lock");
inline constinit next_function<mutex_call> next_trylock("pthread_mutex_trylock");
inline constinit next_function<mutex_call> next_unlock("pthread_mutex_unlock");

/// Before a goroutine parks, on its stack.
inline void report_held_locks(goroutine_id id, std::string_view name) {
  const std::int64_t held = std::exchange(held_locks(), 0);  // they go with the goroutine
  if (held == 0) {
    return;
  }
  os::call_stack callers;
  os::collect_callers(callers, 0);
  static std::atomic<std::uint64_t> seen[64] = {};
  std::uint64_t place = 1469598103934665603U;
  for (std::size_t i = 0; i < callers.size; ++i) {
    place = (place ^ reinterpret_cast<std::uintptr_t>(callers.frames[i])) * 1099511628211U;
  }
  for (auto& slot : seen) {
    std::uint64_t empty = 0;
    // relaxed: a report more or less
    if (slot.compare_exchange_strong(empty, place, std::memory_order_relaxed,
                                     // relaxed: a report more or less
                                     std::memory_order_relaxed)) {
      break;
    }
    if (empty == place) {
      return;
    }
  }
  std::string text = "thrum: goroutine " + std::to_string(id);
  if (!name.empty()) {
    text.append(" [").append(name).append("]");
  }
  text.append(
      " parks while its thread holds " + std::to_string(held) +
      " lock(s) of the C library, such as a std::mutex; unlock them first, or use thrum::mutex\n");
  os::symbolizer symbols;
  base::write_error(text.append(describe_callers(symbols, callers.frames, callers.size)));
}

/// Registers at the start of the program.
inline const bool watches_mutexes = [] {
  sched::observe_park.set(&report_held_locks);
  return true;
}();

}}}  // namespace thrum::THRUM_ABI::debug

// They must not be inline: they take the place of the C library's, whose headers say noexcept or not.
extern "C" {

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept(noexcept(::pthread_mutex_lock(mutex))) {
  const int result = thrum::debug::next_lock.get()(mutex);
  thrum::debug::count_lock(result, 1);
  return result;
}

int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept(
    noexcept(::pthread_mutex_trylock(mutex))) {
  const int result = thrum::debug::next_trylock.get()(mutex);
  thrum::debug::count_lock(result, 1);
  return result;
}

int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept(noexcept(::pthread_mutex_unlock(mutex))) {
  const int result = thrum::debug::next_unlock.get()(mutex);
  thrum::debug::count_lock(result, -1);
  return result;
}

}  // extern "C"

#endif
