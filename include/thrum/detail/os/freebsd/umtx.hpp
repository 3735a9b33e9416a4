// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Sleeping on a word, on FreeBSD: _umtx_op. What it promises is in os/note.hpp.
#ifndef THRUM_DETAIL_OS_FREEBSD_UMTX_HPP
#define THRUM_DETAIL_OS_FREEBSD_UMTX_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_FREEBSD

#if THRUM_BODIES
// futex_wait and futex_wake of os/note.hpp, on FreeBSD.

#include <thrum/detail/os/clock.hpp>
#include <thrum/detail/os/note.hpp>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <ctime>

#include <sys/types.h>

#include <sys/umtx.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE THRUM_OUT_OF_LINE bool futex_wait(std::atomic<std::uint32_t>& word,
                                                 std::uint32_t expected,
                                                 std::int64_t timeout_ns) noexcept {
  const int before = errno;
  ::_umtx_time limit{};
  limit._timeout = to_timespec(timeout_ns < 0 ? 0 : timeout_ns);
  limit._clockid = CLOCK_MONOTONIC;
  // The fourth argument is the size of the fifth, which may be a timespec or this.
  const int result = timeout_ns < 0
                         ? ::_umtx_op(&word, UMTX_OP_WAIT_UINT_PRIVATE, expected, nullptr, nullptr)
                         : ::_umtx_op(&word, UMTX_OP_WAIT_UINT_PRIVATE, expected,
                                      reinterpret_cast<void*>(sizeof limit), &limit);
  const bool timed_out = result != 0 && errno == ETIMEDOUT;
  errno = before;
  return !timed_out;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void futex_wake(std::atomic<std::uint32_t>& word,
                                                 int how_many) noexcept {
  const int before = errno;
  ::_umtx_op(&word, UMTX_OP_WAKE_PRIVATE, static_cast<::u_long>(how_many), nullptr, nullptr);
  errno = before;
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_FREEBSD
#endif  // THRUM_DETAIL_OS_FREEBSD_UMTX_HPP
