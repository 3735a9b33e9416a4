// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What others see of a thread, on FreeBSD: its CPU time by the clock that POSIX has, and its state in
// the list of the process's threads, the only place that tells it.
#ifndef THRUM_OS_FREEBSD_THREAD_SIGHT_HPP
#define THRUM_OS_FREEBSD_THREAD_SIGHT_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_FREEBSD

#include <thrum/os/answers.hpp>
#include <thrum/os/posix/thread_sight.hpp>

#include <atomic>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The part of a thread_ref that looks.
class thread_sight : public clock_sight {
 public:
  void open() noexcept;
  void close() noexcept;

  /// Unknown if there are so many threads that this one is not among those that are told of.
  thread_look look() const noexcept;

 private:
  std::atomic<std::uint64_t> tid_{0};  // 0: no thread
};

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/freebsd/thread_sight_definition.hpp>
#endif

#endif  // THRUM_OS_FREEBSD
#endif  // THRUM_OS_FREEBSD_THREAD_SIGHT_HPP
