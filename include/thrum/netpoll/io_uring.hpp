// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Another poller of Linux: a ring of io_uring, chosen by options::poller.
//
// Purpose
//   Operations that complete: the kernel receives into the goroutine's own buffer and reads files
//   while no thread waits for them, and one call submits what many goroutines have asked for. And
//   readiness for all else, which has to be asked for each time (asks_each_time in contract.hpp):
//   what IOCP and AFD on Windows are like, tried on Linux.
//
// Who submits
//   Requests are put into the queue under `submitting_` and are handed over by the next poll, which
//   enters the kernel anyway; or at once, if some thread sleeps in the poller (`sleeps_`) and would
//   not see them, or if the caller says so. Whoever hands over comes back when the kernel has taken
//   its request: a call ends at one that the kernel refuses at once, and leaves what stands behind.
//
// Who reaps
//   One thread at a time, under `reaping_`, which a poll that waits holds all the time. Others find
//   nothing then: the scheduler lets nobody poll beside a thread that sleeps here.
//
// Waking
//   A request that does nothing, which completes at once. `woken_` is the wake: a poll that finds it
//   before it sleeps does not; the completion only ends the sleep of one that missed it, and only a
//   poll that waits clears it then. A signal handler that wakes has interrupted nobody who is here.
//
// Checked by tests/model/linux/io_uring_model.cpp, with each order and each step changed in turn.
//
// Requests belong to threads
//   The kernel completes a request on the thread that has submitted it. If that thread sleeps in a
//   call, it is interrupted for a moment, and a call that cannot be restarted (epoll_wait of another
//   library) fails there with EINTR, as after a signal. If it computes, it completes the request in
//   its next call, or when the clock of its processor ticks (1 to 10 ms); only before Linux 5.19 it
//   is interrupted then, too. With that interrupt, which goes from one processor to another, an HTTP
//   request cost half as much again. If the thread has ended, the request may be cancelled instead:
//   readiness that was asked for is then reported as if it were there, and an operation ends with
//   os::interrupted. Whoever waits calls again.
//
// Nor does a file end before the requests that name it, and those end on the thread that submitted
// them, a moment after their cancellation. So the work of a last close() may fall to that thread. It
// is short, but for a socket with linger(seconds) whose peer does not read: that thread, which may be
// the one in the poller, then waits in place of the one that closes. (Measured: 1.03 s for a second.)
//
// Descriptors of others (arm) stay with an epoll, which is itself watched by the ring: the kernel
// keeps the file of a request open, so a ring never learns that somebody has closed a number.
//
// Source: the kernel's io_uring.c and the manual pages of io_uring_setup(2) and io_uring_enter(2).
#ifndef THRUM_NETPOLL_IO_URING_HPP
#define THRUM_NETPOLL_IO_URING_HPP

#include <thrum/base/config.hpp>
#include <thrum/netpoll/contract.hpp>

#if THRUM_OS_LINUX

#include <thrum/base/order.hpp>
#include <thrum/netpoll/io_uring_system.hpp>
#include <thrum/os/handle.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace netpoll {

using namespace base::orders;

/// Held for some lines, or, by the thread that sleeps in the kernel, for long: then nobody waits.
template <class System>
class ring_lock {
 public:
  void lock() noexcept;
  bool try_lock() noexcept {
    return !held_.exchange(true, acquire);  // [ur.lock <] acquire: what the last holder did
  }
  void unlock() noexcept {
    held_.store(false, release);  // [ur.lock >] release: what this holder did
  }
  /// Sees what all holders did so far.
  void see() const noexcept {
    static_cast<void>(held_.load(acquire));  // [ur.lock <] acquire: what the last holder did
  }

 private:
  typename System::template atomic<bool> held_{false};
};

template <class System>
class basic_io_uring {
 public:
  constexpr basic_io_uring() noexcept = default;
  basic_io_uring(const basic_io_uring&) = delete;
  basic_io_uring& operator=(const basic_io_uring&) = delete;
  ~basic_io_uring() { close(); }

