// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What <thrum/interop/execution.hpp> uses of an implementation of senders, for tests without one. With stdexec: that.
#ifndef THRUM_TESTS_SUPPORT_SENDERS_HPP
#define THRUM_TESTS_SUPPORT_SENDERS_HPP

#if __has_include(<stdexec/execution.hpp>)
#include <stdexec/execution.hpp>
namespace support {
namespace senders = stdexec;
}
#else
#include <utility>

namespace support::senders {

struct sender_t {};
struct receiver_t {};
struct operation_state_t {};
struct scheduler_t {};

struct set_value_t {
  template <class R, class... V>
  void operator()(R&& to, V&&... values) const noexcept {
    std::forward<R>(to).set_value(std::forward<V>(values)...);
  }
};
struct set_error_t {
  template <class R, class E>
  void operator()(R&& to, E&& error) const noexcept {
    std::forward<R>(to).set_error(std::forward<E>(error));
  }
};
struct set_stopped_t {
  template <class R>
  void operator()(R&& to) const noexcept {
    std::forward<R>(to).set_stopped();
  }
};
inline constexpr set_value_t set_value;
inline constexpr set_error_t set_error;
inline constexpr set_stopped_t set_stopped;

template <class... Signatures>
struct completion_signatures {};
template <class Tag>
struct get_completion_scheduler_t {};
template <class Tag>
inline constexpr get_completion_scheduler_t<Tag> get_completion_scheduler;

template <class T>
auto get_env(const T& of) noexcept {
  return of.get_env();
}
template <class T>
using env_of_t = decltype(get_env(std::declval<const T&>()));

struct get_stop_token_t {
  template <class Env>
  auto operator()(const Env& env) const noexcept {
    return env.query(*this);
  }
};
inline constexpr get_stop_token_t get_stop_token;
template <class Env>
using stop_token_of_t = decltype(get_stop_token(std::declval<const Env&>()));
template <class Token, class F>
using stop_callback_for_t = typename Token::template callback_type<F>;

template <class Sender, class Receiver>
auto connect(Sender&& sender, Receiver receiver) {
  return std::forward<Sender>(sender).connect(std::move(receiver));
}
template <class Operation>
void start(Operation& operation) noexcept {
  operation.start();
}
template <class Scheduler>
auto schedule(const Scheduler& on) {
  return on.schedule();
}

}  // namespace support::senders
#endif

#define THRUM_EXECUTION_NAMESPACE support::senders

#endif
