// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Chooses the poller of this system. Where there are no descriptors, it can only wait for a time or for wake().
//
// The poller of a runtime on Linux is epoll, or another one, which the program asks for. The other one is a ring of
// io_uring. Its code is part of a program that includes <thrum/io_uring.hpp>, which sets `make_other`.
#ifndef THRUM_DETAIL_NETPOLL_NETPOLL_HPP
#define THRUM_DETAIL_NETPOLL_NETPOLL_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/netpoll/afd.hpp>  // IWYU pragma: export
#include <thrum/detail/netpoll/contract.hpp>
#include <thrum/detail/netpoll/epoll.hpp>   // IWYU pragma: export
#include <thrum/detail/netpoll/kqueue.hpp>  // IWYU pragma: export
#include <thrum/detail/os/parts.hpp>

#if THRUM_OS_LINUX

#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/base/owner.hpp>

#include <atomic>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace netpoll {

/// A poller that asks each time and completes operations: contract.hpp says what each function does.
class other_poller {
 public:
  other_poller() = default;
  other_poller(const other_poller&) = delete;
  other_poller& operator=(const other_poller&) = delete;
  virtual ~other_poller() = default;

  virtual int open() noexcept = 0;
  virtual void close() noexcept = 0;
  virtual int add(os::handle fd, std::uint64_t tag) noexcept = 0;
  virtual void remove(os::handle fd, std::uint64_t tag, std::uint32_t asked) noexcept = 0;
  virtual void ask(os::handle fd, std::uint64_t tag, events side, bool now) noexcept = 0;
  virtual void start(operation& what) noexcept = 0;
  virtual void cancel(operation& what) noexcept = 0;
  virtual int arm_first(os::handle fd, std::uint64_t tag, std::uint32_t what) noexcept = 0;
  virtual int arm(os::handle fd, std::uint64_t tag, std::uint32_t what) noexcept = 0;
  virtual void poll(std::int64_t delay_ns, sink& to) noexcept = 0;
  virtual void wake() noexcept = 0;
  virtual std::uint32_t descriptors() const noexcept = 0;
};

/// Returns null without memory.
using poller_maker = other_poller* (*)() noexcept;

/// Null in a program without <thrum/io_uring.hpp>.
inline constinit std::atomic<poller_maker> make_other{nullptr};

/// Makes a ring, which is not open. Null without memory. Its body is in netpoll/io_uring.hpp.
other_poller* make_ring() noexcept;

/// epoll, or another poller, which the program asks for.
class linux_poller {
 public:
  int open() noexcept { return epoll_.open(); }
  /// Opens epoll if the kernel has no ring, or does not give one.
  int open(choice wanted) noexcept {
    is_ring_ = wanted == choice::io_uring && open_other();
    return is_ring_ ? 0 : epoll_.open();
  }
  choice chosen() const noexcept { return is_ring_ ? choice::io_uring : choice::usual; }
  void close() noexcept {
    epoll_.close();
    if (other_) {
      other_->close();
    }
  }

  bool asks_each_time() const noexcept { return is_ring_; }
  bool completes() const noexcept { return is_ring_; }

  int add(os::handle fd, std::uint64_t tag) noexcept {
    return is_ring_ ? other_->add(fd, tag) : epoll_.add(fd, tag);
  }
  void remove(os::handle fd, std::uint64_t tag, std::uint32_t asked) noexcept {
    is_ring_ ? other_->remove(fd, tag, asked) : epoll_.remove(fd);
  }
  /// Removes a descriptor for which nothing was asked.
  void remove(os::handle fd) noexcept { remove(fd, 0, 0); }
  void ask(os::handle fd, std::uint64_t tag, events side, bool now) noexcept {
    other_->ask(fd, tag, side, now);
  }
  void start(operation& what) noexcept { other_->start(what); }
  void cancel(operation& what) noexcept { other_->cancel(what); }

  int arm_first(os::handle fd, std::uint64_t tag, std::uint32_t what) noexcept {
    return is_ring_ ? other_->arm_first(fd, tag, what) : epoll_.arm_first(fd, tag, what);
  }
  int arm(os::handle fd, std::uint64_t tag, std::uint32_t what) noexcept {
    return is_ring_ ? other_->arm(fd, tag, what) : epoll_.arm(fd, tag, what);
  }
  void poll(std::int64_t delay_ns, sink& to) noexcept {
    is_ring_ ? other_->poll(delay_ns, to) : epoll_.poll(delay_ns, to);
  }
  void wake() noexcept { is_ring_ ? other_->wake() : epoll_.wake(); }
  std::uint32_t descriptors() const noexcept {
    return is_ring_ ? other_->descriptors() : epoll_.descriptors();
  }

 private:
  bool open_other() noexcept;

  bool is_ring_ = false;  // constant once open
  epoll epoll_;
  base::owner<other_poller> other_;
};

}}}  // namespace thrum::THRUM_ABI::netpoll

#if THRUM_BODIES
namespace thrum { inline namespace THRUM_ABI { namespace netpoll {

THRUM_COLD THRUM_OUT_OF_LINE bool linux_poller::open_other() noexcept {
  // relaxed: the functions that it leads to are there from the beginning
  const poller_maker make = make_other.load(base::orders::relaxed);
  if (make == nullptr) {
    static constinit std::atomic<bool> said{false};
    if (!said.exchange(true, base::orders::relaxed)) {  // relaxed: publishes no data
      base::write_error(
          "thrum: the poller io_uring is not part of this program, so epoll is used; "
          "include <thrum/io_uring.hpp> in one of its source files\n");
    }
    return false;
  }
  other_.reset(make());
  return other_ && other_->open() == 0;
}

}}}  // namespace thrum::THRUM_ABI::netpoll
#endif

#endif  // THRUM_OS_LINUX

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
