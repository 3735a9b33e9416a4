// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// recursive_mutex: a mutex that its owner may lock again.
#ifndef THRUM_SYNC_RECURSIVE_MUTEX_HPP
#define THRUM_SYNC_RECURSIVE_MUTEX_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/stop_condition.hpp>
#include <thrum/sync/mutex.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI {

namespace sync_detail {

/// A number for the caller: a goroutine has the same on each thread that it runs on. Never 0.
THRUM_OUT_OF_LINE std::uintptr_t caller_identity() noexcept;

}  // namespace sync_detail

/// As std::recursive_timed_mutex; the owner is a goroutine or a foreign thread. Waiting for it is
/// not a cancellation point.
///
/// When not to use: nearly always; code that does not know whether it holds a lock does not know
/// what the lock protects.
class recursive_mutex {
 public:
  constexpr recursive_mutex() noexcept = default;
  recursive_mutex(const recursive_mutex&) = delete;
  recursive_mutex& operator=(const recursive_mutex&) = delete;

  /// Blocks until the mutex is the caller's.
  void lock() {
    if (!lock_again()) {
      mutex_.lock();
      own();
    }
  }

  /// Takes it if it is free or the caller's. Does not block.
  [[nodiscard]] bool try_lock() noexcept { return lock_again() || owned_if(mutex_.try_lock()); }

  /// Blocks for at most a time; whether the mutex is the caller's.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(std::chrono::duration<Rep, Period> time) {
    return lock_again() || owned_if(mutex_.try_lock_for(time));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(std::chrono::time_point<Clock, Duration> when) {
    return lock_again() || owned_if(mutex_.try_lock_until(when));
  }

  /// Blocks until the mutex is the caller's, or a stop is requested; whether it is the caller's.
  template <until_condition Stop>
  [[nodiscard]] bool lock(const Stop& stop) {
    return lock_again() || owned_if(mutex_.lock(stop));
  }

  /// Takes one lock() back. usage_error if the caller does not own it.
  void unlock() {
    if (!is_ours()) {
      base::throw_usage("recursive_mutex::unlock: the caller does not own the mutex");
    }
    if (--depth_ == 0) {
      owner_.store(0, std::memory_order_relaxed);  // relaxed: only the owner compares equal
      mutex_.unlock();
    }
  }

 private:
  bool is_ours() const noexcept {
    // relaxed: only the owner itself has stored what it compares with
    return owner_.load(std::memory_order_relaxed) == sync_detail::caller_identity();
  }
  bool lock_again() noexcept {
    if (!is_ours()) {
      return false;
    }
    ++depth_;
    return true;
  }
  bool owned_if(bool locked) noexcept {
    if (locked) {
      own();
    }
    return locked;
  }
  void own() noexcept {
    // relaxed: as in is_ours
    owner_.store(sync_detail::caller_identity(), std::memory_order_relaxed);
    depth_ = 1;
  }

  mutex mutex_;
  std::atomic<std::uintptr_t> owner_{0};
  std::uint64_t depth_ = 0;  // the owner's
};

}}  // namespace thrum::THRUM_ABI

#if THRUM_BODIES
#include <thrum/detail/base/convert.hpp>
#include <thrum/detail/sched/core/current.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace sync_detail {

THRUM_OUT_OF_LINE std::uintptr_t caller_identity() noexcept {
  const auto* const m = sched::current_m();
  if (m != nullptr && m->g != nullptr) {
    return reinterpret_cast<std::uintptr_t>(m->g);
  }
  return base::convert<std::uintptr_t>(os::thread_id()) << 1 | 1;  // a G's address is even
}

}}}  // namespace thrum::THRUM_ABI::sync_detail
#endif

#endif
