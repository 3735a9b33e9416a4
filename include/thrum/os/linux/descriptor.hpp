// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Descriptors on Linux: the calls that every kind of them shares.
//
// Results are a count, or an errno value below zero, and no call is repeated here after a signal:
// that is for the caller, which knows its deadline. None of them is inlined, because each
// reads errno: see thread.hpp.
#ifndef THRUM_OS_LINUX_DESCRIPTOR_HPP
#define THRUM_OS_LINUX_DESCRIPTOR_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_LINUX

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <sys/uio.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

inline constexpr int no_descriptor = -1;

/// A count or a place in a file, or an errno value below zero.
using io_result = std::int64_t;

/// What a call that returns -1 and sets errno has to say.
THRUM_NOINLINE inline io_result result_of(io_result returned) noexcept {
  return returned >= 0 ? returned : -errno;
}

THRUM_NOINLINE inline io_result read(int fd, void* to, std::size_t n) noexcept {
  return result_of(::read(fd, to, n));
}

THRUM_NOINLINE inline io_result write(int fd, const void* from, std::size_t n) noexcept {
  return result_of(::write(fd, from, n));
}

THRUM_NOINLINE inline io_result read_v(int fd, const ::iovec* to, int n) noexcept {
  return result_of(::readv(fd, to, n));
}

THRUM_NOINLINE inline io_result write_v(int fd, const ::iovec* from, int n) noexcept {
  return result_of(::writev(fd, from, n));
}

/// The number is free afterwards, whatever the result.
io_result close(int fd) noexcept;

io_result set_nonblocking(int fd, bool on) noexcept;

/// Waits with the thread until the descriptor is readable (or writable), for at most timeout_ms.
/// 1, 0 after the time, or an errno value below zero: -EBADF if it is none.
io_result wait_for(int fd, bool to_write, int timeout_ms) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/linux/descriptor_definition.hpp>
#endif

#endif  // THRUM_OS_LINUX
#endif
