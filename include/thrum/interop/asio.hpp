// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Asio, standalone or Boost's, on goroutines: a completion token that parks the goroutine, and an execution
// context whose functions are goroutines.
//
// Which Asio: the one that the file has included before, else standalone Asio if the compiler finds it, else
// Boost's. THRUM_ASIO_BOOST says so itself: 1 is Boost's, 0 the standalone one.
#ifndef THRUM_INTEROP_ASIO_HPP
#define THRUM_INTEROP_ASIO_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/interop/asio_operation.hpp>
#include <thrum/detail/start/stoppable.hpp>
#include <thrum/detail/start/task.hpp>
#include <thrum/go.hpp>
#include <thrum/runtime.hpp>
#include <thrum/stop_condition.hpp>

#include <type_traits>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { inline namespace THRUM_ASIO_NAMES {

/// A completion token of Asio: the operation is started, and the goroutine parks until it has ended. The thread
/// goes on.
///
///   std::size_t n = socket.async_read_some(buffer, thrum::use_goroutine);
///   std::size_t n = socket.async_read_some(buffer, thrum::use_goroutine(ec));
///   std::size_t n = socket.async_read_some(buffer, thrum::use_goroutine.until(3s));
///
/// The call returns what the handler is given behind its error: nothing, a value, or a std::tuple. An error is
/// thrown as Asio's system_error, or is stored in `ec`, which is cleared on success. An exception that is given
/// to the handler is thrown in both forms. operation_aborted: Asio destroyed the handler without a call, as an
/// io_context does that ends. A cancellation point: a stop of the runtime cancels the operation, and throws
/// goroutine_exit when it has ended. Any thread may call it; one that runs no goroutine blocks.
template <class Until = asio_detail::endless>
class use_goroutine_t {
 public:
  /// For `use_goroutine`.
  constexpr use_goroutine_t() noexcept = default;
  /// For the library.
  constexpr use_goroutine_t(Until until, asio_detail::error_code* error)
      : until_(std::move(until)), error_(error) {}

  /// Errors go to `error`.
  constexpr use_goroutine_t operator()(asio_detail::error_code& error) const {
    return use_goroutine_t(until_, &error);
  }

#if THRUM_ASIO_CANCELS
  /// The operation is cancelled at an end: a time from the call, a moment of any clock, a std::stop_token or a
  /// context. The call returns when the operation has ended. Error: timed_out after a time or a moment, else
  /// operation_aborted; an operation that succeeded meanwhile keeps its result. After the end no operation is
  /// started. An operation that knows no cancellation slots is waited for.
  template <until_condition End>
  constexpr use_goroutine_t<End> until(const End& end) const {
    return use_goroutine_t<End>(end, error_);
  }
#endif

  /// For the library.
  constexpr const Until& end() const noexcept { return until_; }
  /// For the library.
  constexpr asio_detail::error_code* error() const noexcept { return error_; }

 private:
  Until until_{};
  asio_detail::error_code* error_ = nullptr;
};

/// The completion token.
inline constexpr use_goroutine_t<> use_goroutine{};

/// An execution context of Asio whose functions run as goroutines of a runtime: for sockets and timers, and as
/// the place of asio::post, strands and bind_executor. Needs no run(): Asio's own thread watches the
/// descriptors, and each handler is a goroutine.
///
/// The runtime must outlive it. Once the runtime is stopped, functions are destroyed without a call. An exception
/// that leaves a function is a panic, as in each goroutine.
class asio_context : public asio_detail::lib::execution_context {
 public:
  class executor_type;

  /// On the current runtime. usage_error outside of one.
  asio_context() : asio_context(go_detail::runtime_of({}, "asio_context")) {}
  explicit asio_context(runtime& on) noexcept : on_(on) {}
  asio_context(const asio_context&) = delete;
  asio_context& operator=(const asio_context&) = delete;

  /// Starts no function any more, waits for those that run, and destroys the handlers of operations that have
  /// not ended. Not from one of its own functions. Not a cancellation point.
  ~asio_context() {
    running_.close();
    running_.drop();
    running_.wait_to_the_end();
    shutdown();
    destroy();
  }

  /// An executor of it. Any thread.
  executor_type get_executor() noexcept;

