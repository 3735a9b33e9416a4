// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a poller must provide.
//
// The scheduler knows a poller by nine operations. A descriptor is a handle of the system's and a
// tag of the scheduler's; the poller hands the tag back with each event and does not know what is
// behind it. A tag is used for one registration only. So an event that was on its way when its
// descriptor was closed wakes no goroutine, even if its number belongs to another descriptor by now.
//
//   open()            Makes the poller usable. Called once, before any other operation. Returns 0
//                     or an error below zero.
//   close()           Gives everything back. No thread is inside any operation.
//   add(fd, tag)      Reports from now on each moment at which the descriptor becomes readable,
//                     writable or broken (edge-triggered), what it is now included. 0 or an error
//                     below zero; os::always_ready: of such a kind it is, os::already_added: by now.
//   remove(fd)        Ends that. Events that another thread has fetched may still be delivered.
//   arm_first(fd, tag, events)  Reports once when one of `events` is true, in a name space of its
//                     own: the descriptor may be added as well. 0 or an error below zero. A poller that
//                     hears of it also reports when the descriptor is closed instead: `gone`.
//   arm(fd, tag, events)  As arm_first, in place of what that number was armed for before.
//                     os::not_armed: it was not armed, or it belongs to another open file by now; a
//                     poller that cannot tell does not report the latter.
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
// A poller may have more operations, which the functions of the same names ask for:
//
//   open(choice)      In place of open(), if there is something to choose from; chosen() then says
//                     which it is, as a system may not give what was wanted.
//   asks_each_time()  Whether it reports only what it was asked for. Then
//   ask(fd, tag, side, now)   reports once when `side` is true, also if it is true already; the
//                     event says that it is the answer, and `side` is not asked for again before
//                     that. `now`: no thread that has a P will poll soon.
//   remove(fd, tag, asked)    in place of remove(fd), with the sides that are not answered yet.
//   completes()       Whether operations can be handed over that the system completes by itself:
//   start(operation)  begins one. Its memory, and the buffer, are the system's until `finish` is
//                     called, in a poll, with what the operation has done.
//   cancel(operation) makes it end soon, if it can be. `finish` is called in any case.
//
// A poller allocates nothing inside poll and wake, and calls nothing that takes a lock which a
// preempted goroutine might hold.
#ifndef THRUM_DETAIL_NETPOLL_CONTRACT_HPP
#define THRUM_DETAIL_NETPOLL_CONTRACT_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/handle.hpp>

#include <concepts>
#include <cstddef>
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
  /// The answer of ask(): comes with others.
  asked_readable = 8 * readable,
  asked_writable = 8 * writable,
  /// What was armed is closed. Comes alone.
  gone = 32,
};

/// Which of several pollers that a system has.
enum class choice : std::uint8_t { usual, io_uring };

struct sink;

/// An operation of the system on a descriptor while its goroutine is parked.
struct operation {
  enum kind_type : std::uint8_t {
    receive,  // from a socket
    read,     // from a file, from `offset` on
    write,    // to a file, from `offset` on
  };
  static constexpr std::int64_t at_position = -1;  // an offset: where the file stands, which moves

  kind_type kind = receive;
  os::handle fd = os::no_handle;
  void* data = nullptr;
  std::size_t size = 0;
  std::int64_t offset = at_position;
  /// `result`: a count, or an error below zero; os::interrupted: nothing was done, or it was
  /// cancelled. The operation is gone when this returns.
  void (*finish)(operation& self, sink& to, std::int64_t result) noexcept = nullptr;
};

/// The receiver of the events of one poll.
struct sink {
  void (*deliver)(sink& self, std::uint64_t tag, std::uint32_t events) noexcept;
  /// Tells that the event with this tag will be delivered soon; may be null.
  void (*announce)(std::uint64_t tag) noexcept = nullptr;
};

// clang-format 14 takes what follows `noexcept` for a statement of its own.
// clang-format off

/// A poller: the head of this file says what each operation does.
template <class Poller>
concept poller_contract = requires(Poller& poller, const Poller& constant, std::int64_t delay_ns,
                                   os::handle fd, std::uint64_t tag, std::uint32_t events, sink& to) {
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

// ---- what not every poller has -----------------------------------------------------------------

template <class Poller>
int open(Poller& poller, choice wanted) noexcept {
  if constexpr (requires { poller.open(wanted); }) {
    return poller.open(wanted);
  } else {
    return poller.open();
  }
}

template <class Poller>
choice chosen(const Poller& poller) noexcept {
  if constexpr (requires { poller.chosen(); }) {
    return poller.chosen();
  } else {
    return choice::usual;
  }
}

template <class Poller>
bool asks_each_time(const Poller& poller) noexcept {
  if constexpr (requires { poller.asks_each_time(); }) {
    return poller.asks_each_time();
  } else {
    return false;
  }
}

template <class Poller>
void ask(Poller& poller, os::handle fd, std::uint64_t tag, events side, bool now) noexcept {
  if constexpr (requires { poller.ask(fd, tag, side, now); }) {
    poller.ask(fd, tag, side, now);
  }
}

template <class Poller>
void remove(Poller& poller, os::handle fd, std::uint64_t tag, std::uint32_t asked) noexcept {
  if constexpr (requires { poller.remove(fd, tag, asked); }) {
    poller.remove(fd, tag, asked);
  } else {
    poller.remove(fd);
  }
}

template <class Poller>
bool completes(const Poller& poller) noexcept {
  if constexpr (requires { poller.completes(); }) {
    return poller.completes();
  } else {
    return false;
  }
}

template <class Poller>
void start(Poller& poller, operation& what) noexcept {
  if constexpr (requires { poller.start(what); }) {
    poller.start(what);
  }
}

template <class Poller>
void cancel(Poller& poller, operation& what) noexcept {
  if constexpr (requires { poller.cancel(what); }) {
    poller.cancel(what);
  }
}

}}}  // namespace thrum::THRUM_ABI::netpoll

#endif
