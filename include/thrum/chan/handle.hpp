// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The parts that chan and its one-way views are made of: the shared handle, the sending members,
// the receiving members.
#ifndef THRUM_CHAN_HANDLE_HPP
#define THRUM_CHAN_HANDLE_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/error.hpp>
#include <thrum/chan/core.hpp>
#include <thrum/deadline.hpp>
#include <thrum/panic.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace thrum::inline THRUM_ABI::sched {

/// Says that a handle takes over a reference that the caller owns.
struct adopt_reference {};

/// A counted reference to a channel, or none: the nil channel.
template <class T>
class chan_handle {
 public:
  using core_type = chan_core<typename chan_element<T>::type>;

  chan_handle() noexcept = default;
  explicit chan_handle(std::size_t capacity) : core_(core_type::make(capacity)) {}
  chan_handle(adopt_reference, core_type* core) noexcept : core_(core) {}
  chan_handle(const chan_handle& other) noexcept : core_(other.core_) {
    if (core_ != nullptr) {
      core_->add_reference();
    }
  }
  chan_handle(chan_handle&& other) noexcept : core_(std::exchange(other.core_, nullptr)) {}
  chan_handle& operator=(chan_handle other) noexcept {
    std::swap(core_, other.core_);
    return *this;
  }
  ~chan_handle() {
    if (core_ != nullptr) {
      core_->drop_reference();
    }
  }

  /// Elements that are buffered now. 0 for the nil channel.
  std::size_t size() const noexcept { return core_ != nullptr ? core_->size() : 0; }
  /// Elements that can be buffered.
  std::size_t capacity() const noexcept { return core_ != nullptr ? core_->capacity() : 0; }
  /// Whether it has been closed; elements may still be buffered.
  bool is_closed() const noexcept { return core_ != nullptr && core_->is_closed(); }
  /// False for the nil channel.
  explicit operator bool() const noexcept { return core_ != nullptr; }

  friend bool operator==(const chan_handle& a, const chan_handle& b) noexcept {
    return a.core_ == b.core_;
  }

  /// For the library.
  core_type* core() const noexcept { return core_; }

 private:
  core_type* core_ = nullptr;
};

/// An operation on the nil channel.
THRUM_COLD inline chan_result block_on_nil(wait_reason reason, std::int64_t deadline) {
  exit_if_cancelled<default_traits>(wait_for_nothing(reason, deadline));
  return chan_result::timed_out;
}

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

  /// Sends `value` if that can be done at once; else returns false and leaves it untouched. False
  /// on the nil channel. usage_error if the channel is closed.
  bool try_send(T& value) const { return send_or_keep(value, false, no_deadline); }
  bool try_send(T&& value) const { return send_or_keep(value, false, no_deadline); }

  /// Sends `value` within a time; else returns false and leaves it untouched. usage_error if the
  /// channel is closed. A cancellation point.
  template <class Rep, class Period>
  bool send_for(T& value, std::chrono::duration<Rep, Period> time) const {
    return send_or_keep(value, true, deadline_after(time));
  }
  template <class Rep, class Period>
  bool send_for(T&& value, std::chrono::duration<Rep, Period> time) const {
    return send_or_keep(value, true, deadline_after(time));
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
    exit_if_cancelled<default_traits>(result == chan_result::cancelled ? wake_cause::cancelled
                                                                       : wake_cause::none);
    return false;
  }

  bool send_or_keep(T& value, bool may_block, std::int64_t deadline) const {
    if constexpr (element::is_boxed) {
      // The box must exist before the channel is locked, so the value moves there and back.
      auto wrapped = element::wrap(std::move(value));
      bool sent = false;
      THRUM_TRY { sent = start(wrapped, may_block, deadline); }
      THRUM_CATCH_ALL {
        put_back(value, *wrapped);
        THRUM_RETHROW;
      }
      if (!sent) {
        put_back(value, *wrapped);
      }
      return sent;
    } else {
      return start(value, may_block, deadline);
    }
  }
};

