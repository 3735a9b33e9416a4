// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Blocking calls of the C library that park a goroutine in place of its thread.
//
// Purpose
//   Most of what a program calls was written for threads: a client of a database sits in read() until
//   the answer comes. With this header in one source file of a program such calls, on a goroutine, are
//   waits of the library. Everywhere else they are what they were.
//
// Include it in exactly one source file of an executable, and not in a library: the loader looks for a
// name in the executable first, so the calls of shared objects arrive here, too. <thrum.hpp> does not
// include it. Linux with glibc and 64-bit pointers, linked dynamically or statically.
//
// Which calls
//   read, readv, recv, recvfrom, recvmsg, write, writev, send, sendto, sendmsg, accept, accept4, poll,
//   select, epoll_wait, sleep, usleep, nanosleep, clock_nanosleep, and their _chk forms; connect, which
//   is announced as by blocking().
//
// A call parks a goroutine only if all of this holds
//   goroutine   it comes from a goroutine's own stack, outside the library, while the goroutine has a
//               processor: not from blocking(), a hook, a handler on the signal stack, a foreign thread
//               or a child after fork
//   blocks      the program has not set O_NONBLOCK, and MSG_DONTWAIT or a time-out of 0 is not given
//   must wait   the system says EAGAIN to MSG_DONTWAIT or RWF_NOWAIT, or that nothing is ready
//
// What is kept
//   O_NONBLOCK  is the open file description's, and others may share it: it is asked for, never changed.
//   Time-outs   SO_RCVTIMEO and SO_SNDTIMEO end a wait with EAGAIN, or with the part that was moved.
//   Parts       a call that blocks writes all; MSG_WAITALL reads all of a stream. A pipe's writes of up
//               to PIPE_BUF bytes stay whole.
//   SIGPIPE     is sent to the thread, as ever.
//
// What differs
//   No signal ends a wait with EINTR, as if each handler had SA_RESTART. A wait is no cancellation point
//   of pthread_cancel.
//   The goroutine may wake on another thread. A library that holds a pthread mutex across such a call
//   unlocks it there: mutex_watch.hpp reports that; bind such goroutines by a thread_lock.
//   A wait is not ended by the stop of a runtime, as little as a blocked thread.
//   A handler of signals that runs on a goroutine's stack (without SA_ONSTACK) must not wait.
//   A stream's error after a part was moved is reported by neither call if the system had kept it for
//   the second.
//   A descriptor that another thread closes during a wait: the wait ends at its deadline, if any.
//   accept, and reads of terminals: if another reader takes what was ready, the call blocks its thread,
//   and the monitor takes the processor from it.
//   Regular files, MSG_PEEK with MSG_WAITALL, clock_nanosleep until a time of the wall clock: these block
//   their threads as before.
//   Calls of the C library to itself (stdio, getaddrinfo), statically hidden calls (-Bsymbolic,
//   RTLD_DEEPBIND) and raw system calls do not come here. ppoll, pselect, waitpid and all that is not in
//   the list above are as they were.
#ifndef THRUM_INTERPOSE_HPP
#define THRUM_INTERPOSE_HPP

#include <features.h>

#if !defined(__linux__) || !defined(__GLIBC__) || !defined(__LP64__)
#error "<thrum/interpose.hpp> needs Linux with glibc and 64-bit pointers"
#endif

#include <thrum/blocking.hpp>
#include <thrum/detail/interpose/ask.hpp>
#include <thrum/detail/interpose/several.hpp>
#include <thrum/detail/interpose/transfer.hpp>

#include <cerrno>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

