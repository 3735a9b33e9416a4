// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The traits of a build whose time and events come from a test: a ring of 4, a clock that stands
// until driven::advance, and a poller that knows of no event but those that driven::post tells it.

#ifndef THRUM_TESTS_SUPPORT_DRIVEN_TRAITS_HPP
#define THRUM_TESTS_SUPPORT_DRIVEN_TRAITS_HPP

#include <thrum/detail/netpoll/contract.hpp>
#include <thrum/detail/os/os.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace driven {

namespace netpoll = thrum::netpoll;

/// Nanoseconds of the clock that all runtimes of this build go by.
inline std::atomic<std::int64_t> now{1'000'000'000};

/// What runtimes of this build believe of the thread that makes them.
inline std::atomic<bool> has_shadow_stack{false};

class poller {
 public:
  int open() noexcept { return 0; }
  void close() noexcept {}

  int add(int fd, std::uint64_t tag) noexcept {
    const std::scoped_lock guard(lock_);
    tags_.emplace_back(fd, tag);
    return 0;
  }
  void remove(int fd) noexcept {
    const std::scoped_lock guard(lock_);
    std::erase_if(tags_, [&](const auto& each) { return each.first == fd; });
  }
  int arm_first(int fd, std::uint64_t tag, std::uint32_t) noexcept { return add(fd, tag); }
  int arm(int fd, std::uint64_t, std::uint32_t) noexcept {
    const std::scoped_lock guard(lock_);
    for (const auto& each : tags_) {
      if (each.first == fd) {
        return 0;
      }
    }
    return thrum::os::not_armed;
  }

  /// Sleeps until wake(): by this clock no time passes meanwhile.
  void poll(std::int64_t delay_ns, netpoll::sink& to) noexcept {
    if (delay_ns != 0) {
      note_.sleep();
      note_.clear_while_woken();
    }
    for (;;) {
      std::pair<std::uint64_t, std::uint32_t> event;
      {
        const std::scoped_lock guard(lock_);
        if (events_.empty()) {
          return;
        }
        event = events_.back();
        events_.pop_back();
      }
      to.deliver(to, event.first, event.second);
    }
  }
  void wake() noexcept { note_.wake(); }

  std::uint32_t descriptors() const noexcept {
    const std::scoped_lock guard(lock_);
    return static_cast<std::uint32_t>(tags_.size());
  }

  /// Something has happened to a descriptor. False: nobody waits for it.
  bool post(int fd, std::uint32_t what) {
    {
      const std::scoped_lock guard(lock_);
      std::optional<std::uint64_t> tag;
      for (const auto& each : tags_) {
        if (each.first == fd) {
          tag = each.second;
        }
      }
      if (!tag) {
        return false;
      }
      events_.emplace_back(*tag, what);
    }
    wake();
    return true;
  }

 private:
  mutable std::mutex lock_;
  std::vector<std::pair<int, std::uint64_t>> tags_;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> events_;
  thrum::os::note note_;
};
static_assert(netpoll::poller_contract<poller>);

}  // namespace driven

namespace thrum { inline namespace THRUM_ABI { namespace sched {

struct traits : default_traits {
  static constexpr std::uint32_t run_queue_capacity = 4;
  using poller = driven::poller;
  static bool has_shadow_stack() noexcept {
    return driven::has_shadow_stack.load(std::memory_order_seq_cst);
  }
  static std::int64_t now() noexcept { return driven::now.load(std::memory_order_seq_cst); }
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