 private:
  template <class F>
  class function {
   public:
    function(asio_detail::part part, F&& call) : part_(std::move(part)), call_(std::move(call)) {}
    void operator()() { std::move(call_)(); }

   private:
    asio_detail::part part_;  // destroyed last
    F call_;
  };

  template <class F>
  void start(F call) {
    if (on_.scheduler().ending.has_begun() && runtime::current() != &on_) {
      return;
    }
    if (running_.add()) {
      go_detail::start_task(on_.scheduler(),
                            function<F>(asio_detail::part(running_), std::move(call)));
    }
  }

  runtime& on_;
  asio_detail::countdown running_{1};
};

/// An executor of Asio: execute(f) starts f as a goroutine, and never runs it in the call.
class asio_context::executor_type {
 public:
  /// Starts f as a goroutine. Any thread. std::system_error if there is no memory for its stack.
  template <class F>
  void execute(F&& f) const {
    of_->start<std::decay_t<F>>(std::forward<F>(f));
  }

  /// The context that it belongs to.
  asio_context& context() const noexcept { return *of_; }
  /// For Asio.
  asio_context& query(asio_detail::lib::execution::context_t /*what*/) const noexcept {
    return *of_;
  }
  /// For Asio: blocking.never.
  static constexpr asio_detail::lib::execution::blocking_t query(
      asio_detail::lib::execution::blocking_t /*what*/) noexcept {
    return asio_detail::lib::execution::blocking_t::never_t();
  }
  /// For Asio: as it is.
  executor_type require(asio_detail::lib::execution::blocking_t::never_t /*what*/) const noexcept {
    return *this;
  }

  /// Whether both start goroutines for the same context.
  friend bool operator==(const executor_type& a, const executor_type& b) noexcept {
    return a.of_ == b.of_;
  }
  friend bool operator!=(const executor_type& a, const executor_type& b) noexcept {
    return a.of_ != b.of_;
  }

 private:
  friend class asio_context;
  explicit executor_type(asio_context& of) noexcept : of_(&of) {}

  asio_context* of_;
};

inline asio_context::executor_type asio_context::get_executor() noexcept {
  return executor_type(*this);
}

}}}  // namespace thrum::THRUM_ABI::THRUM_ASIO_NAMES

/// How Asio starts an operation with the token.
template <class Until, class R, class... Args>
class thrum::asio_detail::lib::async_result<thrum::use_goroutine_t<Until>, R(Args...)> {
  using operation = thrum::asio_detail::operation<std::decay_t<Args>...>;
  using token_type = thrum::use_goroutine_t<Until>;

 public:
  using return_type = typename operation::result;

  template <class Initiation, class... From>
  static return_type initiate(Initiation&& initiation, const token_type& token, From&&... from) {
    operation what;
    if constexpr (std::is_same_v<Until, thrum::asio_detail::endless>) {
      start(what, std::forward<Initiation>(initiation), std::forward<From>(from)...);
      return what.take(token.error(), what.wait(token.end()));
    } else {
      const auto& end = thrum::stop_detail::ending(token.end());
      using end_type = std::remove_cvref_t<decltype(end)>;
      if (thrum::stop_detail::is_over(end)) {
        what.left().drop();
        return what.take(token.error(), operation::template end_of<end_type>);
      }
      start(what, std::forward<Initiation>(initiation), std::forward<From>(from)...);
      return what.take(token.error(), what.wait(end));
    }
  }

 private:
  /// Not inlined: Asio looks at thread_locals, whose addresses the compiler must not keep across the wait.
  template <class Initiation, class... From>
  THRUM_NOINLINE static void start(operation& what, Initiation&& initiation, From&&... from) {
    std::forward<Initiation>(initiation)(thrum::asio_detail::handler<operation>(what),
                                         std::forward<From>(from)...);
  }
};

template <class Operation, class Executor>
struct thrum::asio_detail::lib::associated_executor<thrum::asio_detail::handler<Operation>,
                                                    Executor> {
  using type = Executor;
  static type get(const thrum::asio_detail::handler<Operation>& of,
                  const Executor& of_object = Executor()) noexcept {
    of.of().learn_executor(of_object);
    return of_object;
  }
};

#endif
