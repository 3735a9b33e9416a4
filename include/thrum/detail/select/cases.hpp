// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The cases of a select: what each contributes to the engine, and what it does when chosen.
//
// The life of a case
//   made by on_recv() and its siblings; refers to a channel that was given as an lvalue, owns one
//   that was given as an rvalue.
//   try_now()   once, if the select has one or two channels: if that carries it out, run() follows at once
//   prepare()   just before the engine runs: from here on its address is fixed
//   release()   after it, in every case; a value that was not sent is where it was before
//   run()       the handler of the chosen one, when all have been released, also if one of them
//               could not be as it should: what was received must not be lost. A handler may throw,
//               block, or select again. What was received goes with the end of the handler.
// Between prepare() and release() the engine may read `operation()` and, for a blocked select,
// others may write through its slot under the channel's lock.
#ifndef THRUM_DETAIL_SELECT_CASES_HPP
#define THRUM_DETAIL_SELECT_CASES_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/chan/core.hpp>
#include <thrum/detail/chan/element.hpp>
#include <thrum/detail/chan/handle.hpp>
#include <thrum/detail/select/engine.hpp>
#include <thrum/detail/start/deadline.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace select_detail {

using namespace sched;
using namespace chan_detail;

/// The handler of a case that needs none.
struct no_handler {
  void operator()() const noexcept {}
};

/// Calls the handler of a case that has nothing to tell.
template <class F>
void call_handler(F& handler) {
  constexpr bool callable = std::is_invocable_v<F&>;
  static_assert(callable, "select: the handler of this case must be callable without arguments");
  if constexpr (callable) {
    std::invoke(handler);
  }
}

/// The attempt of every case that sends elements of a type, whatever its handler is: prepare()
/// knows by it that two cases offer the same kind of value.
template <class E>
attempt try_send_from_slot(select_operation& self, wait_point*& receiver) noexcept {
  return static_cast<chan_core<E>*>(self.core)->try_send_locked(*static_cast<E*>(self.slot),
                                                                receiver);
}

/// The outcome of an attempt to carry out an operation under its channel's lock alone.
enum class quick_try : std::uint8_t {
  done,
  not_ready,  // it was not, at that moment
  unclear,    // the engine knows: it may be ready, by its end, or by what takes more than a lock
};

/// What all cases have; each replaces what differs.
class select_case_base {
 public:
  void prepare() noexcept {}
  void release(bool /*chosen*/) noexcept {}
  select_operation& operation() noexcept { return operation_; }
  std::int64_t deadline() const noexcept { return no_deadline; }
  /// Whether the moment that the deadline stands for has come; asked when the deadline has passed. If
  /// not, there is a new deadline.
  bool has_come() const noexcept { return true; }
  static constexpr bool asks_clock = false;
  static constexpr bool is_default = false;
  static constexpr bool is_channel = false;

 protected:
  static quick_try came_to(attempt outcome) noexcept {
    return outcome == attempt::done        ? quick_try::done
           : outcome == attempt::not_ready ? quick_try::not_ready
                                           : quick_try::unclear;
  }

  select_operation operation_;
};

/// A channel that is referred to, or owned.
template <class T>
class case_channel {
 public:
  using core_type = typename chan_handle<T>::core_type;

  explicit case_channel(const chan_handle<T>& channel) noexcept : core_(channel.core()) {}
  explicit case_channel(chan_handle<T>&& channel) noexcept
      : owned_(std::move(channel)), core_(owned_.core()) {}

  core_type* core() const noexcept { return core_; }

  /// Keeps the channel alive from here on.
  void own() noexcept {
    if (core_ != nullptr && !owned_) {
      core_->add_reference();
      owned_ = chan_handle<T>(adopt_reference{}, core_);
    }
  }

 private:
  chan_handle<T> owned_;
  core_type* core_;
};

/// Whether a handler is asked first for the element itself: one that is generic, and would take
/// anything, and a pointer to a member, which std::invoke would also apply to what an optional holds.
template <class F, class T>
concept takes_anything = std::is_member_pointer_v<F> || requires {
  &F::template operator()<T>;
};

/// What on_recv calls its handler with.
enum class handler_takes : std::uint8_t { element, optional, element_and_ok, nothing };

