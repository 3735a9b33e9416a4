// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// context: deadline, cancellation and values along a tree of calls.
#ifndef THRUM_CONTEXT_HPP
#define THRUM_CONTEXT_HPP

#include <thrum/chan.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/context/node.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/detail/start/stoppable.hpp>  // IWYU pragma: export
#include <thrum/errc.hpp>                    // IWYU pragma: export
#include <thrum/runtime.hpp>
#include <thrum/select.hpp>
#include <thrum/time/timer.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <system_error>
#include <type_traits>
#include <utility>

namespace thrum { inline namespace THRUM_ABI {

/// A function that context::after_func has called once a context is done: a shared handle, cheap to
/// copy, which keeps the context. The function is called whether or not a handle is kept. All
/// members may be called from any goroutine and any thread.
class context_call {
 public:
  /// No call: stop() is false.
  context_call() noexcept = default;

  /// True: the function has not been called, and will not be. False: the context is done and the
  /// function has been started, which does not say that it has ended; or it was stopped before.
  bool stop() const noexcept;

 private:
  friend class context;
  context_call(chan_detail::chan_handle<void> of,
               std::shared_ptr<context_detail::context_function> function) noexcept
      : context_(std::move(of)), function_(std::move(function)) {}

  chan_detail::chan_handle<void> context_;
  std::shared_ptr<context_detail::context_function> function_;
};

/// Deadline, cancellation and values of a call and of what it calls: a shared handle, cheap to
/// copy, that is handed down by value. Derive a child where a part of the work has a limit of its
/// own. All members may be called from any goroutine and any thread.
///
/// When not to use: for optional parameters; values are for what crosses interfaces (a request's
/// id).
class context {
 public:
  /// The background.
  context() noexcept = default;

  /// The root: never cancelled, no deadline, no values. As context().
  [[nodiscard]] static context background() noexcept { return context(); }

  /// Whether both are the same one; a child is another one than its parent.
  friend bool operator==(const context& a, const context& b) noexcept { return a.node_ == b.node_; }

  /// A child that is cancelled with its parent, or alone by cancel().
  [[nodiscard]] context with_cancel() const { return child({}); }

  /// A child that is also cancelled at a time, unless its parent's deadline is earlier. `cause` is
  /// what cause() says then, there and below; without one it is errc::deadline_exceeded.
  template <class Rep, class Period>
  [[nodiscard]] context with_timeout(std::chrono::duration<Rep, Period> time,
                                     std::error_code cause = {}) const {
    return child({time_detail::deadline_after(time), cause, nullptr});
  }
  template <class Clock, class Duration>
  [[nodiscard]] context with_deadline(std::chrono::time_point<Clock, Duration> when,
                                      std::error_code cause = {}) const {
    if constexpr (std::is_same_v<Clock, std::chrono::steady_clock>) {
      return child({time_detail::deadline_at(when), cause, nullptr});
    } else {
      using node_type =
          context_detail::context_clock_node<std::chrono::time_point<Clock, Duration>>;
      return entered(new node_type(node(), when, cause));
    }
  }

  /// A child that has the values, but neither the deadline nor the cancellation: it outlasts this
  /// one, for what must still be done when a request is over. cancel() and what is derived work as
  /// in any child.
  [[nodiscard]] context without_cancel() const;

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
  /// first. Idempotent: the first cause stays. usage_error for the background.
  ///
  /// `cause` is what cause() says then, of each of them that was not done before; without one it is
  /// std::errc::operation_canceled. It is a std::error_code, and not an exception, so that it costs
  /// nothing to keep and to compare, and means the same in programs without exceptions or RTTI,
  /// which could not open a std::exception_ptr. An enumeration with std::is_error_code_enum
  /// converts by itself.
  void cancel(std::error_code cause = {}) const;

  /// Whether it is done, by cancel() or by its deadline.
  bool cancelled() const noexcept { return how() != context_detail::context_cause::none; }

  /// Whether it was cancelled or its deadline has passed: std::errc::operation_canceled or
  /// errc::deadline_exceeded; none while it is not done. If there is an error, done() is closed.
  std::error_code error() const noexcept;

  /// Why: the cause that was given to cancel(), or with the deadline that came first; error() if
  /// none was.
  std::error_code cause() const noexcept;

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
  /// closed, as all contexts below are closed before. The runtime that asks for the token first watches
  /// its deadline, with a timer that keeps the context until it is done: cancel a context that is no
  /// longer needed. A call that is given the context itself needs no such timer. If that runtime
  /// stops, another one of the process watches. For a thread that belongs to none, any runtime
  /// watches; if there is none, the next call that asks the context itself, or a runtime that asks
  /// for the token, makes the request. The background's token is never requested.
  ///
  /// Callbacks run in the goroutine or thread that cancels, one after the other. One may wait: its
  /// goroutine keeps the thread to itself meanwhile, and a runtime that stops does not cancel it.
  /// But nothing may be thrown out of it. And a goroutine that destroys a std::stop_callback while
  /// that is called blocks its thread until the call has ended.
  std::stop_token stop_token() const;

