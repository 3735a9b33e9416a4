// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A running OS thread that says whether it has ended, where the system does not: by a word that the
// thread writes at its end.
#ifndef THRUM_OS_POSIX_ENDED_THREAD_HPP
#define THRUM_OS_POSIX_ENDED_THREAD_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_PORTABLE

#include <thrum/os/posix/thread.hpp>

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

#if !THRUM_SEPARATE
#include <thrum/os/posix/ended_thread_definition.hpp>
#endif

#endif  // THRUM_OS_PORTABLE
#endif  // THRUM_OS_POSIX_ENDED_THREAD_HPP
