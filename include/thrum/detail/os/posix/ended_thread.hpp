// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A running OS thread that says whether it has ended, where the system does not: by a word that the
// thread writes at its end.
#ifndef THRUM_DETAIL_OS_POSIX_ENDED_THREAD_HPP
#define THRUM_DETAIL_OS_POSIX_ENDED_THREAD_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_PORTABLE

#include <thrum/detail/os/posix/thread.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Handle of a running OS thread. Must be joined before it is destroyed or assigned to.
class thread : public joinable_thread {
 public:
  constexpr thread() noexcept = default;

  /// As joinable_thread's. Allocates.
  [[nodiscard]] static int start(thread& out, void* (*entry)(void*), void* argument) noexcept;

  /// Blocks until the thread has ended.
  void join() noexcept;

  /// Whether the thread has ended; if so it is joined. Waits for no more than the last of its
  /// instructions.
  [[nodiscard]] bool try_join() noexcept;

 private:
  struct life;
  life* life_ = nullptr;  // while it is joinable
};

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/base/order.hpp>

#include <atomic>
#include <cerrno>
#include <new>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

struct thread::life {
  void* (*entry)(void*);
  void* argument;
  std::atomic<bool> has_ended{false};
};

THRUM_OUT_OF_LINE int thread::start(thread& out, void* (*entry)(void*), void* argument) noexcept {
  auto* const fresh = new (std::nothrow) life{entry, argument};
  if (fresh == nullptr) {
    return ENOMEM;
  }
  const int error = joinable_thread::start(
      out,
      [](void* its) -> void* {
        life& own = *static_cast<life*>(its);
        void* const result = own.entry(own.argument);
        own.has_ended.store(true, release);  // [th.end >] release: all that the thread has done
        return result;
      },
      fresh);
  if (error != 0) {
    delete fresh;
    return error;
  }
  out.life_ = fresh;
  return 0;
}

THRUM_OUT_OF_LINE void thread::join() noexcept {
  joinable_thread::join();
  delete life_;
  life_ = nullptr;
}

THRUM_OUT_OF_LINE bool thread::try_join() noexcept {
  if (!joinable() || !life_->has_ended.load(acquire)) {  // [th.end <] acquire: what it has done
    return false;
  }
  join();
  return true;
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_PORTABLE
#endif  // THRUM_DETAIL_OS_POSIX_ENDED_THREAD_HPP
