// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How the io_uring poller hands requests to the kernel, and what it makes of those that have completed. For
// io_uring.hpp alone, which has the essay.
#ifndef THRUM_DETAIL_NETPOLL_IO_URING_QUEUE_HPP
#define THRUM_DETAIL_NETPOLL_IO_URING_QUEUE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/netpoll/contract.hpp>
#include <thrum/detail/netpoll/io_uring.hpp>

#if THRUM_OS_LINUX

#include <thrum/detail/base/order.hpp>
#include <thrum/detail/netpoll/io_uring_system.hpp>
#include <thrum/detail/os/os.hpp>

#include <cerrno>
#include <cstdint>

#include <poll.h>

namespace thrum { inline namespace THRUM_ABI { namespace netpoll {

template <class System>
THRUM_OUT_OF_LINE void basic_io_uring<System>::submit(const uring::submission& what,
                                                      bool now) noexcept {
  submitting_.lock();
  while (waiting_locked() > queues_.submission_mask) {
    const std::uint32_t all = waiting_locked();
    submitting_.unlock();  // the kernel may take none before a thread has reaped
    if (queues_.enter(all, false, 0) != 0) {
      System::yield();
    }
    submitting_.lock();
  }
  const std::uint32_t end = put_locked(what);
  now = now || sleeps_;
  submitting_.unlock();
  if (now) {
    hand_over(end);
  }
}

template <class System>
THRUM_OUT_OF_LINE void basic_io_uring<System>::hand_over(std::uint32_t end) noexcept {
  for (;;) {
    const std::uint32_t waiting = end - from_kernel(*queues_.submission_head);
    if (static_cast<std::int32_t>(waiting) <= 0) {
      return;
    }
    const int error = queues_.enter(waiting, false, 0);
    if (error != 0) {
      if (error != uring::no_memory_now) {
        return;  // there is much to be reaped: no thread sleeps, and the next poll hands it over
      }
      System::yield();
    }
  }
}

template <class System>
THRUM_OUT_OF_LINE std::uint32_t basic_io_uring<System>::put_locked(
    const uring::submission& what) noexcept {
  // relaxed: only we write it, under the lock
  const std::uint32_t tail = queues_.submission_tail->load(relaxed);
  queues_.submissions[tail & queues_.submission_mask] = what;
  to_kernel(*queues_.submission_tail, tail + 1);
  return tail + 1;
}

template <class System>
THRUM_OUT_OF_LINE std::uint32_t basic_io_uring<System>::waiting_locked() const noexcept {
  // relaxed: only we write it, under the lock
  return queues_.submission_tail->load(relaxed) - from_kernel(*queues_.submission_head);
}

template <class System>
THRUM_OUT_OF_LINE std::uint32_t basic_io_uring<System>::begin_wait(bool sleeps) noexcept {
  submitting_.lock();
  const std::uint32_t waiting = waiting_locked();
  sleeps_ = sleeps;
  submitting_.unlock();
  return waiting;
}

template <class System>
THRUM_OUT_OF_LINE void basic_io_uring<System>::end_wait() noexcept {
  submitting_.lock();
  sleeps_ = false;
  submitting_.unlock();
}

template <class System>
THRUM_OUT_OF_LINE void basic_io_uring<System>::watch_others() noexcept {
  uring::submission request{};
  request.opcode = uring::op_poll_add;
  request.fd = others_.native_handle();
  request.operation_flags = poll_mask(POLLIN);
  request.user_data = others_tag;
  submit(request, false);
}

template <class System>
THRUM_OUT_OF_LINE std::uint32_t basic_io_uring<System>::reap(uring::completion* to,
                                                             std::uint32_t most) noexcept {
  // relaxed: only the thread that reaps writes it
  std::uint32_t head = queues_.completion_head->load(relaxed);
  const std::uint32_t there = from_kernel(*queues_.completion_tail) - head;
  const std::uint32_t n = there < most ? there : most;
  for (std::uint32_t i = 0; i != n; ++i, ++head) {
    to[i] = queues_.completions[head & queues_.completion_mask];
  }
  to_kernel(*queues_.completion_head, head);
  // What they complete was written before it was submitted. The kernel keeps that order; a race
  // detector, which does not see the kernel, needs this.
  submitting_.see();
  return n;
}

template <class System>
THRUM_OUT_OF_LINE void basic_io_uring<System>::tell(const uring::completion& of, bool waits,
                                                    sink& to) noexcept {
  if ((of.user_data & operation_bit) != 0) {
    descriptors_.take();
    auto& done = *reinterpret_cast<operation*>(of.user_data & ~operation_bit);
    done.finish(done, to, of.result == -ECANCELED ? os::interrupted : of.result);
    return;
  }
  switch (of.user_data) {
    case alarm_tag:
      if (waits) {
        woken_.exchange(false, seq_cst);  // [ur.wake =] seq_cst: sees what the waker did
      }
      return;
    case others_tag:
      others_.poll(0, to);
      watch_others();
      return;
    case nobodys_tag: return;
    default: break;
  }
  const events side = (of.user_data & writable_bit) != 0 ? writable : readable;
  to.deliver(to, of.user_data & ~writable_bit, translate(of.result, side));
}

template <class System>
THRUM_OUT_OF_LINE std::uint32_t basic_io_uring<System>::translate(std::int32_t result,
                                                                  events side) noexcept {
  const std::uint32_t answer = side == readable ? asked_readable : asked_writable;
  if (result < 0) {
    return answer | side;  // the waiter calls again, and learns more
  }
  return answer | side |
         ((result & (POLLRDHUP | POLLHUP | POLLERR)) != 0 ? std::uint32_t{unusual} : 0U);
}

}}}  // namespace thrum::THRUM_ABI::netpoll

#endif  // THRUM_OS_LINUX
#endif  // THRUM_DETAIL_NETPOLL_IO_URING_QUEUE_HPP
