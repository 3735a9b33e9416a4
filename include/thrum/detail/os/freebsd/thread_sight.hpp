// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What others see of a thread, on FreeBSD: its CPU time by the clock that POSIX has, and its state in
// the list of the process's threads, the only place that tells it.
#ifndef THRUM_DETAIL_OS_FREEBSD_THREAD_SIGHT_HPP
#define THRUM_DETAIL_OS_FREEBSD_THREAD_SIGHT_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_FREEBSD

#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/os/answers.hpp>
#include <thrum/detail/os/posix/thread_sight.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The part of a thread_ref that looks.
class thread_sight : public clock_sight {
 public:
  void open() noexcept;
  void close() noexcept;

  /// Unknown if there are so many threads that this one is not among those that the kernel lists.
  thread_look look() const noexcept;

 private:
  base::hint<std::uint64_t> tid_{0};  // 0: no thread
};

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/freebsd/this_thread.hpp>
#include <thrum/detail/os/memory_parts.hpp>

#include <cstddef>

#include <sys/types.h>

#include <sys/param.h>
#include <sys/proc.h>
#include <sys/sysctl.h>
#include <sys/user.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_OUT_OF_LINE void thread_sight::open() noexcept {
  clock_sight::open();
  tid_.set(thread_id());
}

THRUM_OUT_OF_LINE void thread_sight::close() noexcept {
  clock_sight::close();
  tid_.set(0);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE thread_look thread_sight::look() const noexcept {
  const std::uint64_t tid = tid_.get();
  if (tid == 0) {
    return thread_look::in_system;
  }
  // In memory of its own: more than some stacks have, and malloc may be locked.
  constexpr std::size_t most_threads = 256;
  std::size_t bytes = most_threads * sizeof(::kinfo_proc);
  const std::size_t mapped = bytes;
  auto* const threads = static_cast<::kinfo_proc*>(map(mapped));
  if (threads == nullptr) {
    return thread_look::unknown;
  }
  int name[] = {CTL_KERN, KERN_PROC, KERN_PROC_PID | KERN_PROC_INC_THREAD, ::getpid()};
  // If there is no room for all, it fails and has listed the first ones.
  ::sysctl(name, 4, threads, &bytes, nullptr, 0);
  thread_look seen = thread_look::unknown;
  for (std::size_t i = 0; i != most_threads; ++i) {  // where nothing is listed there are zeros
    if (static_cast<std::uint64_t>(threads[i].ki_tid) == tid) {
      seen = threads[i].ki_stat == SRUN ? thread_look::computes : thread_look::in_system;
    }
  }
  unmap(threads, mapped);
  return seen;
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_FREEBSD
#endif  // THRUM_DETAIL_OS_FREEBSD_THREAD_SIGHT_HPP
