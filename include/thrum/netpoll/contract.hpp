// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a poller must provide.
//
// The scheduler knows a poller by five operations. They fit a system that reports readiness
// (epoll, kqueue), one that reports completion (IOCP), and none at all.
//
//   open()            Makes the poller usable. Called once, before any other operation. Returns 0
//                     or an errno value.
//   close()           Gives everything back. No thread is inside poll.
//   poll(delay)       Waits for events and returns the goroutines that they make runnable, as
//                     opaque nodes in the order in which they became ready. delay < 0: for ever,
//                     0: do not wait, > 0: at most so many nanoseconds. An empty list may come
//                     back early at any time. At most one thread is inside a poll that waits
//                     (the scheduler guarantees it); any number may be inside poll(0).
//   wake()            Ends the waiting poll, or the next one if none is under way. Any thread; may
//                     be called from a signal handler; wakes coalesce.
//   waiters()         How many goroutines are parked on descriptors: 0 means that polling cannot
//                     make anything runnable.
//
// A poller allocates nothing inside poll and wake and calls nothing that takes a lock which a
// preempted goroutine might hold.
#ifndef THRUM_NETPOLL_CONTRACT_HPP
#define THRUM_NETPOLL_CONTRACT_HPP

#include <thrum/base/config.hpp>

#include <concepts>
#include <cstdint>

namespace thrum::inline THRUM_ABI::netpoll {

/// A goroutine as a poller sees it: a link and nothing else. The scheduler's G derives from it.
struct ready_node {
  ready_node* ready_next = nullptr;
};

/// The goroutines that one poll made runnable, first in `head`, linked by `ready_next`.
struct ready_list {
  ready_node* head = nullptr;
  std::uint32_t size = 0;
};

template <class Poller>
concept poller_contract = requires(Poller& poller, const Poller& constant, std::int64_t delay_ns) {
  { poller.open() } noexcept -> std::same_as<int>;
  { poller.close() } noexcept;
  { poller.poll(delay_ns) } noexcept -> std::same_as<ready_list>;
  { poller.wake() } noexcept;
  { constant.waiters() } noexcept -> std::same_as<std::uint32_t>;
};

}  // namespace thrum::inline THRUM_ABI::netpoll

#endif
