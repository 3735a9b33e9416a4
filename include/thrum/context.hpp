// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// context: deadline, cancellation and values along a tree of calls.
#ifndef THRUM_CONTEXT_HPP
#define THRUM_CONTEXT_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/errc.hpp>  // IWYU pragma: export
#include <thrum/chan.hpp>
#include <thrum/context/node.hpp>
#include <thrum/deadline.hpp>
#include <thrum/select.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <system_error>
#include <type_traits>
#include <utility>

namespace thrum { inline namespace THRUM_ABI {

/// Deadline, cancellation and values of a call and of what it calls: a shared handle, cheap to
/// copy, that is handed down by value. Derive a child where a part of the work has a limit of its
/// own. All members may be called from any goroutine and any thread.
///
/// When not to use: for optional parameters; values are for what crosses interfaces (a request's
/// id).
class context {
 public:
  /// The root: never cancelled, no deadline, no values.
  [[nodiscard]] static context background() noexcept { return context(); }

  /// A child that is cancelled with its parent, or alone by cancel().
  [[nodiscard]] context with_cancel() const { return child(sched::no_deadline); }

  /// A child that is also cancelled at a time, unless its parent's deadline is earlier.
  template <class Rep, class Period>
  [[nodiscard]] context with_timeout(std::chrono::duration<Rep, Period> time) const {
    return child(time_detail::deadline_after(time));
  }
  template <class Clock, class Duration>
  [[nodiscard]] context with_deadline(std::chrono::time_point<Clock, Duration> when) const {
    if constexpr (std::is_same_v<Clock, std::chrono::steady_clock>) {
      return child(time_detail::deadline_at(when));
    } else {
      using node_type =
          context_detail::context_clock_node<std::chrono::time_point<Clock, Duration>>;
      return entered(new node_type(node(), when));
    }
  }

  /// A child in which value<T>() is `value`.
  template <class T>
  [[nodiscard]] context with_value(T value) const {
    return entered(new context_detail::context_value_node<T>(node(), std::move(value)));
  }

  /// A child that is also cancelled when a stop is requested: by the thread or goroutine that
  /// requests it. If callbacks of the same token may wait, a goroutine that requests the stop must
  /// hold a thread_lock; those of tokens of contexts may do so without it.
  [[nodiscard]] context with_stop_token(std::stop_token token) const;

  /// The nearest value of type T, here or above; null if there is none. Lives as long as this
  /// context.
  template <class T>
  const T* value() const noexcept {
    for (const context_detail::context_node* n = node(); n != nullptr; n = n->parent()) {
      if (n->value_key == &context_detail::type_key<T>) {
        return static_cast<const T*>(n->value);
      }
    }
    return nullptr;
  }

  /// Cancels it and all that was derived from it: when it returns, each of them is done, also if
  /// others cancel them at the same time. Stops are requested after that, by the call that was
  /// first. Idempotent. usage_error for the background.
  void cancel() const;

  /// Whether it is done, by cancel() or by its deadline.
  bool cancelled() const noexcept { return cause() != context_detail::context_cause::none; }

  /// Why it is done: std::errc::operation_canceled or errc::deadline_exceeded; none while it is
  /// not.
  /// If there is an error, done() is closed.
  std::error_code error() const noexcept;

  /// A channel that is closed when the context is done. The nil channel for the background.
  recv_chan<void> done() const noexcept {
    return recv_chan<void>(chan_detail::adopt_reference{}, referenced());
  }

  /// When it will be done at the latest; by a clock other than the steady one, as that stood when
  /// it was asked last.
  std::optional<time_point> deadline() const noexcept {
    const std::int64_t due = node() != nullptr ? node()->deadline() : sched::no_deadline;
    if (due == sched::no_deadline) {
      return std::nullopt;
    }
    return time_point(std::chrono::nanoseconds(due));
  }

  /// A token on which a stop is requested once the context is done: a moment later than done() is
  /// closed, as all contexts below are closed before. Its deadline is watched by the runtime that
  /// asks for the token first, which keeps the context until it is done; outside of a runtime the
  /// request comes when somebody next asks the context itself. The background's token is never
  /// requested.
  ///
  /// Callbacks run in the goroutine or thread that cancels, one after the other. One may wait: its
  /// goroutine keeps the thread to itself meanwhile, and a runtime that stops does not cancel it.
  /// But nothing may be thrown out of it. And a goroutine that destroys a std::stop_callback while
  /// that is called blocks its thread until the call has ended.
  std::stop_token stop_token() const;

 private:
  context() noexcept = default;

  context_detail::context_node* node() const noexcept {
    return static_cast<context_detail::context_node*>(node_.core());
  }
  context_detail::context_node* referenced() const noexcept {
    if (node() != nullptr) {
      node()->add_reference();
    }
    return node();
  }
  context_detail::context_cause cause() const noexcept {
    return node() != nullptr ? node()->cause() : context_detail::context_cause::none;
  }
  static context entered(context_detail::context_node* fresh) noexcept;
  context child(std::int64_t deadline) const;

  chan_detail::chan_handle<void> node_;
};

/// Chosen once the context is done. As on_recv(of.done(), f).
template <class F = select_detail::no_handler>
[[nodiscard("a case does nothing until it is given to select")]] auto on_done(const context& of,
                                                                              F f = {}) {
  return on_recv(of.done(), std::move(f));
}

}}  // namespace thrum::THRUM_ABI

#if !THRUM_SEPARATE
#include <thrum/context_definition.hpp>
#endif

#endif
