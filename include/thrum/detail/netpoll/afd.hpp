// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The poller of Windows: a completion port, and readiness of sockets from the driver behind them.
//
// Purpose
//   A port tells of operations that have ended. What becomes ready is such an operation, too: the
//   driver of sockets (AFD) completes a request when one of the events happens that it names. So
//   what is asked for here (asks_each_time in contract.hpp) is one request, which says once that a
//   side of a socket is ready, also if it is already.
//
// Requests
//   The system writes into a request until it has ended. So a request belongs to the poller and not
//   to the goroutine that asked: the goroutine may be gone. Its socket may be closed, which ends the
//   request with a tag that no registration has any more. Requests lie in slabs, which are given back
//   at the end; a list has the free ones.
//
// Arming
//   What was armed is one request of each descriptor: it stands in a table by the descriptor's number
//   until its packet has come; arm() of that number ends it first. Else every wait that times
//   out would leave a request of its own with the system, for as long as the socket lives.
//   The system ends a request when its socket is closed, and says so: the waiters hear it at once.
//
// Waking
//   A packet that is posted to the port. `woken_` says that one is on its way: wakes coalesce. A poll
//   that does not wait posts the packet again, for the one that waits.
//
// The port's own rule: it lets no more threads have packets than it was made for, and counts those
// that run. Ms run goroutines after a poll, so it is made for any number.
//
// Delays are in milliseconds here, rounded up.
//
// Pipes and children: object_waits.hpp.
//
// Why requests and not operations that complete, nor ProcessSocketNotifications: decision 23.
//
// Source: the requests of AFD are not documented; their layout is known from wepoll, libuv and mio.
#ifndef THRUM_DETAIL_NETPOLL_AFD_HPP
#define THRUM_DETAIL_NETPOLL_AFD_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/netpoll/contract.hpp>  // IWYU pragma: keep

#if THRUM_OS_WINDOWS

#include <thrum/detail/base/order.hpp>
#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/netpoll/object_waits.hpp>
#include <thrum/detail/os/handle.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace netpoll {

using namespace base::orders;

class afd {
 public:
  constexpr afd() noexcept = default;
  afd(const afd&) = delete;
  afd& operator=(const afd&) = delete;
  ~afd() { close(); }

  int open() noexcept;
  void close() noexcept;

  static constexpr bool asks_each_time() noexcept { return true; }

  /// Only counts, and looks whether it is a socket or a pipe of ours: os::always_ready if not.
  int add(os::handle fd, std::uint64_t tag) noexcept;
  /// What was asked for of a socket ends when that is closed.
  void remove(os::handle fd, std::uint64_t tag, std::uint32_t asked) noexcept;
  void remove(os::handle fd) noexcept { remove(fd, 0, 0); }
  void ask(os::handle fd, std::uint64_t tag, events side, bool now) noexcept;

  /// os::not_armed: what it was armed for is closed, and the number belongs to another socket.
  int arm(os::handle fd, std::uint64_t tag, std::uint32_t what) noexcept;
  int arm_first(os::handle fd, std::uint64_t tag, std::uint32_t what) noexcept;

  void poll(std::int64_t delay_ns, sink& to) noexcept;
  void wake() noexcept;

  std::uint32_t descriptors() const noexcept {
    return descriptors_.get() + (has_armed_.get() ? 1 : 0);
  }

  /// How many requests the system has not answered, or whose answer was not fetched yet.
  std::uint32_t requests() noexcept { return under_way_.get() + objects_.size(); }

 private:
  struct request;
  struct slab;

  // What a packet is about: its key.
  static constexpr std::uintptr_t of_request = 1;
  static constexpr std::uintptr_t of_wake = 2;
  static constexpr std::uintptr_t of_refusal = 3;  // of a request; in place of it, its tag
  static constexpr std::uintptr_t of_object = 4;   // of `objects_`

