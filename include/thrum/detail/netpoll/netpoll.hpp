// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Chooses the poller of this system. Where there are no descriptors, it can only wait for a time or for wake().
#ifndef THRUM_DETAIL_NETPOLL_NETPOLL_HPP
#define THRUM_DETAIL_NETPOLL_NETPOLL_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/netpoll/afd.hpp>  // IWYU pragma: export
#include <thrum/detail/netpoll/contract.hpp>
#include <thrum/detail/netpoll/epoll.hpp>         // IWYU pragma: export
#include <thrum/detail/netpoll/kqueue.hpp>        // IWYU pragma: export
#include <thrum/detail/netpoll/linux_poller.hpp>  // IWYU pragma: export
#include <thrum/detail/os/parts.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace netpoll {

class sleeper {
 public:
  int open() noexcept { return 0; }
  void close() noexcept {}

  int add(os::handle, std::uint64_t) noexcept { return os::not_supported; }
  void remove(os::handle) noexcept {}
  int arm_first(os::handle, std::uint64_t, std::uint32_t) noexcept { return os::not_supported; }
  int arm(os::handle, std::uint64_t, std::uint32_t) noexcept { return os::not_supported; }

  void poll(std::int64_t delay_ns, sink&) noexcept {
    if (delay_ns == 0) {
      return;
    }
    if (delay_ns < 0) {
      note_.sleep();
    } else if (!note_.sleep_for(delay_ns)) {
      return;
    }
    note_.clear_while_woken();
  }

  void wake() noexcept { note_.wake(); }

  std::uint32_t descriptors() const noexcept { return 0; }

 private:
  os::note note_;
};

static_assert(poller_contract<sleeper>);

#if THRUM_POLLER_KQUEUE
using poller = kqueue;
#elif THRUM_OS_LINUX
using poller = linux_poller;
#elif THRUM_OS_WINDOWS
using poller = afd;
#else
using poller = sleeper;
#endif

static_assert(poller_contract<poller>);

}}}  // namespace thrum::THRUM_ABI::netpoll

#endif  // THRUM_DETAIL_NETPOLL_NETPOLL_HPP
