// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Pipes on Linux, and writing to one that nobody reads any more without the signal SIGPIPE.
//
// The signal would end the program, and whether it is ignored belongs to the program, not to a
// library in it. Sockets have MSG_NOSIGNAL; pipes have RWF_NOSIGNAL since Linux 6.18. Before, the
// thread blocks the signal for the length of the call, and takes back the one that the call made:
//   - if the thread had not blocked it before, none was pending for it, so the pending one is ours;
//   - if it had, and one was pending, ours has become one with that, which stays.
// A signal for the thread is taken before one for the process, so somebody else's SIGPIPE is safe.
// Price: two system calls for each call.
#ifndef THRUM_OS_LINUX_PIPE_HPP
#define THRUM_OS_LINUX_PIPE_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/order.hpp>
#include <thrum/os/linux/descriptor.hpp>

#if THRUM_OS_LINUX

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <ctime>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

/// The end to read from, then the one to write to: non-blocking, closed by exec.
THRUM_NOINLINE inline io_result open_pipe(int (&fds)[2]) noexcept {
  return result_of(::pipe2(fds, O_NONBLOCK | O_CLOEXEC));
}

/// call(), which may raise SIGPIPE for the thread, without that signal. `raised(result)`: it may
/// have.
template <class Call, class Raised>
THRUM_NOINLINE io_result without_broken_pipe(Call call, Raised raised) noexcept {
  ::sigset_t broken_pipe;
  ::sigset_t before;
  ::sigemptyset(&broken_pipe);
  ::sigaddset(&broken_pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &broken_pipe, &before);
  bool was_pending = false;
  const bool was_blocked = ::sigismember(&before, SIGPIPE) == 1;
  if (was_blocked) {
    ::sigset_t pending;
    was_pending = ::sigpending(&pending) == 0 && ::sigismember(&pending, SIGPIPE) == 1;
  }
  const io_result result = call();
  if (!was_pending && raised(result)) {
    const ::timespec at_once{};
    while (::sigtimedwait(&broken_pipe, nullptr, &at_once) < 0 && errno == EINTR) {
    }
  }
  if (!was_blocked) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  return result;
}

/// What a call that does not wait returns where the system has none, or not for this kind of file.
inline constexpr io_result cannot_tell = -EOPNOTSUPP;

inline constexpr int rwf_nowait = 0x8;      // RWF_NOWAIT, newer than some systems' headers
inline constexpr int rwf_nosignal = 0x100;  // RWF_NOSIGNAL, likewise

/// preadv2 or pwritev2 at the current position. ENOSYS is a way to say that they cannot tell.
THRUM_NOINLINE inline io_result transfer_with_flags(long number, int fd, void* bytes, std::size_t n,
                                                    int flags) noexcept {
  const ::iovec part{bytes, n};
  constexpr unsigned long where_it_is = ~0UL;  // an offset of -1
  const io_result result =
      result_of(::syscall(number, fd, &part, 1UL, where_it_is, where_it_is, flags));
  return result == -ENOSYS ? cannot_tell : result;
}

/// Whether the system knows RWF_NOSIGNAL, as far as was seen.
inline constinit std::atomic<bool> has_signal_free_write{true};

/// As write() to a pipe or a socket; that nobody reads any more is an error, never a signal.
THRUM_NOINLINE inline io_result write_without_signal(int fd, const void* from,
                                                     std::size_t n) noexcept {
#if defined(SYS_pwritev2)
  if (has_signal_free_write.load(relaxed)) {  // relaxed: a fact about the system
    // The system's type is not const, and it does not write there.
    const io_result result =
        transfer_with_flags(SYS_pwritev2, fd, const_cast<void*>(from), n, rwf_nosignal);
    if (result != cannot_tell) {
      return result;
    }
    has_signal_free_write.store(false, relaxed);  // relaxed: a fact about the system
  }
#endif
  return without_broken_pipe([&] { return write(fd, from, n); },
                             [](io_result result) { return result == -EPIPE; });
}

/// As read(), but -EAGAIN instead of waiting, whatever the mode of the open file; or cannot_tell.
THRUM_NOINLINE inline io_result read_at_once(int fd, void* to, std::size_t n) noexcept {
#if defined(SYS_preadv2)
  return transfer_with_flags(SYS_preadv2, fd, to, n, rwf_nowait);
#else
  static_cast<void>(fd), static_cast<void>(to), static_cast<void>(n);
  return cannot_tell;
#endif
}

/// As write_without_signal(), but with -EAGAIN or a part of the count instead of waiting; or
/// cannot_tell.
THRUM_NOINLINE inline io_result write_at_once(int fd, const void* from, std::size_t n) noexcept {
#if defined(SYS_pwritev2)
  // The system's type is not const, and it does not write there.
  void* const bytes = const_cast<void*>(from);
  if (has_signal_free_write.load(relaxed)) {  // relaxed: a fact about the system
    const io_result result =
        transfer_with_flags(SYS_pwritev2, fd, bytes, n, rwf_nowait | rwf_nosignal);
    if (result != cannot_tell) {
      return result;
    }
  }
  return without_broken_pipe(
      [&] { return transfer_with_flags(SYS_pwritev2, fd, bytes, n, rwf_nowait); },
      [](io_result result) { return result == -EPIPE; });
#else
  static_cast<void>(fd), static_cast<void>(from), static_cast<void>(n);
  return cannot_tell;
#endif
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_LINUX
#endif