// They must not be inline: they take the place of the C library's, whose headers say noexcept or not.
extern "C" {

[[noreturn]] void __chk_fail(void);

ssize_t read(int fd, void* buffer, size_t n) {
  const ::iovec part{buffer, n};
  return thrum::interposed::give(thrum::interposed::read(fd, &part, 1));
}
ssize_t readv(int fd, const struct iovec* parts, int n) {
  return thrum::interposed::give(thrum::interposed::read(fd, parts, n));
}
ssize_t write(int fd, const void* buffer, size_t n) {
  const ::iovec part{const_cast<void*>(buffer), n};
  return thrum::interposed::give(thrum::interposed::write(fd, &part, 1));
}
ssize_t writev(int fd, const struct iovec* parts, int n) {
  return thrum::interposed::give(thrum::interposed::write(fd, parts, n));
}
ssize_t recv(int fd, void* buffer, size_t n, int flags) {
  return thrum::interposed::give(
      thrum::interposed::receive(fd, buffer, n, flags, nullptr, nullptr));
}
ssize_t recvfrom(int fd, void* buffer, size_t n, int flags, struct sockaddr* from,
                 socklen_t* from_size) {
  return thrum::interposed::give(thrum::interposed::receive(fd, buffer, n, flags, from, from_size));
}
ssize_t recvmsg(int fd, struct msghdr* message, int flags) {
  using namespace thrum::interposed;
  if ((flags & (as_they_are | MSG_WAITALL)) != 0 || !may_park()) {
    return give(ask_as_thread(SYS_recvmsg, fd, message, flags));
  }
  const struct msghdr asked = *message;
  waiter until_ready(fd, thrum::io::side::read);
  return give(repeat(until_ready, [&] {
    *message = asked;
    return ask(SYS_recvmsg, fd, message, flags | MSG_DONTWAIT);
  }));
}
ssize_t send(int fd, const void* buffer, size_t n, int flags) {
  return thrum::interposed::give(thrum::interposed::send(fd, buffer, n, flags, nullptr, 0));
}
ssize_t sendto(int fd, const void* buffer, size_t n, int flags, const struct sockaddr* to,
               socklen_t to_size) {
  return thrum::interposed::give(thrum::interposed::send(fd, buffer, n, flags, to, to_size));
}
ssize_t sendmsg(int fd, const struct msghdr* message, int flags) {
  using namespace thrum::interposed;
  if ((flags & as_they_are) != 0 || !may_park()) {
    return give(ask_as_thread(SYS_sendmsg, fd, message, flags));
  }
  return give(send_parts(fd, *message, flags));
}
int accept4(int fd, struct sockaddr* from, socklen_t* from_size, int flags) {
  using namespace thrum::interposed;
  if (may_park() && !is_nonblocking(fd)) {
    const auto until = time_out_of(fd, thrum::io::side::read);
    while (!is_ready(fd, POLLIN)) {
      if (!wait(fd, thrum::io::side::read, until)) {
        return static_cast<int>(give(-EAGAIN));
      }
    }
  }
  return static_cast<int>(give(ask_as_thread(SYS_accept4, fd, from, from_size, flags)));
}
int accept(int fd, struct sockaddr* from, socklen_t* from_size) {
  return accept4(fd, from, from_size, 0);
}
int connect(int fd, const struct sockaddr* to, socklen_t to_size) {
  using namespace thrum::interposed;
  if (!may_park() || is_nonblocking(fd)) {
    return static_cast<int>(give(ask_as_thread(SYS_connect, fd, to, to_size)));
  }
  return static_cast<int>(give(thrum::blocking([&] { return ask(SYS_connect, fd, to, to_size); })));
}
int poll(struct pollfd* all, nfds_t n, int ms) {
  return static_cast<int>(thrum::interposed::give(thrum::interposed::poll(all, n, ms)));
}
int select(int n, fd_set* in, fd_set* out, fd_set* urgent, struct timeval* time) {
  return static_cast<int>(
      thrum::interposed::give(thrum::interposed::select(n, in, out, urgent, time)));
}
int epoll_wait(int set, struct epoll_event* events, int room, int ms) {
  return static_cast<int>(
      thrum::interposed::give(thrum::interposed::wait_for_events(set, events, room, ms)));
}
int clock_nanosleep(clockid_t by, int flags, const struct timespec* time, struct timespec* left) {
  return thrum::interposed::sleep_by(by, flags, time, left);
}
int nanosleep(const struct timespec* time, struct timespec* left) {
  return static_cast<int>(
      thrum::interposed::give(-thrum::interposed::sleep_by(CLOCK_REALTIME, 0, time, left)));
}
int usleep(useconds_t us) {
  const struct timespec time { us / 1'000'000, us % 1'000'000 * 1000L };
  return nanosleep(&time, nullptr);
}
unsigned sleep(unsigned seconds) {
  struct timespec time {
    seconds, 0
  };
  return nanosleep(&time, &time) == 0 ? 0 : static_cast<unsigned>(time.tv_sec);
}

ssize_t __read_chk(int fd, void* buffer, size_t n, size_t room) {
  return n <= room ? read(fd, buffer, n) : (__chk_fail(), -1);
}
ssize_t __recv_chk(int fd, void* buffer, size_t n, size_t room, int flags) {
  return n <= room ? recv(fd, buffer, n, flags) : (__chk_fail(), -1);
}
ssize_t __recvfrom_chk(int fd, void* buffer, size_t n, size_t room, int flags,
                       struct sockaddr* from, socklen_t* from_size) {
  return n <= room ? recvfrom(fd, buffer, n, flags, from, from_size) : (__chk_fail(), -1);
}
int __poll_chk(struct pollfd* all, nfds_t n, int ms, size_t room) {
  return n <= room / sizeof *all ? poll(all, n, ms) : (__chk_fail(), -1);
}

}  // extern "C"

#endif
