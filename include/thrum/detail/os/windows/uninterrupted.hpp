// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Code in which another thread must not stop the calling one: a thread that waits for a lock of the
// caller would wait for as long as the caller is stopped. Elsewhere a blocked signal does this.
#ifndef THRUM_DETAIL_OS_WINDOWS_UNINTERRUPTED_HPP
#define THRUM_DETAIL_OS_WINDOWS_UNINTERRUPTED_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/windows/process_wide.hpp>
#include <thrum/detail/os/windows/thread.hpp>

#include <atomic>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace os {

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

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_DETAIL_OS_WINDOWS_UNINTERRUPTED_HPP
