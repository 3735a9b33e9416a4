// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The poller of a runtime on Linux: epoll, or a ring of io_uring where that was asked for and the
// kernel has it.
#ifndef THRUM_DETAIL_NETPOLL_LINUX_POLLER_HPP
#define THRUM_DETAIL_NETPOLL_LINUX_POLLER_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/netpoll/contract.hpp>

#if THRUM_OS_LINUX

#include <thrum/detail/netpoll/epoll.hpp>
#include <thrum/detail/netpoll/io_uring.hpp>
#include <thrum/detail/os/handle.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace netpoll {

class linux_poller {
 public:
  int open() noexcept { return epoll_.open(); }
  /// Opens epoll if the kernel has no ring, or does not give one.
  int open(choice wanted) noexcept {
    is_ring_ = wanted == choice::io_uring && ring_.open() == 0;
    return is_ring_ ? 0 : epoll_.open();
  }
  choice chosen() const noexcept { return is_ring_ ? choice::io_uring : choice::usual; }
  void close() noexcept {
    epoll_.close();
    ring_.close();
  }

  bool asks_each_time() const noexcept { return is_ring_; }
  bool completes() const noexcept { return is_ring_; }

  int add(os::handle fd, std::uint64_t tag) noexcept {
    return is_ring_ ? ring_.add(fd, tag) : epoll_.add(fd, tag);
  }
  void remove(os::handle fd, std::uint64_t tag, std::uint32_t asked) noexcept {
    is_ring_ ? ring_.remove(fd, tag, asked) : epoll_.remove(fd);
  }
  /// Removes a descriptor for which nothing was asked.
  void remove(os::handle fd) noexcept { remove(fd, 0, 0); }
  void ask(os::handle fd, std::uint64_t tag, events side, bool now) noexcept {
    ring_.ask(fd, tag, side, now);
  }
  void start(operation& what) noexcept { ring_.start(what); }
  void cancel(operation& what) noexcept { ring_.cancel(what); }

  int arm_first(os::handle fd, std::uint64_t tag, std::uint32_t what) noexcept {
    return is_ring_ ? ring_.arm_first(fd, tag, what) : epoll_.arm_first(fd, tag, what);
  }
  int arm(os::handle fd, std::uint64_t tag, std::uint32_t what) noexcept {
    return is_ring_ ? ring_.arm(fd, tag, what) : epoll_.arm(fd, tag, what);
  }
  void poll(std::int64_t delay_ns, sink& to) noexcept {
    is_ring_ ? ring_.poll(delay_ns, to) : epoll_.poll(delay_ns, to);
  }
  void wake() noexcept { is_ring_ ? ring_.wake() : epoll_.wake(); }
  std::uint32_t descriptors() const noexcept {
    return is_ring_ ? ring_.descriptors() : epoll_.descriptors();
  }

 private:
  bool is_ring_ = false;  // constant once open
  epoll epoll_;
  io_uring ring_;
};

}}}  // namespace thrum::THRUM_ABI::netpoll

#endif  // THRUM_OS_LINUX
#endif