  static constexpr unsigned at_once = 128;  // events of one look; from Go
  /// A way to the driver slows down with the number of requests on it.
  static constexpr unsigned ways = 16;
  static constexpr unsigned rows = 64;  // of the table of what is armed

  int submit(os::handle fd, std::uint64_t tag, std::uint32_t what, std::uint32_t answer) noexcept;
  std::int32_t submit_once(os::handle fd, request& what) noexcept;
  bool end_armed(os::handle fd) noexcept;
  request* take_free(os::handle fd, std::uint64_t tag, std::uint32_t answer) noexcept;
  std::uint64_t give_back(request& done) noexcept;
  bool make_free_locked() noexcept;
  void post(std::uintptr_t key, std::uint64_t about) noexcept;
  void tell(std::uintptr_t key, std::uintptr_t about, bool waits, sink& to) noexcept;

  os::handle port_ = os::no_handle;
  object_waits objects_;
  os::handle ways_[ways] = {};
  afd_lock requests_;
  request* free_ = nullptr;    // under it
  slab* slabs_ = nullptr;      // under it
  request* armed_[rows] = {};  // under it
  std::atomic<bool> woken_{false};
  // A goroutine that waits has set the one, or added to the other, before it looks.
  base::hint<bool> has_armed_{false};
  base::shared_figure<std::uint32_t> descriptors_{0};
  base::shared_figure<std::uint32_t> under_way_{0};  // requests that the system has
};

}}}  // namespace thrum::THRUM_ABI::netpoll

#if THRUM_BODIES
#include <thrum/detail/netpoll/afd_request.hpp>
#include <thrum/detail/os/memory_parts.hpp>
#include <thrum/detail/os/windows/pipe.hpp>

#include <climits>
#include <new>

#include <mswsock.h>
#include <winternl.h>

