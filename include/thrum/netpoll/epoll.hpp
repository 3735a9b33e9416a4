// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The poller of Linux: epoll.
//
// Purpose
//   One registration for the life of a descriptor, edge-triggered and for both directions: nothing
//   is armed or disarmed for each wait.
//
// Before the first descriptor
//   There is no epoll yet: the poller sleeps on a note. A program that does no input or output has
//   neither its descriptors nor its costs. The first add makes the epoll, says so (`active_`), and
//   ends a sleep that is under way.
//
// Waking
//   `woken_` is the wake; the note and the eventfd only end the sleep of a poll that missed it.
//   wake():  W1 woken_ = true     W2 active_? then the eventfd, else the note
//   poll():  P1 active_?          P2 woken_? then clear it and return     P3 sleep there
//   add():   A1 active_ = true    A2 the note
//   A waker that reads active_ before A1 has set woken_ before a poller that reads it after A1
//   comes to P2; and a poller that reads it before A1 is ended by A2. All of it in one total order.
//   The eventfd is level-triggered, and only a poll that waits reads it: one that does not would
//   take the wake away from it. Checked by tests/model/linux/epoll_wake_model.cpp, with each order and
//   each step changed in turn.
//
// Descriptors of others (arm)
//   Somebody else's library may close a descriptor while we know it, and the same one may be added
//   as well, which epoll refuses. They are in a second epoll, one-shot, which is itself a
//   descriptor in the first one.
#ifndef THRUM_NETPOLL_EPOLL_HPP
#define THRUM_NETPOLL_EPOLL_HPP

#include <thrum/base/config.hpp>
#include <thrum/netpoll/contract.hpp>

#if THRUM_OS_LINUX

#include <thrum/base/order.hpp>
#include <thrum/netpoll/epoll_system.hpp>

#include <cstdint>

#include <sys/epoll.h>

namespace thrum { inline namespace THRUM_ABI { namespace netpoll {

using namespace base::orders;

template <class System>
class basic_epoll {
 public:
  constexpr basic_epoll() noexcept = default;
  basic_epoll(const basic_epoll&) = delete;
  basic_epoll& operator=(const basic_epoll&) = delete;
  ~basic_epoll() { close(); }

  int open() noexcept { return 0; }

  THRUM_NOINLINE void close() noexcept;

  THRUM_NOINLINE int add(os::handle fd, std::uint64_t tag) noexcept;

  THRUM_NOINLINE void remove(os::handle fd) noexcept;

  THRUM_NOINLINE int arm(os::handle fd, std::uint64_t tag, std::uint32_t what) noexcept;

  THRUM_NOINLINE int arm_first(os::handle fd, std::uint64_t tag, std::uint32_t what) noexcept;

  void poll(std::int64_t delay_ns, sink& to) noexcept;

  THRUM_NOINLINE void wake() noexcept;

  /// Takes its descriptors now, and not with the first one that it is to watch.
  int open_descriptors() noexcept { return activate(); }

  /// The epoll itself, to be watched by another poller, once it has its descriptors.
  os::handle native_handle() const noexcept { return own_; }

  std::uint32_t descriptors() const noexcept {
    return descriptors_.load(relaxed);  // relaxed: a goroutine that waits has added before it looks
  }

 private:
  template <class T>
  using atomic = typename System::template atomic<T>;
  using descriptor = typename System::descriptor;

  static constexpr int at_once = 128;  // events of one look; from Go
  // No tag of a descriptor: those have a number of 32 bits above a generation that is not 0.
  static constexpr std::uint64_t alarm_tag = 0;
  static constexpr std::uint64_t others_tag = std::uint64_t{1} << 32;

  static ::epoll_event once(std::uint64_t tag, std::uint32_t what) noexcept;

  static std::uint32_t translate(std::uint32_t from) noexcept;

  THRUM_NOINLINE void silence_alarm() noexcept;

  void poll_others(sink& to) noexcept;

  void sleep_without_descriptors(std::int64_t delay_ns) noexcept;

  /// The first descriptor comes.
  int activate() noexcept;

  THRUM_COLD int activate_slow() noexcept;

  int make() noexcept;

  atomic<bool> active_{false};
  atomic<bool> woken_{false};
  atomic<bool> opening_{false};
  atomic<bool> armed_once_{false};
  atomic<std::uint32_t> descriptors_{0};
  descriptor own_ = -1;
  descriptor others_ = -1;
  descriptor alarm_ = -1;
  typename System::note note_;
};

#if THRUM_SEPARATE
extern template class basic_epoll<epoll_system>;
#endif
using epoll = basic_epoll<epoll_system>;

}}}  // namespace thrum::THRUM_ABI::netpoll

#if !THRUM_SEPARATE
#include <thrum/netpoll/epoll_definition.hpp>
#endif

#endif  // THRUM_OS_LINUX
#endif