  /// os::not_supported: the kernel has none, forbids it or is older than 5.11.
  THRUM_NOINLINE int open() noexcept;
  THRUM_NOINLINE void close() noexcept;

  /// Only counts: what may happen to the descriptor is asked for by ask().
  int add(os::handle fd, std::uint64_t tag) noexcept;
  THRUM_NOINLINE void remove(os::handle fd, std::uint64_t tag, std::uint32_t asked) noexcept;
  THRUM_NOINLINE void ask(os::handle fd, std::uint64_t tag, events side, bool now) noexcept;
  THRUM_NOINLINE void start(operation& what) noexcept;
  THRUM_NOINLINE void cancel(operation& what) noexcept;

  THRUM_NOINLINE int arm(os::handle fd, std::uint64_t tag, std::uint32_t what) noexcept;
  THRUM_NOINLINE int arm_first(os::handle fd, std::uint64_t tag, std::uint32_t what) noexcept;

  THRUM_NOINLINE void poll(std::int64_t delay_ns, sink& to) noexcept;
  THRUM_NOINLINE void wake() noexcept;

  std::uint32_t descriptors() const noexcept {
    // relaxed: a goroutine that waits has added before it looks
    return descriptors_.load(relaxed) + others_.descriptors();
  }

 private:
  template <class T>
  using atomic = typename System::template atomic<T>;
  using queues = typename System::queues;
  using lock = ring_lock<System>;

  // User data: a tag as it is, whose two uppermost bits are 0; one that was asked for as writable;
  // or the address of an operation.
  static constexpr std::uint64_t operation_bit = std::uint64_t{1} << 63;
  static constexpr std::uint64_t writable_bit = std::uint64_t{1} << 62;
  static constexpr std::uint64_t alarm_tag = 0;
  static constexpr std::uint64_t others_tag = std::uint64_t{1} << 32;
  static constexpr std::uint64_t nobodys_tag = std::uint64_t{2} << 32;  // of a cancellation

  static constexpr std::uint32_t submissions_at_once = 256;
  static constexpr std::uint32_t completions_at_once = 4096;
  static constexpr std::uint32_t at_once = 128;  // events of one look; from Go

  static std::uint64_t data_of(std::uint64_t tag, events side) noexcept {
    return side == writable ? tag | writable_bit : tag;
  }
  static std::uint64_t data_of(const operation& what) noexcept {
    return reinterpret_cast<std::uintptr_t>(&what) | operation_bit;
  }

  /// Into the queue. `now`: hands it over, and what stands before it, even if nobody sleeps.
  void submit(const uring::submission& what, bool now) noexcept;
  /// There is room. Where the queue ends now.
  std::uint32_t put_locked(const uring::submission& what) noexcept;
  /// What stands before `end`; returns when the kernel has it.
  void hand_over(std::uint32_t end) noexcept;
  std::uint32_t waiting_locked() const noexcept;
  /// What stands in the queue, which is handed over by the caller; from now on somebody sleeps.
  std::uint32_t begin_wait(bool sleeps) noexcept;
  void end_wait() noexcept;
  void watch_others() noexcept;

  std::uint32_t reap(uring::completion* to, std::uint32_t most) noexcept;
  void tell(const uring::completion& of, bool waits, sink& to) noexcept;
  static std::uint32_t translate(std::int32_t result, events side) noexcept;

  queues queues_;
  lock submitting_;
  typename System::template plain<bool> sleeps_ = false;  // under it
  lock reaping_;
  atomic<bool> woken_{false};
  atomic<bool> watches_others_{false};
  atomic<std::uint32_t> descriptors_{0};
  typename System::others others_;
};

#if THRUM_SEPARATE
extern template class basic_io_uring<io_uring_system>;
#endif
using io_uring = basic_io_uring<io_uring_system>;

}}}  // namespace thrum::THRUM_ABI::netpoll

#if !THRUM_SEPARATE
#include <thrum/netpoll/io_uring_definition.hpp>
#endif

#endif  // THRUM_OS_LINUX
#endif
