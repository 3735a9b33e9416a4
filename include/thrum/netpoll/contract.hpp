// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a poller must provide.
//
// The scheduler knows a poller by nine operations. A descriptor is a number of the system's and a
// tag of the scheduler's; the poller hands the tag back with each event and does not know what is
// behind it. A tag is used for one registration only, so an event that was on its way when its
// descriptor was closed, and that arrives when the number belongs to another one, wakes nobody.
//
//   open()            Makes the poller usable. Called once, before any other operation. Returns 0
//                     or an errno value.
//   close()           Gives everything back. No thread is inside any operation.
//   add(fd, tag)      Reports from now on each moment at which the descriptor becomes readable,
//                     writable or broken (edge-triggered), what it is now included. 0 or an errno
//                     value; EPERM: it is of a kind that is always ready.
//   remove(fd)        Ends that. Events that another thread has fetched may still be delivered.
//   arm_first(fd, tag, events)  Reports once when one of `events` is true, in a name space of its
//                     own: the descriptor may be added as well. 0 or an errno value.
//   arm(fd, tag, events)  The same for a number that was armed before, in its place. ENOENT: it was
//                     not, or it belongs to another open file by now, of which a poller that cannot
//                     tell says nothing.
//   poll(delay, sink) Waits for events and gives each to the sink, which collects the goroutines
//                     that they make runnable. delay < 0: for ever, 0: do not wait, > 0: at most so
//                     many nanoseconds. May come back early at any time. At most one thread is
//                     inside a poll that waits (the scheduler guarantees it); any number may be
//                     inside poll(0).
//   wake()            Ends the waiting poll, or the next one if none is under way. Any thread; may
//                     be called from a signal handler; wakes coalesce.
//   descriptors()     How many are added; one more if any was ever armed. 0 means that polling
//                     cannot make anything runnable.
//
// A system that reports completion instead (IOCP) fits: there `add` associates the handle with the
// port, and the sink finds the operation by the tag.
//
// A poller allocates nothing inside poll and wake, and calls nothing that takes a lock which a
// preempted goroutine might hold.
#ifndef THRUM_NETPOLL_CONTRACT_HPP
#define THRUM_NETPOLL_CONTRACT_HPP

#include <thrum/base/config.hpp>

#include <concepts>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace netpoll {

/// A goroutine as a poller sees it: a link and nothing else. The scheduler's G derives from it.
struct ready_node {
  ready_node* ready_next = nullptr;
};

/// The goroutines that one poll made runnable, in that order, linked by `ready_next`.
struct ready_list {
  ready_node* head = nullptr;
  ready_node* tail = nullptr;
  std::uint32_t size = 0;

  void push_back(ready_node& node) noexcept {
    node.ready_next = nullptr;
    (tail != nullptr ? tail->ready_next : head) = &node;
    tail = &node;
    ++size;
  }

  ready_node* pop_front() noexcept {
    ready_node* const first = head;
    if (first != nullptr) {
      head = first->ready_next;
      tail = head != nullptr ? tail : nullptr;
      --size;
    }
    return first;
  }
};

/// What an event says, and what arm() waits for.
enum events : std::uint32_t {
  readable = 1,
  writable = 2,
  /// The peer has closed, something is out of line, or an error is pending: what comes is not
  /// simply more of the stream. Comes with `readable` or `writable`.
  unusual = 4,
};

/// What takes the events of one poll.
struct sink {
  void (*deliver)(sink& self, std::uint64_t tag, std::uint32_t events) noexcept;
  /// Tells that the event with this tag will be delivered soon; may be null.
  void (*announce)(std::uint64_t tag) noexcept = nullptr;
};

// clang-format 14 takes what follows `noexcept` for a statement of its own.
// clang-format off

/// What takes part as a poller; each operation as the head of this file says.
template <class Poller>
concept poller_contract = requires(Poller& poller, const Poller& constant, std::int64_t delay_ns,
                                   int fd, std::uint64_t tag, std::uint32_t events, sink& to) {
  { poller.open() } noexcept -> std::same_as<int>;
  { poller.close() } noexcept -> std::same_as<void>;
  { poller.add(fd, tag) } noexcept -> std::same_as<int>;
  { poller.remove(fd) } noexcept -> std::same_as<void>;
  { poller.arm_first(fd, tag, events) } noexcept -> std::same_as<int>;
  { poller.arm(fd, tag, events) } noexcept -> std::same_as<int>;
  { poller.poll(delay_ns, to) } noexcept -> std::same_as<void>;
  { poller.wake() } noexcept -> std::same_as<void>;
  { constant.descriptors() } noexcept -> std::same_as<std::uint32_t>;
};

// clang-format on

}}}  // namespace thrum::THRUM_ABI::netpoll

#endif
