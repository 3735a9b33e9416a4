// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Another poller of Linux: a ring of io_uring, chosen by options::poller in a program that includes
// <thrum/io_uring.hpp>.
//
// Purpose
//   Operations that complete: the kernel receives into the goroutine's own buffer and reads files
//   while no thread waits for them, and one call submits what many goroutines have asked for. And
//   readiness for all else, which has to be asked for each time (asks_each_time in contract.hpp):
//   what IOCP and AFD on Windows are like, tried on Linux.
//
// Submitting
//   Requests are put into the queue under `submitting_` and are handed over by the next poll, which
//   enters the kernel anyway; or at once, if some thread sleeps in the poller (`sleeps_`) and would
//   not see them, or if the caller says so. A thread that hands over returns when the kernel has taken
//   its request: a call ends at one that the kernel refuses at once, and leaves what stands behind.
//
// Reaping
//   One thread at a time, under `reaping_`, which a poll that waits holds all the time. Other threads
//   find nothing then: the scheduler lets no M poll beside a thread that sleeps here.
//
// Waking
//   A request that does nothing, which completes at once. `woken_` is the wake: a poll that finds it
//   before it sleeps does not; the completion only ends the sleep of one that missed it, and only a
//   poll that waits clears it then. A signal handler that wakes never interrupts a thread in here.
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
//   os::interrupted. The waiter calls again.
//
// Nor does a file end before the requests that name it, and those end on the thread that submitted
// them, a moment after their cancellation. So the work of a last close() may fall to that thread. It
// is short, but for a socket with linger(seconds) whose peer does not read: that thread, which may be
// the one in the poller, then waits in place of the one that closes. (Measured: 1.03 s for a second.)
//
// Descriptors of others (arm) stay with an epoll, which is itself watched by the ring: the kernel
// keeps the file of a request open, so a ring never learns that a program has closed a number.
//
// Source: the kernel's io_uring.c and the manual pages of io_uring_setup(2) and io_uring_enter(2).
#ifndef THRUM_DETAIL_NETPOLL_IO_URING_HPP
#define THRUM_DETAIL_NETPOLL_IO_URING_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/netpoll/contract.hpp>

#if THRUM_OS_LINUX

#include <thrum/detail/base/order.hpp>
#include <thrum/detail/netpoll/io_uring_system.hpp>
#include <thrum/detail/os/handle.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace netpoll {

using namespace base::orders;

/// Held for some lines, or, by the thread that sleeps in the kernel, for long: then no thread waits for it.
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

  std::uint32_t descriptors() const noexcept { return descriptors_.get() + others_.descriptors(); }

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

  /// Puts it into the queue. `now`: hands it and all before it over, even if no thread sleeps.
  void submit(const uring::submission& what, bool now) noexcept;
  /// Puts it into the queue, which has room. Returns where the queue ends now.
  std::uint32_t put_locked(const uring::submission& what) noexcept;
  /// Hands over what stands before `end`; returns when the kernel has it.
  void hand_over(std::uint32_t end) noexcept;
  std::uint32_t waiting_locked() const noexcept;
  /// Returns how many requests the caller is to hand over. `sleeps`: it sleeps in the kernel from now on.
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
  base::hint<bool, atomic<bool>> watches_others_{false};
  // A goroutine that waits has added its descriptor before it looks.
  base::shared_figure<std::uint32_t, atomic<std::uint32_t>> descriptors_{0};
  typename System::others others_;
};

#if THRUM_SEPARATE
extern template class basic_io_uring<io_uring_system>;
#endif
using io_uring = basic_io_uring<io_uring_system>;

}}}  // namespace thrum::THRUM_ABI::netpoll

#if THRUM_TEMPLATE_BODIES
#include <thrum/detail/netpoll/io_uring_queue.hpp>
#include <thrum/detail/netpoll/netpoll.hpp>
#include <thrum/detail/os/os.hpp>

#include <cerrno>
#include <cstddef>
#include <new>

#include <poll.h>