/// A handler of one signature that takes a std::optional<T> can be called with a T too, so it is asked
/// for the optional first. A generic one must not be: the question compiles its body, and `v + 1` is an
/// error there.
template <class F, class T>
consteval handler_takes what_handler_takes() {
  // NOLINTNEXTLINE(bugprone-branch-clone): in this order
  if constexpr (takes_anything<F, T> && std::is_invocable_v<F&, T>) {
    return handler_takes::element;
  } else if constexpr (std::is_invocable_v<F&, std::optional<T>>) {
    return handler_takes::optional;
  } else if constexpr (std::is_invocable_v<F&, T, bool>) {
    return handler_takes::element_and_ok;
  } else if constexpr (std::is_invocable_v<F&, T>) {
    return handler_takes::element;
  } else {
    return handler_takes::nothing;
  }
}

template <class T, class F>
class recv_case : public select_case_base {
  using element = chan_element<T>;
  using core_type = typename chan_handle<T>::core_type;

 public:
  template <class Channel>
  recv_case(Channel&& channel, F handler)
      : channel_(std::forward<Channel>(channel)), handler_(std::move(handler)) {}

  static constexpr bool is_channel = true;

  quick_try try_now(machine* m) noexcept {
    core_type* const core = channel_.core();
    if (core == nullptr) {
      return quick_try::not_ready;
    }
    // What a handler that selects again with its own case still looks at goes in prepare(): to
    // destroy it may block.
    if (core->has_clock() || received_.has_value()) {
      return quick_try::unclear;
    }
    if (core->surely_has_nothing()) {
      return quick_try::not_ready;
    }
    wait_point* sender = nullptr;
    core->lock().lock();
    const attempt outcome = core->try_recv_locked(received_, sender);
    core->lock().unlock();
    if (sender != nullptr) {
      wake(m, *sender);
    }
    return came_to(outcome);
  }

  void own() noexcept { channel_.own(); }

  void prepare() noexcept {
    received_.reset();
    operation_.core = channel_.core();
    operation_.closed = false;
    operation_.slot = &received_;
    operation_.try_locked = [](select_operation& self, wait_point*& sender) noexcept {
      return static_cast<core_type*>(self.core)->try_recv_locked(
          *static_cast<std::optional<typename element::type>*>(self.slot), sender);
    };
  }

  void run() {
    const bool ok = received_.has_value();
    const emptied_at_end guard{received_};
    if constexpr (std::is_void_v<T>) {
      if constexpr (std::is_invocable_v<F&, bool>) {
        std::invoke(handler_, ok);
      } else {
        constexpr bool callable = std::is_invocable_v<F&>;
        static_assert(callable,
                      "on_recv: the handler of a chan<void> must be callable with a bool or "
                      "without arguments");
        if constexpr (callable) {
          std::invoke(handler_);
        }
      }
    } else {
      constexpr handler_takes takes = what_handler_takes<F, T>();
      if constexpr (takes == handler_takes::element) {
        if (ok) {
          std::invoke(handler_, element::unwrap(*received_));
        }
      } else if constexpr (takes == handler_takes::optional) {
        std::invoke(handler_, ok ? std::optional<T>(element::unwrap(*received_)) : std::nullopt);
      } else if constexpr (takes == handler_takes::element_and_ok) {
        constexpr bool has_default = std::is_default_constructible_v<T>;
        static_assert(has_default,
                      "on_recv: a handler f(T&&, bool) gets T() from a closed channel, and T has "
                      "no default constructor; take std::optional<T> instead");
        if (ok) {
          std::invoke(handler_, element::unwrap(*received_), true);
        } else if constexpr (has_default) {
          std::invoke(handler_, T(), false);
        }
      } else {
        constexpr bool callable = std::is_invocable_v<F&>;
        static_assert(callable,
                      "on_recv: the handler must be callable with (T), with (std::optional<T>), "
                      "with (T&&, bool) or without arguments");
        received_.reset();  // the handler may take long
        if constexpr (callable) {
          std::invoke(handler_);
        }
      }
    }
  }

 private:
  using slot = std::optional<typename element::type>;

  /// A case may be kept for long: what it has received is not, if that makes a difference.
  struct emptied_at_end {
    slot& received;
    ~emptied_at_end() {
      if constexpr (!std::is_trivially_destructible_v<slot>) {
        received.reset();
      }
    }
  };

  case_channel<T> channel_;
  std::optional<typename element::type> received_;
  [[no_unique_address]] F handler_;
};

/// `Value` is T, owned, or T&, referred to. For a channel of signals both are std::monostate.
template <class T, class Value, class F>
class send_case : public select_case_base {
  using element = chan_element<T>;
  using core_type = typename chan_handle<T>::core_type;
  using box = typename element::type;