/// The sending members of a channel of signals.
template <class Self>
class sending<Self, void> {
 public:
  /// Sends a signal; as send of a value.
  void send() const { as_values().send({}); }

  /// Sends a signal if that can be done at once.
  bool try_send() const { return as_values().try_send(std::monostate()); }

  /// Sends a signal within a time.
  template <class Rep, class Period>
  bool send_for(std::chrono::duration<Rep, Period> time) const {
    return as_values().send_for(std::monostate(), time);
  }

  /// No more will be sent; as close of a channel of values.
  void close() const { as_values().close(); }

 private:
  /// The same operations over std::monostate.
  class values : public sending<values, std::monostate> {
   public:
    explicit values(chan_core<std::monostate>* core) noexcept : core_(core) {}
    chan_core<std::monostate>* core() const noexcept { return core_; }

   private:
    chan_core<std::monostate>* core_;
  };

  values as_values() const { return values(static_cast<const Self*>(this)->core()); }
};

/// The receiving members.
template <class Self, class T>
class receiving {
  using element = chan_element<T>;
  using slot = std::optional<typename element::type>;

 public:
  /// The next element; blocks until there is one. Empty: the channel is closed and drained. Blocks
  /// for ever on the nil channel. A cancellation point.
  std::optional<T> recv() const {
    slot received;
    if (start(received, true, no_deadline) != recv_status::ok) {
      return std::nullopt;
    }
    if constexpr (std::is_same_v<slot, std::optional<T>>) {
      return received;
    } else {
      return std::optional<T>(element::unwrap(*received));
    }
  }

  /// The same into `out`, which is left alone unless the result is ok.
  recv_status recv(T& out) const { return recv_into(out, true, no_deadline); }

  /// Receives what is there now; does not block. `empty` if there is nothing.
  recv_status try_recv(T& out) const { return recv_into(out, false, no_deadline); }

  /// Receives within a time, else `timeout`. A cancellation point.
  template <class Rep, class Period>
  recv_status recv_for(T& out, std::chrono::duration<Rep, Period> time) const {
    return recv_into(out, true, deadline_after(time));
  }

  /// Receives until the channel is closed and drained: for (auto& value : ch). One at a time.
  class iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = T*;
    using reference = T&;

    iterator() noexcept = default;
    explicit iterator(Self of) : of_(std::move(of)), current_(of_.recv()) {}

    T& operator*() const noexcept { return *current_; }
    T* operator->() const noexcept { return &*current_; }
    iterator& operator++() {
      // Not by assignment: T may be only move-constructible.
      auto next = of_.recv();
      current_.reset();
      if (next) {
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
      case chan_result::cancelled: exit_goroutine<default_traits>();
      case chan_result::retry: break;  // stays inside the core
    }
    return recv_status::empty;
  }

  recv_status recv_into(T& out, bool may_block, std::int64_t deadline) const {
    slot received;
    const recv_status status = start(received, may_block, deadline);
    if (status == recv_status::ok) {
      out = element::unwrap(*received);
    }
    return status;
  }
};

/// The receiving members of a channel of signals.
template <class Self>
class receiving<Self, void> {
 public:
  /// Waits for a signal. False: the channel is closed and drained. A cancellation point.
  bool recv() const { return values(static_cast<const Self*>(this)->core()).recv().has_value(); }
  recv_status try_recv() const {
    std::monostate signal;
    return values(static_cast<const Self*>(this)->core()).try_recv(signal);
  }
  template <class Rep, class Period>
  recv_status recv_for(std::chrono::duration<Rep, Period> time) const {
    std::monostate signal;
    return values(static_cast<const Self*>(this)->core()).recv_for(signal, time);
  }

 private:
  /// The same operations over std::monostate.
  class values : public receiving<values, std::monostate> {
   public:
    explicit values(chan_core<std::monostate>* core) noexcept : core_(core) {}
    chan_core<std::monostate>* core() const noexcept { return core_; }

   private:
    chan_core<std::monostate>* core_;
  };
};

}  // namespace thrum::inline THRUM_ABI::sched

#endif
