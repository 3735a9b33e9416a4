// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Senders (P2300) on a runtime: a scheduler, and a sender of everything that a coroutine can await.
//
// Which senders: THRUM_EXECUTION_NAMESPACE names the namespace of those that the file has included before, for
// example beman::execution. Else stdexec if the compiler finds it, else std::execution.
#ifndef THRUM_INTEROP_EXECUTION_HPP
#define THRUM_INTEROP_EXECUTION_HPP

#include <version>

#if defined(THRUM_EXECUTION_NAMESPACE)
#elif __has_include(<stdexec/execution.hpp>)
#include <stdexec/execution.hpp>
#define THRUM_EXECUTION_NAMESPACE stdexec
#elif defined(__cpp_lib_senders)
#include <execution>
#include <stop_token>
#define THRUM_EXECUTION_NAMESPACE std::execution
#define THRUM_EXECUTION_OF_STD 1
#else
#error \
    "thrum/interop/execution.hpp: there are no senders; put stdexec on the include path, or use a standard library that has std::execution"
#endif

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/coroutine/promise.hpp>
#include <thrum/detail/coroutine/wait_end.hpp>
#include <thrum/detail/sched/run/wait_point.hpp>
#include <thrum/go.hpp>
#include <thrum/runtime.hpp>
#include <thrum/waiter.hpp>

#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace thrum { inline namespace THRUM_ABI {

class execution_scheduler;

namespace execution_detail {

namespace lib {
using namespace ::THRUM_EXECUTION_NAMESPACE;
#if THRUM_EXECUTION_OF_STD
using std::get_stop_token;
using std::stop_callback_for_t;
using std::stop_token_of_t;
#endif
}  // namespace lib

/// What schedule() waits for: a goroutine that continues it.
class turn : public coroutine_detail::awaiting<turn, coroutine_detail::endless> {
 public:
  bool start(bool /*may_wait*/) noexcept {
    return coroutine_detail::not_waiting(*this, sched::wake_cause::notified);
  }
  void await_resume() const noexcept {}
};
struct make_turn {
  turn operator()() const noexcept { return turn(); }
};

template <class Make>
using result_of = decltype(std::declval<std::invoke_result_t<Make&>&>().await_resume());

template <class T>
struct value_signature {
  using type = lib::set_value_t(T);
};
template <>
struct value_signature<void> {
  using type = lib::set_value_t();
};

/// A waiter that ends by a call of the receiver.
template <class Make, class Receiver>
class operation {
 public:
  using operation_state_concept = lib::operation_state_t;

  operation(runtime& on, Make make, Receiver receiver)
      : on_(on), receiver_(std::move(receiver)), waits_(std::move(make), complete{this}) {}
  operation(const operation&) = delete;
  operation& operator=(const operation&) = delete;

  void start() & noexcept {
    THRUM_TRY {
      stop_.emplace(lib::get_stop_token(lib::get_env(receiver_)), cancel{this});
      waits_.start(on_);
    }
    THRUM_CATCH_ALL {
      stop_.reset();
      if (on_.scheduler().ending.has_begun()) {
        lib::set_stopped(std::move(receiver_));
      } else {
        lib::set_error(std::move(receiver_), std::current_exception());
      }
    }
  }

 private:
  struct complete {
    operation* of;
    void operator()(waiter<Make, complete>& ended) const noexcept { of->finish(ended); }
  };
  struct cancel {
    operation* of;
    void operator()() const noexcept { of->waits_.cancel(); }
  };
  using stop_callback =
      lib::stop_callback_for_t<lib::stop_token_of_t<lib::env_of_t<Receiver>>, cancel>;

  /// The receiver may destroy the operation.
  void finish(waiter<Make, complete>& ended) noexcept {
    stop_.reset();  // waits for a stop that is being requested
    if (ended.is_cancelled()) {
      lib::set_stopped(std::move(receiver_));
      return;
    }
    THRUM_TRY {
      if constexpr (std::is_void_v<result_of<Make>>) {
        ended.result();
        lib::set_value(std::move(receiver_));
      } else {
        result_of<Make> value = ended.result();
        lib::set_value(std::move(receiver_), std::forward<result_of<Make>>(value));
      }
    }
    THRUM_CATCH_ALL { lib::set_error(std::move(receiver_), std::current_exception()); }
  }

  runtime& on_;
  Receiver receiver_;
  waiter<Make, complete> waits_;
  std::optional<stop_callback> stop_;
};

template <class Make>
class sender {
 public:
  using sender_concept = lib::sender_t;
  using completion_signatures =
      lib::completion_signatures<typename value_signature<result_of<Make>>::type,
                                 lib::set_error_t(std::exception_ptr), lib::set_stopped_t()>;

  sender(runtime& on, Make make) : on_(&on), make_(std::move(make)) {}

  template <class Receiver>
  auto connect(Receiver receiver) && {
    return operation<Make, Receiver>(*on_, std::move(make_), std::move(receiver));
  }
  template <class Receiver>
  auto connect(Receiver receiver) const& {
    return operation<Make, Receiver>(*on_, make_, std::move(receiver));
  }

  class env;
  env get_env() const noexcept { return env(*on_); }

 private:
  runtime* on_;
  Make make_;
};

}  // namespace execution_detail

/// A scheduler of P2300: what follows schedule() runs on a goroutine of the runtime, so it may block. Copies are
/// equal to those of the same runtime, which must outlive all that is scheduled. Once the runtime is stopped,
/// schedule() completes as stopped.
class execution_scheduler {
 public:
  using scheduler_concept = execution_detail::lib::scheduler_t;

  /// On the current runtime. usage_error outside of one.
  execution_scheduler() : on_(&go_detail::runtime_of({}, "execution_scheduler")) {}
  explicit execution_scheduler(runtime& on) noexcept : on_(&on) {}

  /// A sender of nothing, which completes on a goroutine. Never inside start().
  execution_detail::sender<execution_detail::make_turn> schedule() const {
    return {*on_, execution_detail::make_turn()};
  }

  friend bool operator==(const execution_scheduler&, const execution_scheduler&) noexcept = default;

 private:
  runtime* on_;
};

namespace execution_detail {

/// Says where a sender completes.
template <class Make>
class sender<Make>::env {
 public:
  explicit env(runtime& on) noexcept : on_(&on) {}
  execution_scheduler query(
      lib::get_completion_scheduler_t<lib::set_value_t> /*what*/) const noexcept {
    return execution_scheduler(*on_);
  }

 private:
  runtime* on_;
};

}  // namespace execution_detail

/// A sender of what a coroutine awaits: `as_sender(on, [c] { return thrum::async_recv(c); })`. `make` is called when
/// the operation is started; what it captures lives as long as the operation. Completes on a goroutine of the
/// runtime, never inside start(): set_value with what co_await returns, set_error with the std::exception_ptr of
/// what it throws, set_stopped if the receiver's stop token or the runtime ended the wait. Copies the function if
/// it is connected as an lvalue. No wait allocates.
template <makes_wait Make>
auto as_sender(runtime& on, Make make) {
  return execution_detail::sender<Make>(on, std::move(make));
}

/// as_sender on the current runtime. usage_error outside of one.
template <makes_wait Make>
auto as_sender(Make make) {
  return as_sender(go_detail::runtime_of({}, "as_sender"), std::move(make));
}

}}  // namespace thrum::THRUM_ABI

#endif
