// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The sending members of chan and of its one-way view.
//
// An lvalue is copied and an rvalue moved from, only if it is sent. The core takes a value that
// lies still while it waits: a copy is made before; what is moved lies where the caller has it, or,
// if its move may throw, in a box, and goes back from there if it was not sent.
#ifndef THRUM_DETAIL_CHAN_SENDING_HPP
#define THRUM_DETAIL_CHAN_SENDING_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/chan/core.hpp>
#include <thrum/detail/chan/element.hpp>
#include <thrum/detail/chan/handle.hpp>
#include <thrum/detail/sched/run/goroutine_exit.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/stop_condition.hpp>

#include <chrono>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <variant>

namespace thrum { inline namespace THRUM_ABI { namespace chan_detail {

using namespace sched;

/// The sending members.
template <class Self, class T>
class sending {
  using element = chan_element<T>;

 public:
  /// Sends `value`; blocks until a receiver or the buffer has taken it. usage_error if the channel
  /// is closed, also while it waits. Blocks for ever on the nil channel. A cancellation point.
  void send(T value) const {
    auto wrapped = element::wrap(std::move(value));
    start(wrapped, true, no_deadline);
  }

  /// Says of a value that is none of the channel's.
  template <class U>
  requires(!std::is_convertible_v<U, T>) void send(U&& /*value*/) const {
    static_assert(std::is_convertible_v<U, T>,
                  "chan::send: the value does not convert to the type of the channel's elements");
  }

  /// Sends `value` if that can be done at once; else returns false and leaves it untouched. An
  /// lvalue is copied, an rvalue is moved from only if it is sent; so is an lvalue that cannot be
  /// copied. False on the nil channel. usage_error if the channel is closed.
  [[nodiscard]] bool try_send(const T& value) const requires std::is_copy_constructible_v<T> {
    // A copy may cost a lot: not for a channel that has no room.
    if (!std::is_trivially_copyable_v<T> && has_no_room()) {
      return false;
    }
    return send_copy(value, attempt_now());
  }
  [[nodiscard]] bool try_send(T& value) const requires(!std::is_copy_constructible_v<T>) {
    return send_or_keep(value, attempt_now());
  }
  [[nodiscard]] bool try_send(T&& value) const { return send_or_keep(value, attempt_now()); }

  /// Sends `value` within a time; else returns false and leaves it untouched. Copies and moves as
  /// try_send. usage_error if the channel is closed. A cancellation point.
  template <class Rep, class Period>
  bool send_for(const T& value, std::chrono::duration<Rep, Period> time)
      const requires std::is_copy_constructible_v<T> {
    return send_copy(value, attempt_for(time));
  }
  template <class Rep, class Period>
  bool send_for(T& value, std::chrono::duration<Rep, Period> time) const
      requires(!std::is_copy_constructible_v<T>) {
    return send_or_keep(value, attempt_for(time));
  }
  template <class Rep, class Period>
  bool send_for(T&& value, std::chrono::duration<Rep, Period> time) const {
    return send_or_keep(value, attempt_for(time));
  }

  /// Sends `value` until a moment, of any clock; else returns false and leaves it untouched. Copies and moves
  /// as try_send. usage_error if the channel is closed. A cancellation point.
  template <class Clock, class Duration>
  bool send_until(const T& value, std::chrono::time_point<Clock, Duration> when)
      const requires std::is_copy_constructible_v<T> {
    return send_copy(value, attempt_until(when));
  }
  template <class Clock, class Duration>
  bool send_until(T& value, std::chrono::time_point<Clock, Duration> when) const
      requires(!std::is_copy_constructible_v<T>) {
    return send_or_keep(value, attempt_until(when));
  }
  template <class Clock, class Duration>
  bool send_until(T&& value, std::chrono::time_point<Clock, Duration> when) const {
    return send_or_keep(value, attempt_until(when));
  }

  /// Sends `value` until a stop is requested; else returns false and leaves it untouched. Copies and moves
  /// as try_send. usage_error if the channel is closed. A cancellation point.
  template <until_condition Stop>
  bool send(const T& value, const Stop& stop) const requires std::is_copy_constructible_v<T> {
    return send_copy(value, attempt_until_stopped(stop));
  }
  template <until_condition Stop>
  bool send(T& value, const Stop& stop) const requires(!std::is_copy_constructible_v<T>) {
    return send_or_keep(value, attempt_until_stopped(stop));
  }
  template <until_condition Stop>
  bool send(T&& value, const Stop& stop) const {
    return send_or_keep(value, attempt_until_stopped(stop));
  }