namespace thrum { inline namespace THRUM_ABI { namespace netpoll {

template <class System>
void ring_lock<System>::lock() noexcept {
  while (!try_lock()) {
    System::yield();
  }
}

template <class System>
int basic_io_uring<System>::open() noexcept {
  if (const int error = queues_.open(submissions_at_once, completions_at_once); error != 0) {
    return error;
  }
  const int error = others_.open_descriptors();  // later there may be none
  if (error != 0) {
    queues_.close();
  }
  return error;
}

template <class System>
void basic_io_uring<System>::close() noexcept {
  queues_.close();
  others_.close();
  watches_others_.set(false);
  descriptors_.set(0);
}

template <class System>
THRUM_OUT_OF_LINE int basic_io_uring<System>::add(os::handle /*fd*/,
                                                  std::uint64_t /*tag*/) noexcept {
  descriptors_.add();
  return 0;
}

template <class System>
void basic_io_uring<System>::remove(os::handle /*fd*/, std::uint64_t tag,
                                    std::uint32_t asked) noexcept {
  // At once: a request keeps the file open, and its peer would not learn of the end.
  for (const events side : {readable, writable}) {
    if ((asked & side) != 0) {
      uring::submission end{};
      end.opcode = uring::op_async_cancel;
      end.fd = -1;
      end.address = data_of(tag, side);
      end.user_data = nobodys_tag;
      submit(end, true);
    }
  }
  descriptors_.take();
}

template <class System>
void basic_io_uring<System>::ask(os::handle fd, std::uint64_t tag, events side, bool now) noexcept {
  uring::submission request{};
  request.opcode = uring::op_poll_add;
  request.fd = fd;
  // Not POLLPRI: the ring reports what it was woken with, and sockets say that with all data.
  request.operation_flags = poll_mask(side == readable ? POLLIN | POLLRDHUP : POLLOUT);
  request.user_data = data_of(tag, side);
  submit(request, now);
}

template <class System>
void basic_io_uring<System>::start(operation& what) noexcept {
  uring::submission request{};
  request.opcode = what.kind == operation::receive ? uring::op_receive
                   : what.kind == operation::read  ? uring::op_read
                                                   : uring::op_write;
  request.fd = what.fd;
  // The receiver has called before: it has found nothing there, or taken all there was.
  request.priority = what.kind == operation::receive && queues_.can_wait_first ? uring::wait_first
                                                                               : std::uint16_t{0};
  request.address = reinterpret_cast<std::uintptr_t>(what.data);
  constexpr std::size_t most = 0x7ffff000;  // as of read(2)
  request.length = static_cast<std::uint32_t>(what.size < most ? what.size : most);
  request.offset = what.kind == operation::receive ? 0 : static_cast<std::uint64_t>(what.offset);
  request.user_data = data_of(what);
  descriptors_.add();
  submit(request, false);
}

template <class System>
void basic_io_uring<System>::cancel(operation& what) noexcept {
  uring::submission end{};
  end.opcode = uring::op_async_cancel;
  end.fd = -1;
  end.address = data_of(what);
  end.user_data = nobodys_tag;
  submit(end, true);
}

template <class System>
int basic_io_uring<System>::arm(os::handle fd, std::uint64_t tag, std::uint32_t what) noexcept {
  return others_.arm(fd, tag, what);
}

template <class System>
int basic_io_uring<System>::arm_first(os::handle fd, std::uint64_t tag,
                                      std::uint32_t what) noexcept {
  const int error = others_.arm_first(fd, tag, what);
  if (error == 0 && !watches_others_.swap(true)) {
    watch_others();
  }
  return error;
}

template <class System>
void basic_io_uring<System>::poll(std::int64_t delay_ns, sink& to) noexcept {
  const bool waits = delay_ns != 0;
  if (waits) {
    reaping_.lock();
    if (woken_.exchange(false, seq_cst)) {  // [ur.wake =] seq_cst: sees what the waker did
      delay_ns = 0;
    }
  } else if (!reaping_.try_lock()) {
    return;
  }
  uring::completion found[at_once];
  std::uint32_t n = reap(found, at_once);
  const bool sleeps = delay_ns != 0 && n == 0;
  const std::uint32_t to_submit = begin_wait(sleeps);
  const bool more = (from_kernel(*queues_.submission_flags) & queues::flags_of_more) != 0;
  if (sleeps || to_submit != 0 || more) {
    queues_.enter(to_submit, sleeps, delay_ns);
    if (sleeps) {
      end_wait();
    }
    n += reap(found + n, at_once - n);
  }
  reaping_.unlock();
  for (std::uint32_t i = 0; i != n && to.announce != nullptr; ++i) {
    if ((found[i].user_data & operation_bit) == 0) {
      to.announce(found[i].user_data & ~writable_bit);
    }
  }
  for (std::uint32_t i = 0; i != n; ++i) {
    tell(found[i], waits, to);
  }
}

template <class System>
void basic_io_uring<System>::wake() noexcept {
  if (woken_.exchange(true,
                      seq_cst)) {  // [ur.wake =] seq_cst: before the look of a poll that waits
    return;
  }
  uring::submission nothing{};
  nothing.opcode = uring::op_nop;
  nothing.fd = -1;
  nothing.user_data = alarm_tag;
  submit(nothing, true);
}

#if THRUM_SEPARATE && THRUM_BODIES
template class basic_io_uring<io_uring_system>;
#endif

#if THRUM_BODIES
/// A ring as linux_poller calls it.
class ring_poller final : public other_poller {
 public:
  int open() noexcept override { return ring_.open(); }
  void close() noexcept override { ring_.close(); }
  int add(os::handle fd, std::uint64_t tag) noexcept override { return ring_.add(fd, tag); }
  void remove(os::handle fd, std::uint64_t tag, std::uint32_t asked) noexcept override {
    ring_.remove(fd, tag, asked);
  }
  void ask(os::handle fd, std::uint64_t tag, events side, bool now) noexcept override {
    ring_.ask(fd, tag, side, now);
  }
  void start(operation& what) noexcept override { ring_.start(what); }
  void cancel(operation& what) noexcept override { ring_.cancel(what); }
  int arm_first(os::handle fd, std::uint64_t tag, std::uint32_t what) noexcept override {
    return ring_.arm_first(fd, tag, what);
  }
  int arm(os::handle fd, std::uint64_t tag, std::uint32_t what) noexcept override {
    return ring_.arm(fd, tag, what);
  }
  void poll(std::int64_t delay_ns, sink& to) noexcept override { ring_.poll(delay_ns, to); }
  void wake() noexcept override { ring_.wake(); }
  std::uint32_t descriptors() const noexcept override { return ring_.descriptors(); }

 private:
  io_uring ring_;
};

THRUM_OUT_OF_LINE other_poller* make_ring() noexcept { return new (std::nothrow) ring_poller; }
#endif

}}}  // namespace thrum::THRUM_ABI::netpoll
#endif

#endif  // THRUM_OS_LINUX
#endif
