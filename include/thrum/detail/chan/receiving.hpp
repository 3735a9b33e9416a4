// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The receiving members of chan and of its one-way view.
#ifndef THRUM_DETAIL_CHAN_RECEIVING_HPP
#define THRUM_DETAIL_CHAN_RECEIVING_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/chan/core.hpp>
#include <thrum/detail/chan/element.hpp>
#include <thrum/detail/chan/handle.hpp>
#include <thrum/detail/chan/recv_result.hpp>
#include <thrum/detail/sched/run/goroutine_exit.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/stop_condition.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace thrum { inline namespace THRUM_ABI {

/// The outcome of a receive from a channel of signals, as recv() returns it and a select's handler takes
/// it. Converted to bool: whether there was a signal; to recv_status: also why there was none.
class signal_status {
 public:
  /// For the library.
  constexpr signal_status(recv_status of) noexcept : status_(of) {}  // NOLINT: as it
  /// Whether there was a signal.
  constexpr explicit operator bool() const noexcept { return status_ == recv_status::ok; }
  constexpr operator recv_status() const noexcept { return status_; }  // NOLINT: as it

 private:
  recv_status status_;
};

namespace chan_detail {

using namespace sched;

/// The receiving members.
template <class Self, class T>
class receiving {
  using element = chan_element<T>;
  using slot = std::optional<typename element::type>;

 public:
  /// The next element; blocks until there is one. Empty: the channel is closed and drained. Blocks
  /// for ever on the nil channel. A cancellation point. The result is a std::optional<T> whose `*` and
  /// `->` are a usage_error if it is empty.
  received_value<T> recv() const { return received(attempt_at(true, no_deadline)); }

  /// Receives into `out`, which is left alone unless the result is ok. Blocks until there is an element, or
  /// the channel is closed and drained. A cancellation point.
  recv_status recv(T& out) const { return recv_into(out, attempt_at(true, no_deadline)); }

  /// Receives what is there now; does not block. `empty` if there is nothing.
  [[nodiscard]] recv_status try_recv(T& out) const {
    return recv_into(out, attempt_at(false, no_deadline));
  }

  /// Receives within a time, else `timeout`. A cancellation point.
  template <class Rep, class Period>
  recv_status recv_for(T& out, std::chrono::duration<Rep, Period> time) const {
    return recv_into(out, attempt_at(true, time_detail::deadline_after(time)));
  }

  /// Receives until a moment, of any clock, else `timeout`. A cancellation point.
  template <class Clock, class Duration>
  recv_status recv_until(T& out, std::chrono::time_point<Clock, Duration> when) const {
    return recv_into(out, attempt_until(when));
  }

  /// Receives an element of a type without a default, of which there can be no `out` to receive into.
  /// Empty: none came, now or in time; or none ever will, which is_closed() tells.
  [[nodiscard]] received_value<T> try_recv() const {
    return received(attempt_at(false, no_deadline));
  }
  template <class Rep, class Period>
  received_value<T> recv_for(std::chrono::duration<Rep, Period> time) const {
    return received(attempt_at(true, time_detail::deadline_after(time)));
  }
  template <class Clock, class Duration>
  received_value<T> recv_until(std::chrono::time_point<Clock, Duration> when) const {
    return received(attempt_until(when));
  }

  /// Receives until a stop is requested: `stopped`, or empty, if nothing came before. A cancellation
  /// point.
  template <until_condition Stop>
  recv_status recv(T& out, const Stop& stop) const {
    const recv_status status = recv_into(out, attempt_until_stopped(stop));
    return stop_condition<Stop> && status == recv_status::timeout ? recv_status::stopped : status;
  }
  template <until_condition Stop>
  received_value<T> recv(const Stop& stop) const requires(!std::is_same_v<Stop, T>) {
    return received(attempt_until_stopped(stop));
  }

  /// Receives until the channel is closed and drained: for (auto& value : ch). One at a time: each
  /// is destroyed before the next is waited for.
  class iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = T*;
    using reference = T&;

    iterator() noexcept = default;
    /// Waits for the first element. A cancellation point.
    explicit iterator(Self of) : of_(std::move(of)), current_(of_.recv()) {}

    /// The element: the iterator owns it until the next one is waited for.
    T& operator*() const noexcept { return *current_; }
    T* operator->() const noexcept { return &*current_; }
    /// Destroys the element and waits for the next one. A cancellation point.
    iterator& operator++() {
      current_.reset();
      // Not by assignment: T may be only move-constructible.
      if (auto next = of_.recv()) {
        current_.emplace(std::move(*next));
      }
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const noexcept { return !current_.has_value(); }

   private:
    Self of_;
    mutable std::optional<T> current_;
  };

  /// Receives the first element.
  iterator begin() const { return iterator(*static_cast<const Self*>(this)); }
  std::default_sentinel_t end() const noexcept { return {}; }

