// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// ring_poller: a ring of io_uring as linux_poller calls it.
#ifndef THRUM_DETAIL_NETPOLL_RING_POLLER_HPP
#define THRUM_DETAIL_NETPOLL_RING_POLLER_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_LINUX

#include <thrum/detail/netpoll/linux_poller.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace netpoll {

/// Makes a ring, which is not open. Null without memory.
other_poller* make_ring() noexcept;

}}}  // namespace thrum::THRUM_ABI::netpoll

#if THRUM_BODIES
#include <thrum/detail/netpoll/contract.hpp>
#include <thrum/detail/netpoll/io_uring.hpp>
#include <thrum/detail/os/handle.hpp>

#include <cstdint>
#include <new>

namespace thrum { inline namespace THRUM_ABI { namespace netpoll {

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

}}}  // namespace thrum::THRUM_ABI::netpoll
#endif

#endif  // THRUM_OS_LINUX
#endif