  /// No more will be sent: receivers drain the buffer and then see the end. usage_error if it is
  /// nil or closed already.
  void close() const {
    auto* const core = static_cast<const Self*>(this)->core();
    if (core == nullptr) {
      base::throw_usage("chan::close: close of nil channel");
    }
    if (!core->close()) {
      base::throw_usage("chan::close: close of closed channel");
    }
  }

 private:
  bool start(typename element::type& wrapped, bool may_block, std::int64_t deadline) const {
    auto* const core = static_cast<const Self*>(this)->core();
    chan_result result = chan_result::would_block;
    if (core != nullptr) [[likely]] {
      result = core->send(wrapped, may_block, deadline);
    } else if (may_block) {
      result = block_on_nil(wait_reason::chan_send_nil, deadline);
    }
    if (result == chan_result::ok) [[likely]] {
      return true;
    }
    if (result == chan_result::closed) {
      base::throw_usage("chan::send: send on closed channel");
    }
    exit_if_cancelled(result == chan_result::cancelled ? wake_cause::cancelled : wake_cause::none);
    return false;
  }

  // How often, and until when, it is tried to send what is wrapped.

  auto attempt_now() const noexcept {
    return [this](auto& wrapped) { return start(wrapped, false, no_deadline); };
  }
  template <class Duration>
  auto attempt_for(Duration time) const noexcept {
    return [this, deadline = time_detail::deadline_after(time)](auto& wrapped) {
      return start(wrapped, true, deadline);
    };
  }
  template <class TimePoint>
  auto attempt_until(TimePoint when) const noexcept {
    return [this, when](auto& wrapped) {
      return time_detail::retry_until(
          when, [&](std::int64_t deadline) { return start(wrapped, true, deadline); });
    };
  }

  template <class Stop>
  auto attempt_until_stopped(const Stop& stop) const noexcept {
    return [this, &stop](auto& wrapped) {
      return start(wrapped, false, no_deadline) ||
             stop_detail::until_stopped(
                 stop, [&](std::int64_t deadline) { return start(wrapped, true, deadline); });
    };
  }

  bool has_no_room() const noexcept {
    auto* const core = static_cast<const Self*>(this)->core();
    return core == nullptr || !core->has_room();
  }

  template <class Attempt>
  bool send_copy(const T& value, Attempt attempt) const {
    auto wrapped = element::wrap(value);
    return attempt(wrapped);
  }

  template <class Attempt>
  bool send_or_keep(T& value, Attempt attempt) const {
    if constexpr (element::is_boxed) {
      // The box must exist before the channel is locked, so the value moves there and back.
      auto wrapped = element::wrap(std::move(value));
      bool sent = false;
      THRUM_TRY { sent = attempt(wrapped); }
      THRUM_CATCH_ALL {
        put_back(value, *wrapped);
        THRUM_RETHROW;
      }
      if (!sent) {
        put_back(value, *wrapped);
      }
      return sent;
    } else {
      return attempt(value);
    }
  }
};

/// The sending members of a channel of signals.
template <class Self>
class sending<Self, void> {
 public:
  /// Sends a signal; as send of a value.
  void send() const { as_values().send({}); }

  /// Sends a signal if that can be done at once. The result may be ignored: a caller that tells
  /// others of something to look at need not know whether they had been told already.
  bool try_send() const { return as_values().try_send(std::monostate()); }

  /// Sends a signal within a time, or until a moment of any clock.
  template <class Rep, class Period>
  bool send_for(std::chrono::duration<Rep, Period> time) const {
    return as_values().send_for(std::monostate(), time);
  }
  template <class Clock, class Duration>
  bool send_until(std::chrono::time_point<Clock, Duration> when) const {
    return as_values().send_until(std::monostate(), when);
  }

  /// Sends a signal unless a stop is requested before; whether it did.
  template <until_condition Stop>
  bool send(const Stop& stop) const {
    return as_values().send(std::monostate(), stop);
  }

  /// No more will be sent; as close of a channel of values.
  void close() const { as_values().close(); }

 private:
  /// The channel as one whose elements are std::monostate.
  class values : public sending<values, std::monostate> {
   public:
    explicit values(chan_core<std::monostate>* core) noexcept : core_(core) {}
    chan_core<std::monostate>* core() const noexcept { return core_; }

   private:
    chan_core<std::monostate>* core_;
  };

  values as_values() const { return values(static_cast<const Self*>(this)->core()); }
};

}}}  // namespace thrum::THRUM_ABI::chan_detail

#endif