 private:
  recv_status start(slot& received, bool may_block, std::int64_t deadline) const {
    auto* const core = static_cast<const Self*>(this)->core();
    chan_result result = chan_result::would_block;
    if (core != nullptr) [[likely]] {
      result = core->recv(received, may_block, deadline);
    } else if (may_block) {
      result = block_on_nil(wait_reason::chan_receive_nil, deadline);
    }
    switch (result) {
      case chan_result::ok: return recv_status::ok;
      case chan_result::closed: return recv_status::closed;
      case chan_result::would_block: return recv_status::empty;
      case chan_result::timed_out: return recv_status::timeout;
      case chan_result::cancelled: exit_goroutine();
      case chan_result::retry: break;  // stays inside the core
    }
    return recv_status::empty;
  }

  // How often, and until when, it is tried to receive.

  auto attempt_at(bool may_block, std::int64_t deadline) const noexcept {
    return [this, may_block, deadline](slot& into) { return start(into, may_block, deadline); };
  }
  template <class TimePoint>
  auto attempt_until(TimePoint when) const noexcept {
    return [this, when](slot& into) {
      return time_detail::retry_until(
          when, [&](std::int64_t deadline) { return start(into, true, deadline); },
          [](recv_status status) { return status == recv_status::timeout; });
    };
  }

  template <class Stop>
  auto attempt_until_stopped(const Stop& stop) const noexcept {
    return [this, &stop](slot& into) {
      const recv_status now = start(into, false, no_deadline);
      if (now != recv_status::empty) {
        return now;
      }
      return stop_detail::until_stopped(
          stop, [&](std::int64_t deadline) { return start(into, true, deadline); },
          [](recv_status status) { return status == recv_status::timeout; });
    };
  }

  template <class Attempt>
  received_value<T> received(Attempt attempt) const {
    if constexpr (std::is_same_v<slot, std::optional<T>>) {
      received_value<T> into;
      if (attempt(into) != recv_status::ok) {
        return std::nullopt;
      }
      return into;
    } else {
      slot into;
      if (attempt(into) != recv_status::ok) {
        return std::nullopt;
      }
      return received_value<T>(std::in_place, element::unwrap(*into));
    }
  }

  template <class Attempt>
  recv_status recv_into(T& out, Attempt attempt) const {
    slot into;
    const recv_status status = attempt(into);
    if (status == recv_status::ok) {
      out = element::unwrap(*into);
    }
    return status;
  }
};

/// The receiving members of a channel of signals.
template <class Self>
class receiving<Self, void> {
 public:
  /// Waits for a signal. False: the channel is closed and drained. A cancellation point.
  bool recv() const { return as_values().recv().has_value(); }

  /// Receives a signal that is there now. The result may be ignored, to forget what was told.
  signal_status try_recv() const {
    std::monostate signal;
    return as_values().try_recv(signal);
  }

  /// Waits for a signal for a time, or until a moment of any clock. A cancellation point.
  template <class Rep, class Period>
  signal_status recv_for(std::chrono::duration<Rep, Period> time) const {
    std::monostate signal;
    return as_values().recv_for(signal, time);
  }
  template <class Clock, class Duration>
  signal_status recv_until(std::chrono::time_point<Clock, Duration> when) const {
    std::monostate signal;
    return as_values().recv_until(signal, when);
  }

  /// Waits for a signal until a stop is requested. A cancellation point.
  template <until_condition Stop>
  signal_status recv(const Stop& stop) const {
    std::monostate signal;
    return as_values().recv(signal, stop);
  }

  /// Waits for signals until the channel is closed and drained: for (auto signal : ch). What it
  /// gives says nothing but that there was one.
  class iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = std::monostate;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = const std::monostate&;

    iterator() noexcept = default;
    /// Waits for the first signal. A cancellation point.
    explicit iterator(Self of) : of_(std::move(of)), has_signal_(of_.recv()) {}

    /// An empty value, equal for all signals.
    const std::monostate& operator*() const noexcept { return signal; }
    /// Waits for the next signal. A cancellation point.
    iterator& operator++() {
      has_signal_ = of_.recv();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const noexcept { return !has_signal_; }

   private:
    static constexpr std::monostate signal{};
    Self of_;
    bool has_signal_ = false;
  };

  /// Waits for the first signal.
  iterator begin() const { return iterator(*static_cast<const Self*>(this)); }
  std::default_sentinel_t end() const noexcept { return {}; }

 private:
  /// The channel as one whose elements are std::monostate.
  class values : public receiving<values, std::monostate> {
   public:
    explicit values(chan_core<std::monostate>* core) noexcept : core_(core) {}
    chan_core<std::monostate>* core() const noexcept { return core_; }

   private:
    chan_core<std::monostate>* core_;
  };

  values as_values() const { return values(static_cast<const Self*>(this)->core()); }
};

}  // namespace chan_detail
}}  // namespace thrum::THRUM_ABI

#endif
