// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Interposed calls: what they ask the system, and whether they may park. See <thrum/interpose.hpp>.
#ifndef THRUM_DETAIL_INTERPOSE_ASK_HPP
#define THRUM_DETAIL_INTERPOSE_ASK_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/current.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/io/wait.hpp>
#include <thrum/panic.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace interposed {

/// What the system answers: a result, or -errno. The C library's functions of these names are ours.
template <class... Arguments>
THRUM_NOINLINE inline long ask(long number, Arguments... arguments) noexcept {
  const long result = ::syscall(number, arguments...);
  return result < 0 ? -long{*os::thread_error_number()} : result;
}

/// As ask(), on a thread that may block in the call and be cancelled there: callers are not noexcept, for
/// pthread_cancel unwinds.
template <class... Arguments>
THRUM_NOINLINE inline long ask_as_thread(long number, Arguments... arguments) {
  int before = 0;
  ::pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
  const long result = ::syscall(number, arguments...);
  const int error = *os::thread_error_number();
  ::pthread_setcanceltype(before, nullptr);
  return result < 0 ? -long{error} : result;
}

/// The result of a function of the C library.
THRUM_NOINLINE inline long give(long result) noexcept {
  if (result < 0) {
    *os::thread_error_number() = static_cast<int>(-result);
    return -1;
  }
  return result;
}

/// Whether the caller is a goroutine that may park here.
THRUM_NOINLINE inline bool may_park() noexcept {
  const sched::machine* const m = sched::current_m();
  // relaxed: the thread's own
  if (m == nullptr || m->inside.load(std::memory_order_relaxed) != 0 || m->p == nullptr ||
      m->scheduler->is_copy.get()) {
    return false;
  }
  const sched::goroutine* const g = m->g;
  const char here = 0;
  const auto at = reinterpret_cast<std::uintptr_t>(&here);
  return g != nullptr && at > reinterpret_cast<std::uintptr_t>(g->stack_low) &&
         at < reinterpret_cast<std::uintptr_t>(g);
}

// ---- one descriptor ----

inline bool is_nonblocking(int fd) noexcept {
  const long flags = ask(SYS_fcntl, fd, F_GETFL);
  return flags < 0 || (flags & O_NONBLOCK) != 0;
}

using moment = time_point;
constexpr moment for_ever = moment::max();

inline moment after(std::chrono::nanoseconds time) noexcept {
  const moment now = moment::clock::now();
  return time < for_ever - now ? now + std::chrono::duration_cast<moment::clock::duration>(time)
                               : for_ever;
}

/// When SO_RCVTIMEO or SO_SNDTIMEO ends a wait that begins now.
inline moment time_out_of(int fd, io::side which) noexcept {
  ::timeval time{};
  ::socklen_t size = sizeof time;
  const int option = which == io::side::read ? SO_RCVTIMEO : SO_SNDTIMEO;
  if (ask(SYS_getsockopt, fd, SOL_SOCKET, option, &time, &size) < 0 ||
      (time.tv_sec == 0 && time.tv_usec == 0)) {
    return for_ever;
  }
  return after(std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec));
}

/// False: the moment has passed. No stop of the runtime ends the wait: it would unwind through C.
inline bool wait(int fd, io::side which, moment until) noexcept {
  const uncancellable to_the_end;
  const int result = io_detail::wait_for(fd, which, until);
  return result != sched::io_deadline_exceeded;
}

inline bool is_ready(int fd, short events) noexcept {
  ::pollfd one{fd, events, 0};
  const ::timespec at_once{};
  return ask(SYS_ppoll, &one, 1, &at_once, nullptr, 0) != 0;
}

/// The wait for one side of a descriptor within one call, which knows its deadline from the second on.
class waiter {
 public:
  waiter(int fd, io::side which) noexcept : fd_(fd), which_(which) {}
  /// After EAGAIN. False: that is the answer to the program.
  bool wait_again() noexcept {
    if (!has_begun_) {
      has_begun_ = true;
      if (is_nonblocking(fd_)) {
        return false;
      }
      until_ = time_out_of(fd_, which_);
    }
    return wait(fd_, which_, until_);
  }

 private:
  int fd_;
  io::side which_;
  bool has_begun_ = false;
  moment until_ = for_ever;
};

/// Calls try_now until it says something else than EAGAIN, or until that is the answer.
template <class Try>
long repeat(waiter& until_ready, Try try_now) noexcept {
  for (;;) {
    const long result = try_now();
    if (result != -EAGAIN || !until_ready.wait_again()) {
      return result;
    }
  }
}

}}}  // namespace thrum::THRUM_ABI::interposed

#endif