 public:
  template <class Channel, class V>
  send_case(Channel&& channel, V&& value, F handler)
      : channel_(std::forward<Channel>(channel)),
        value_(std::forward<V>(value)),
        handler_(std::move(handler)) {}

  /// Turns it into a case that owns its value.
  using owning = send_case<T, std::remove_reference_t<Value>, F>;
  owning with_own_value() && {
    return owning(std::move(channel_), std::move(value_), std::move(handler_));
  }

  static constexpr bool is_channel = true;

  quick_try try_now(machine* m) noexcept {
    core_type* const core = channel_.core();
    if constexpr (is_boxed) {
      return core == nullptr ? quick_try::not_ready : quick_try::unclear;
    } else {
      if (core == nullptr || core->surely_has_no_room()) {
        return quick_try::not_ready;
      }
      operation_.closed = false;
      wait_point* receiver = nullptr;
      core->lock().lock();
      const attempt outcome = core->try_send_locked(value_, receiver);
      core->lock().unlock();
      if (receiver != nullptr) {
        wake(m, *receiver);
      }
      return came_to(outcome);
    }
  }

  void own() noexcept { channel_.own(); }

  /// May throw std::bad_alloc, or what moving the value throws, if elements are boxed. `earlier`
  /// are the operations of the n cases before this one: one of them that offers the same value has
  /// it.
  void prepare(select_operation** earlier = nullptr, std::size_t n = 0) {
    operation_.core = channel_.core();
    operation_.sends = true;
    operation_.closed = false;
    operation_.try_locked = &try_send_from_slot<box>;
    if constexpr (is_boxed) {
      operation_.value = std::addressof(value_);
      operation_.slot = &boxed_;
      if (operation_.core != nullptr) {
        for (std::size_t i = 0; i != n; ++i) {
          const select_operation* const other = earlier[i];
          if (other->core != nullptr && other->value == operation_.value &&
              other->try_locked == operation_.try_locked) {
            operation_.slot = other->slot;
            return;
          }
        }
        boxed_ = element::wrap(std::move(value_));
      }
    } else {
      operation_.slot = &value_;
    }
  }

  /// If elements are boxed, throws what moving the value back throws.
  void release(bool /*chosen*/) noexcept(!is_boxed) {
    if constexpr (is_boxed) {
      if (boxed_ != nullptr) {
        const std::unique_ptr<T> mine = std::move(boxed_);
        put_back(value_, *mine);
      }
    }
  }

  void run() {
    if (operation_.closed) {
      base::throw_usage("select: send on closed channel");
    }
    call_handler(handler_);
  }

 private:
  static constexpr bool is_boxed = !std::is_same_v<T, box> && !std::is_void_v<T>;

  case_channel<T> channel_;
  Value value_;
  [[no_unique_address]] std::conditional_t<is_boxed, box, no_handler> boxed_{};
  [[no_unique_address]] F handler_;
};

template <class Duration, class F>
class timeout_case : public select_case_base {
 public:
  timeout_case(Duration time, F handler) : time_(time), handler_(std::move(handler)) {}

  void prepare() noexcept { deadline_ = time_detail::deadline_after(time_); }
  std::int64_t deadline() const noexcept { return deadline_; }
  void run() { call_handler(handler_); }

 private:
  Duration time_;
  std::int64_t deadline_ = no_deadline;
  [[no_unique_address]] F handler_;
};

template <class TimePoint, class F>
class deadline_case : public select_case_base {
 public:
  deadline_case(TimePoint when, F handler) : when_(when), handler_(std::move(handler)) {}

  void prepare() { deadline_ = time_detail::deadline_at(when_); }
  std::int64_t deadline() const noexcept { return deadline_; }
  static constexpr bool asks_clock =
      !std::is_same_v<typename TimePoint::clock, std::chrono::steady_clock>;
  bool has_come() {
    const bool has = time_detail::has_come(when_);
    if (!has) {
      prepare();
    }
    return has;
  }
  void run() { call_handler(handler_); }

 private:
  TimePoint when_;
  std::int64_t deadline_ = no_deadline;
  [[no_unique_address]] F handler_;
};

template <class F>
class default_case : public select_case_base {
 public:
  explicit default_case(F handler) : handler_(std::move(handler)) {}
  void run() { call_handler(handler_); }
  static constexpr bool is_default = true;

 private:
  [[no_unique_address]] F handler_;
};

template <class Case>
concept is_select_case = std::is_base_of_v<select_case_base, Case>;

}}}  // namespace thrum::THRUM_ABI::select_detail

#endif