namespace thrum { inline namespace THRUM_ABI { namespace netpoll {

THRUM_NOINLINE THRUM_OUT_OF_LINE int afd::open() noexcept {
  const ::HANDLE port = ::CreateIoCompletionPort(INVALID_HANDLE_VALUE, nullptr, 0, INT_MAX);
  if (port == nullptr) {
    return -static_cast<int>(::GetLastError());
  }
  port_ = thrums(port);
  for (os::handle& way : ways_) {
    way = open_way_to_afd(port_, of_request);
    if (way == 0) {
      close();
      return os::not_supported;
    }
  }
  return 0;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void afd::close() noexcept {
  if (port_ == os::no_handle) {
    return;
  }
  for (const os::handle way : ways_) {
    if (way != 0) {
      ::CancelIoEx(native(way), nullptr);
    }
  }
  struct nobody : sink {
    nobody() : sink{[](sink&, std::uint64_t, std::uint32_t) noexcept {}} {}
  } to;
  objects_.cancel_all();
  while (under_way_.get() != 0 || objects_.size() != 0) {
    poll(-1, to);
  }
  for (os::handle& way : ways_) {
    if (way != 0) {
      ::CloseHandle(native(way));
      way = 0;
    }
  }
  ::CloseHandle(native(port_));
  port_ = os::no_handle;
  free_ = nullptr;
  while (slab* const last = slabs_) {
    slabs_ = last->next;
    os::unmap(last, slab::size);
  }
  // relaxed: no thread is inside
  woken_.store(false, relaxed);
  has_armed_.set(false);
  descriptors_.set(0);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE int afd::add(os::handle fd, std::uint64_t /*tag*/) noexcept {
  int type = 0;
  int size = sizeof type;
  if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, reinterpret_cast<char*>(&type), &size) != 0) {
    const int error = ::WSAGetLastError();
    if (error != WSAENOTSOCK) {
      return -error;
    }
    if (!os::is_own_pipe(fd)) {
      return os::always_ready;
    }
  }
  descriptors_.add();
  return 0;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void afd::remove(os::handle /*fd*/, std::uint64_t tag,
                                                  std::uint32_t asked) noexcept {
  if (asked != 0) {
    objects_.cancel(tag);
  }
  descriptors_.take();
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void afd::ask(os::handle fd, std::uint64_t tag, events side,
                                               bool /*now*/) noexcept {
  const std::uint32_t answer = side == readable ? asked_readable : asked_writable;
  if (submit(fd, tag, side, answer) != 0) {
    // The waiter calls again, and learns more.
    post(of_refusal, tag | (side == writable ? std::uint64_t{1} << 63 : 0));
  }
}

THRUM_NOINLINE THRUM_OUT_OF_LINE int afd::arm(os::handle fd, std::uint64_t tag,
                                              std::uint32_t what) noexcept {
  has_armed_.set(true);
  return end_armed(fd) ? submit(fd, tag, what, 0) : os::not_armed;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE int afd::arm_first(os::handle fd, std::uint64_t tag,
                                                    std::uint32_t what) noexcept {
  has_armed_.set(true);
  end_armed(fd);  // of an earlier owner of the number
  return submit(fd, tag, what, 0);
}

/// Ends what is armed of that number. False: it has ended before, as its socket was closed.
THRUM_OUT_OF_LINE bool afd::end_armed(os::handle fd) noexcept {
  objects_.cancel_armed(fd);
  bool is_open = true;
  requests_.lock();
  request** link = &armed_[os::number_of(fd) % rows];
  while (*link != nullptr && (*link)->fd != fd) {
    link = &(*link)->next_armed;
  }
  if (request* const found = *link) {
    *link = found->next_armed;
    // Under the lock its packet cannot be taken, and its memory be another request's. It may have ended,
    // and its packet be on its way.
    const bool is_ended = ::CancelIoEx(native(ways_[os::number_of(fd) % ways]),
                                       reinterpret_cast<::OVERLAPPED*>(&found->status)) == 0;
    is_open = !is_ended || !found->is_of_closed();
    if (!is_ended || !is_open) {
      found->tag.set(0);
    }
  }
  requests_.unlock();
  return is_open;
}

/// 0, or why the system does not do it.
THRUM_OUT_OF_LINE int afd::submit(os::handle fd, std::uint64_t tag, std::uint32_t what,
                                  std::uint32_t answer) noexcept {
  request* const own = take_free(fd, tag, answer);
  if (own == nullptr) {
    return os::no_memory;
  }
  own->info.sockets[0].events = afd_words::events_of(what);
  ::NTSTATUS status = submit_once(fd, *own);
  if (afd_words::is_error(status)) {
    const int instead = objects_.submit(port_, of_object, fd, tag, what, answer);
    if (instead != os::always_ready) {
      give_back(*own);
      return instead;
    }
    // A provider that stands before the system's own has sockets that the driver does not know.
    ::SOCKET base = INVALID_SOCKET;
    ::DWORD size = 0;
    if (::WSAIoctl(fd, SIO_BASE_HANDLE, nullptr, 0, &base, sizeof base, &size, nullptr, nullptr) ==
            0 &&
        base != fd) {
      status = submit_once(base, *own);
    }
  }
  if (!afd_words::is_error(status)) {
    return 0;
  }
  give_back(*own);
  return -static_cast<int>(::RtlNtStatusToDosError(status));
}

THRUM_OUT_OF_LINE std::int32_t afd::submit_once(os::handle fd, request& what) noexcept {
  what.info.timeout.QuadPart = INT64_MAX;
  what.info.count = 1;
  what.info.exclusive = 0;
  what.info.sockets[0].socket = native(fd);
  what.info.sockets[0].status = 0;
  what.status.Status = afd_words::pending;
  under_way_.add();
  const ::HANDLE way = native(ways_[os::number_of(fd) % ways]);
  const ::NTSTATUS status =
      ::NtDeviceIoControlFile(way, nullptr, nullptr, &what, &what.status, afd_words::poll,
                              &what.info, sizeof what.info, &what.info, sizeof what.info);
  if (afd_words::is_error(status)) {
    under_way_.take();
  }
  return status;
}

THRUM_OUT_OF_LINE void afd::post(std::uintptr_t key, std::uint64_t about) noexcept {
  while (::PostQueuedCompletionStatus(native(port_), 0, key,
                                      reinterpret_cast<::OVERLAPPED*>(about)) == 0) {
    ::Sleep(1);  // the system is out of memory for the moment
  }
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void afd::wake() noexcept {
  // [af.wake =] seq_cst: before the look of the poll that finds the packet
  if (!woken_.exchange(true, seq_cst)) {
    post(of_wake, 0);
  }
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void afd::poll(std::int64_t delay_ns, sink& to) noexcept {
  constexpr std::int64_t millisecond = 1'000'000;
  constexpr std::int64_t longest = INT_MAX;
  const std::int64_t delay_ms =
      delay_ns / millisecond + (delay_ns > 0 && delay_ns % millisecond != 0 ? 1 : 0);
  ::OVERLAPPED_ENTRY found[at_once];
  ::ULONG n = 0;
  const ::DWORD wait =
      delay_ns < 0 ? INFINITE : static_cast<::DWORD>(delay_ms < longest ? delay_ms : longest);
  if (::GetQueuedCompletionStatusEx(native(port_), found, at_once, &n, wait, FALSE) == 0) {
    return;
  }
  for (::ULONG i = 0; i != n && to.announce != nullptr; ++i) {
    if (found[i].lpCompletionKey == of_object) {
      to.announce(object_waits::tag_of(reinterpret_cast<std::uintptr_t>(found[i].lpOverlapped)));
    } else if (found[i].lpCompletionKey == of_request) {
      to.announce(reinterpret_cast<const request*>(found[i].lpOverlapped)->tag.peek());
    }
  }
  for (::ULONG i = 0; i != n; ++i) {
    tell(found[i].lpCompletionKey, reinterpret_cast<std::uintptr_t>(found[i].lpOverlapped),
         delay_ns != 0, to);
  }
}

THRUM_OUT_OF_LINE void afd::tell(std::uintptr_t key, std::uintptr_t about, bool waits,
                                 sink& to) noexcept {
  if (key == of_wake) {
    if (waits) {
      woken_.exchange(false, seq_cst);  // [af.wake =] seq_cst: sees what the waker did
    } else {
      post(of_wake, 0);
    }
    return;
  }
  if (key == of_refusal) {
    constexpr std::uintptr_t writes = std::uintptr_t{1} << 63;
    const std::uint32_t answer =
        (about & writes) != 0 ? asked_writable | writable : asked_readable | readable;
    to.deliver(to, about & ~writes, answer);
    return;
  }
  if (key == of_object) {
    const object_waits::told about_it = objects_.take(about);
    if (about_it.tag != 0) {
      to.deliver(to, about_it.tag, about_it.events | about_it.answer);
    }
    return;
  }
  auto& done = *reinterpret_cast<request*>(about);
  const std::uint32_t answer = done.answer;
  const bool is_gone = answer == 0 && done.is_of_closed();
  const bool has_failed = afd_words::is_error(done.status.Status);
  const std::uint32_t events =
      has_failed ? std::uint32_t{readable} | writable
                 : afd_words::translate(done.info.count != 0 ? done.info.sockets[0].events : 0);
  under_way_.take();
  if (const std::uint64_t tag = give_back(done); tag != 0) {
    // Reports what was asked for in any case: the waiter calls again, and learns more.
    to.deliver(
        to, tag,
        is_gone ? std::uint32_t{gone} : events | answer | answer / asked_readable * readable);
  }
}

}}}  // namespace thrum::THRUM_ABI::netpoll
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_DETAIL_NETPOLL_AFD_HPP
