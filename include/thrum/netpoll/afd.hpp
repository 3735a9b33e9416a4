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
//   The system writes into a request until it has ended, so a request belongs to the poller and not
//   to the one that asked: the goroutine may be gone, and its socket closed, which ends the request
//   with a tag that nobody has any more. They lie in slabs, which are given back at the end, and those
//   that are free in a list.
//
// Arming
//   What was armed is one request of each descriptor: it stands in a table by the descriptor's number
//   until its packet has come, and who arms that number again ends it first. Else every wait that times
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
#ifndef THRUM_NETPOLL_AFD_HPP
#define THRUM_NETPOLL_AFD_HPP

#include <thrum/base/config.hpp>
#include <thrum/netpoll/contract.hpp>  // IWYU pragma: keep

#if THRUM_OS_WINDOWS

#include <thrum/base/order.hpp>
#include <thrum/netpoll/object_waits.hpp>
#include <thrum/os/handle.hpp>

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
    // relaxed: a goroutine that waits has added before it looks
    return descriptors_.load(relaxed) + (has_armed_.load(relaxed) ? 1 : 0);
  }

  /// What the system has been asked and has not answered, or whose answer was not fetched yet.
  std::uint32_t requests() noexcept {
    return under_way_.load(relaxed) + objects_.size();  // relaxed: a figure for tests
  }

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
  std::atomic<bool> has_armed_{false};
  std::atomic<std::uint32_t> descriptors_{0};
  std::atomic<std::uint32_t> under_way_{0};  // requests that the system has
};

}}}  // namespace thrum::THRUM_ABI::netpoll

#if !THRUM_SEPARATE
#include <thrum/netpoll/afd_definition.hpp>
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_NETPOLL_AFD_HPP
