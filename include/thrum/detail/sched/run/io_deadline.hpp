// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How a call of input or output that was given a stop hands it down to the waits that it is made of.
//
// The call sets a stop_relay that ends_io for its caller, and calls the form without a stop. Each wait
// for input or output on the way down asks by an io_deadline whether its caller has one. So no
// function in between has an argument for it, and a stream that stands before another one, also one
// of a program, is ended with what it waits for. Waits of other kinds, for a lock for instance, are
// not ended.
#ifndef THRUM_DETAIL_SCHED_RUN_IO_DEADLINE_HPP
#define THRUM_DETAIL_SCHED_RUN_IO_DEADLINE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/sched/core/g.hpp>
#include <thrum/detail/sched/core/section.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/queue/no_deadline.hpp>
#include <thrum/detail/sched/run/stop_relay.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// The deadline of a wait for input or output, together with the stop of the caller's call, if there
/// is one. Lives in the caller's frame, for one wait or several; meanwhile there is no other one. It
/// is a stop_condition, so that primitives can wait with it: they end at the deadline, too.
class io_deadline {
 public:
  io_deadline(const section& here, std::int64_t deadline) noexcept
      : relay_(relay_of(here)), until_(deadline) {
    if (relay_ != nullptr) [[unlikely]] {
      stop_deadline_ = relay_->deadline;
      if (deadline < stop_deadline_) {
        relay_->deadline = deadline;
      }
      until_ = until_stopped;
    }
  }
  explicit io_deadline(std::int64_t deadline) noexcept : io_deadline(section(), deadline) {}
  io_deadline(const io_deadline&) = delete;
  io_deadline& operator=(const io_deadline&) = delete;
  ~io_deadline() {
    if (relay_ != nullptr) [[unlikely]] {
      relay_->deadline = stop_deadline_;
    }
  }

  /// What to pass to a wait as its deadline.
  std::int64_t until() const noexcept { return until_; }

  /// The earliest moment at which the wait ends by itself.
  std::int64_t moment() const noexcept { return relay_ != nullptr ? relay_->deadline : until_; }

  /// Whether the caller's call was told to stop, or the deadline of its stop has passed.
  bool is_stopped() const noexcept {
    if (relay_ == nullptr) [[likely]] {
      return false;
    }
    const bool is_over = relay_->is_requested() ||
                         (stop_deadline_ != no_deadline && stop_deadline_ <= traits::now());
    relay_->has_ended_io = relay_->has_ended_io || is_over;
    return is_over;
  }

  // As of a std::stop_token.
  bool stop_requested() const noexcept { return is_stopped(); }
  bool stop_possible() const noexcept { return relay_ != nullptr; }

 private:
  static stop_relay* relay_of(const section& here) noexcept {
    const goroutine* const g = here.g();
    stop_relay* const relay = g != nullptr ? g->stop : current_stop_relay(here);
    return relay != nullptr && relay->ends_io ? relay : nullptr;
  }

  stop_relay* const relay_;  // in a frame below; used by its owner only, but for requests
  std::int64_t until_;
  std::int64_t stop_deadline_ = no_deadline;
};

/// Whether the caller's call of input or output was given a stop, which has come.
inline bool is_io_stopped() noexcept { return io_deadline(no_deadline).is_stopped(); }

}}}  // namespace thrum::THRUM_ABI::sched

#endif