  /// Calls f() once the context is done, in a goroutine of its own on that runtime; at once if it
  /// is done already. Calls of one context run side by side. What leaves f is a panic. A runtime
  /// that has stopped by then does not call it.
  ///
  /// The deadline is watched as for stop_token(), until stop(). If all handles of the context go before it is
  /// done, f is called when its parent is done, and destroyed if it has none. If f holds the
  /// context, they keep each other until it is done, or until the call is stopped.
  template <class F>
  context_call after_func(runtime& where, F&& f) const {
    using function_type = std::decay_t<F>;
    constexpr bool callable = std::is_invocable_v<function_type&>;
    static_assert(callable, "context::after_func: the function must be callable without arguments");
    if constexpr (callable) {
      return called_when_done(
          where, time_detail::func_timer_handle(new time_detail::func_timer_of<function_type>(
                     where.scheduler(), std::forward<F>(f))));
    } else {
      return {};
    }
  }
  /// after_func(where, f) on the current runtime. usage_error outside of one.
  template <class F>
  context_call after_func(F&& f) const {
    return after_func(current_runtime(), std::forward<F>(f));
  }

  /// The token for a wait that ends at deadline() by itself: no timer watches the deadline for it.
  /// Programs do not need it.
  friend std::stop_token token_for_wait(const context& of) {
    return of.node() != nullptr ? of.node()->stop_token(context_detail::context_node::watched::no)
                                : std::stop_token();
  }

 private:
  friend class task_group;

  context_detail::context_node* node() const noexcept {
    return static_cast<context_detail::context_node*>(node_.core());
  }
  context_detail::context_node* referenced() const noexcept {
    if (node() != nullptr) {
      node()->add_reference();
    }
    return node();
  }
  context_detail::context_cause how() const noexcept {
    return node() != nullptr ? node()->cause() : context_detail::context_cause::none;
  }
  static runtime& current_runtime();
  context_call called_when_done(runtime& where, time_detail::func_timer_handle function) const;
  static context entered(context_detail::context_node* fresh) noexcept;
  context child(const context_detail::context_node::own_deadline& deadline) const;

  chan_detail::chan_handle<void> node_;
};

/// Chosen once the context is done. As on_recv(of.done(), f).
template <class F = select_detail::no_handler>
[[nodiscard("a case does nothing until it is given to select")]] auto on_done(const context& of,
                                                                              F f = {}) {
  return on_recv(of.done(), std::move(f));
}

}}  // namespace thrum::THRUM_ABI

#if THRUM_BODIES
#include <thrum/detail/base/error.hpp>

namespace thrum { inline namespace THRUM_ABI {

namespace context_detail {

/// The error of a context that is done so.
inline std::error_code error_of(context_cause how) noexcept {
  switch (how) {
    case context_cause::none: break;
    case context_cause::canceled: return std::make_error_code(std::errc::operation_canceled);
    case context_cause::timed_out: return errc::deadline_exceeded;
  }
  return {};
}

}  // namespace context_detail

THRUM_OUT_OF_LINE context context::with_stop_token(std::stop_token token) const {
  auto* const node = new context_detail::context_token_node(this->node());
  context made = entered(node);
  node->listen(std::move(token));
  return made;
}

THRUM_OUT_OF_LINE void context::cancel(std::error_code cause) const {
  if (node() == nullptr) {
    base::throw_usage(
        "context::cancel: the background context cannot be cancelled; cancel a context that is "
        "derived from it");
  }
  node()->cancel(context_detail::context_cause::canceled, cause);
}

THRUM_OUT_OF_LINE std::error_code context::error() const noexcept {
  return context_detail::error_of(how());
}

THRUM_OUT_OF_LINE std::error_code context::cause() const noexcept {
  const auto known = how();
  if (known == context_detail::context_cause::none || !node()->told()) {
    return context_detail::error_of(known);
  }
  return node()->told();
}

THRUM_OUT_OF_LINE context context::without_cancel() const {
  using node_type = context_detail::context_node;
  return entered(new node_type(node(), {}, node_type::follows::nothing));
}

THRUM_OUT_OF_LINE std::stop_token context::stop_token() const {
  return node() != nullptr ? node()->stop_token(context_detail::context_node::watched::until_done)
                           : std::stop_token();
}

THRUM_OUT_OF_LINE bool context_call::stop() const noexcept {
  return function_ != nullptr &&
         static_cast<context_detail::context_node*>(context_.core())->take_back(*function_);
}

THRUM_OUT_OF_LINE runtime& context::current_runtime() {
  runtime* const own = runtime::current();
  if (own == nullptr) {
    go_detail::throw_outside("context::after_func", "name one before the function");
  }
  return *own;
}

THRUM_OUT_OF_LINE context_call
context::called_when_done(runtime& where, time_detail::func_timer_handle function) const {
  const context of = node() != nullptr ? *this : with_cancel();  // the program cannot cancel it
  auto made = std::make_shared<context_detail::context_function>(std::move(function));
  of.node()->call_when_done(made, where.scheduler());
  return {of.node_, std::move(made)};
}

THRUM_OUT_OF_LINE context context::entered(context_detail::context_node* fresh) noexcept {
  context made;
  made.node_ = chan_detail::chan_handle<void>(chan_detail::adopt_reference{}, fresh);
  fresh->enter();
  return made;
}

THRUM_OUT_OF_LINE context
context::child(const context_detail::context_node::own_deadline& deadline) const {
  return entered(new context_detail::context_node(node(), deadline));
}

}}  // namespace thrum::THRUM_ABI
#endif

#endif
