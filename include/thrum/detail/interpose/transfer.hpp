// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Interposed calls: reads and writes of pipes, terminals and sockets. See <thrum/interpose.hpp>.
#ifndef THRUM_DETAIL_INTERPOSE_TRANSFER_HPP
#define THRUM_DETAIL_INTERPOSE_TRANSFER_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/interpose/ask.hpp>

#include <cerrno>
#include <cstddef>

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

namespace thrum { inline namespace THRUM_ABI { namespace interposed {

// ---- what is no socket ----

/// Pipes, terminals, and what has no name in a file system: of a file a read is ready at any time.
inline bool can_wait(int fd) noexcept {
  struct ::stat facts {};
  if (::fstat(fd, &facts) != 0) {
    return false;
  }
  return S_ISFIFO(facts.st_mode) || S_ISCHR(facts.st_mode) || (facts.st_mode & S_IFMT) == 0;
}

inline long read_of_other(int fd, const ::iovec* parts, int n) {
  const auto plain = [&] { return ask_as_thread(SYS_readv, fd, parts, n); };
  if (is_nonblocking(fd) || !can_wait(fd)) {
    return plain();
  }
  for (;;) {
    if (is_ready(fd, POLLIN)) {
      const long result = ask(SYS_preadv2, fd, parts, n, -1L, -1L, RWF_NOWAIT);
      if (result == -EOPNOTSUPP || result == -ENOSYS || result == -ESPIPE || result == -EINVAL ||
          (result == -EAGAIN && is_ready(fd, POLLIN))) {
        return plain();
      }
      if (result != -EAGAIN) {
        return result;
      }
    }
    wait(fd, io::side::read, for_ever);
  }
}

inline std::size_t bytes_of(const ::iovec* parts, std::size_t n) noexcept {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i != n; ++i) {
    bytes += parts[i].iov_len;
  }
  return bytes;
}

/// What is left of it after `done` bytes, in one piece at a time.
inline ::iovec rest_of(const ::iovec* parts, std::size_t done) noexcept {
  while (done >= parts->iov_len) {
    done -= parts->iov_len;
    ++parts;
  }
  return {static_cast<char*>(parts->iov_base) + done, parts->iov_len - done};
}

/// All of it: writes the rest by write_part(piece), which says how much it has written, or -errno.
template <class Write>
long write_all(const ::iovec* parts, std::size_t n, long first, Write write_part) {
  const std::size_t all = bytes_of(parts, n);
  if (first < 0) {
    return first;
  }
  auto done = static_cast<std::size_t>(first);
  while (done < all) {
    const long more = write_part(rest_of(parts, done));
    if (more <= 0) {
      return done != 0 ? static_cast<long>(done) : more;
    }
    done += static_cast<std::size_t>(more);
  }
  return static_cast<long>(done);
}

inline long write_of_other(int fd, const ::iovec* parts, int n) {
  const auto plain = [&] { return ask_as_thread(SYS_writev, fd, parts, n); };
  if (is_nonblocking(fd) || !can_wait(fd)) {
    return plain();
  }
  const auto write_part = [&](const ::iovec* some, int count) -> long {
    for (;;) {
      if (is_ready(fd, POLLOUT)) {
        const long result = ask(SYS_pwritev2, fd, some, count, -1L, -1L, RWF_NOWAIT);
        if (result == -EOPNOTSUPP || result == -ENOSYS || result == -ESPIPE || result == -EINVAL ||
            (result == -EAGAIN && is_ready(fd, POLLOUT))) {
          return ask_as_thread(SYS_writev, fd, some, count);
        }
        if (result != -EAGAIN) {
          return result;
        }
      }
      wait(fd, io::side::write, for_ever);
    }
  };
  return write_all(parts, static_cast<std::size_t>(n), write_part(parts, n),
                   [&](::iovec rest) { return write_part(&rest, 1); });
}

// ---- sockets ----

/// Flags with which a call waits for nothing, or means something that is not worth a second way.
constexpr int as_they_are = MSG_DONTWAIT | MSG_ERRQUEUE | MSG_OOB | MSG_FASTOPEN;

inline bool is_stream(int fd) noexcept {
  int type = 0;
  ::socklen_t size = sizeof type;
  return ask(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

inline long receive(int fd, void* buffer, std::size_t n, int flags, ::sockaddr* from,
                    ::socklen_t* from_size) {
  const auto plain = [&] {
    return ask_as_thread(SYS_recvfrom, fd, buffer, n, flags, from, from_size);
  };
  const bool all = (flags & MSG_WAITALL) != 0;
  if ((flags & as_they_are) != 0 || !may_park() || (all && (flags & MSG_PEEK) != 0)) {
    return plain();
  }
  waiter until_ready(fd, io::side::read);
  const ::socklen_t room = from_size != nullptr ? *from_size : 0;
  std::size_t done = 0;
  for (;;) {
    if (from_size != nullptr) {
      *from_size = room;
    }
    const long result = ask(SYS_recvfrom, fd, static_cast<char*>(buffer) + done, n - done,
                            (flags & ~MSG_WAITALL) | MSG_DONTWAIT, from, from_size);
    if (result == -EAGAIN) {
      if (!until_ready.wait_again()) {
        return done != 0 ? static_cast<long>(done) : result;
      }
      continue;
    }
    if (result <= 0) {
      return done != 0 ? static_cast<long>(done) : result;
    }
    done += static_cast<std::size_t>(result);
    if (!all || done >= n || !is_stream(fd) || is_nonblocking(fd)) {
      return static_cast<long>(done);
    }
  }
}

inline long send_parts(int fd, const ::msghdr& message, int flags) noexcept {
  waiter until_ready(fd, io::side::write);
  const long first =
      repeat(until_ready, [&] { return ask(SYS_sendmsg, fd, &message, flags | MSG_DONTWAIT); });
  if (first >= 0 && is_nonblocking(fd)) {
    return first;
  }
  return write_all(message.msg_iov, message.msg_iovlen, first, [&](::iovec rest) {
    return repeat(until_ready, [&] {
      return ask(SYS_sendto, fd, rest.iov_base, rest.iov_len, flags | MSG_DONTWAIT, nullptr, 0);
    });
  });
}

inline long send(int fd, const void* buffer, std::size_t n, int flags, const ::sockaddr* to,
                 ::socklen_t to_size) {
  if ((flags & as_they_are) != 0 || !may_park()) {
    return ask_as_thread(SYS_sendto, fd, buffer, n, flags, to, to_size);
  }
  waiter until_ready(fd, io::side::write);
  const long first = repeat(until_ready, [&] {
    return ask(SYS_sendto, fd, buffer, n, flags | MSG_DONTWAIT, to, to_size);
  });
  if (first < 0 || static_cast<std::size_t>(first) == n || is_nonblocking(fd)) {
    return first;
  }
  const ::iovec part{const_cast<void*>(buffer), n};
  return write_all(&part, 1, first, [&](::iovec rest) {
    return repeat(until_ready, [&] {
      return ask(SYS_sendto, fd, rest.iov_base, rest.iov_len, flags | MSG_DONTWAIT, to, to_size);
    });
  });
}

inline long read(int fd, const ::iovec* parts, int n) {
  if (n <= 0 || bytes_of(parts, static_cast<std::size_t>(n)) == 0 || !may_park()) {
    return ask_as_thread(SYS_readv, fd, parts, n);
  }
  ::msghdr message{};
  message.msg_iov = const_cast<::iovec*>(parts);
  message.msg_iovlen = static_cast<std::size_t>(n);
  waiter until_ready(fd, io::side::read);
  const long result =
      repeat(until_ready, [&] { return ask(SYS_recvmsg, fd, &message, MSG_DONTWAIT); });
  return result == -ENOTSOCK ? read_of_other(fd, parts, n) : result;
}

inline long write(int fd, const ::iovec* parts, int n) {
  if (n <= 0 || bytes_of(parts, static_cast<std::size_t>(n)) == 0 || !may_park()) {
    return ask_as_thread(SYS_writev, fd, parts, n);
  }
  ::msghdr message{};
  message.msg_iov = const_cast<::iovec*>(parts);
  message.msg_iovlen = static_cast<std::size_t>(n);
  const long result = send_parts(fd, message, 0);
  return result == -ENOTSOCK ? write_of_other(fd, parts, n) : result;
}

}}}  // namespace thrum::THRUM_ABI::interposed

#endif
