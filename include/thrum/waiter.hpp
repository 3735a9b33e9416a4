// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A wait that ends by a call of a function: for state machines, and for glue to other libraries' ways to wait.
//
// It is the wait of a coroutine (coroutine.hpp) without the coroutine: the same operations, the same goroutines
// that continue what has waited, no stack and no allocation for a wait.
#ifndef THRUM_WAITER_HPP
#define THRUM_WAITER_HPP

#include <thrum/coroutine.hpp>  // IWYU pragma: export: the waits
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/coroutine/executor.hpp>
#include <thrum/detail/coroutine/promise.hpp>
#include <thrum/detail/sched/run/wait_point.hpp>
#include <thrum/go.hpp>
#include <thrum/runtime.hpp>

#include <concepts>
#include <new>
#include <type_traits>
#include <utility>

namespace thrum { inline namespace THRUM_ABI {

/// A function that returns what a coroutine awaits: `[c] { return thrum::async_recv(c); }`. What it refers to must
/// outlive the wait; what it captures does.
template <class F>
concept makes_wait = requires(F& make) {
  { make().begin(std::declval<coroutine_detail::wait_owner&>()) } -> std::same_as<bool>;
};

/// One wait at a time, of a function that returns what a coroutine awaits. When the wait has ended, `then(*this)` is
/// called once on a goroutine of the runtime, never inside start() or cancel(). It may take the result, start the
/// next wait, block, or destroy the waiter as the last that it does. It must not throw. Neither copied nor moved;
/// no wait allocates. While it waits, it must not be destroyed: that ends the program with a message.
///
///   thrum::waiter reader([c] { return thrum::async_recv(c); }, [](auto& self) {
///     if (const auto item = self.result()) {
///       use(*item);
///       self.start();
///     }
///   });
///   reader.start(runtime);
///
/// When not to use: where the code may be a goroutine or a coroutine.
template <makes_wait Make, class Then>
class waiter : private coroutine_detail::wait_owner {
 public:
  /// Does nothing yet. Whatever throws when `make` and `then` are moved leaves it.
  waiter(Make make, Then then)
      : wait_owner(&continue_this), make_(std::move(make)), then_(std::move(then)) {}
  ~waiter() {
    if (waits_) {
      base::fatal(
          "waiter: it is destroyed while it waits; cancel() it, and destroy it when its function "
          "has been called");
    }
    end_last();
  }

  /// Starts a wait on a runtime. Any thread; does not block. usage_error if it waits already or the runtime is
  /// stopped; std::system_error if there is no memory for a stack; what `make` throws.
  void start(runtime& on) {
    if (waits_) {
      base::throw_usage(
          "waiter::start: it waits already; start it again when its function has been called");
    }
    end_last();
    ::new (static_cast<void*>(&wait_)) wait_type(make_());
    is_made_ = true;
    coroutine_detail::executor::add(on, *this);
    waits_ = true;
    coroutine_detail::executor& by = *runs_on;
    coroutine_detail::wait_record& record = wait_;
    if (cancellation.is_requested()) {
      record.owner = this;
      record.cause.set(sched::wake_cause::cancelled);
    } else {
      THRUM_TRY {
        if (wait_.begin(*this)) {
          return;  // and may be gone
        }
      }
      THRUM_CATCH_ALL {
        waits_ = false;
        by.remove(*this);
        THRUM_RETHROW;
      }
    }
    record.again = nullptr;
    by.push(record);
  }

  /// Starts a wait on the current runtime. usage_error outside of one.
  void start() { start(go_detail::runtime_of({}, "waiter::start")); }

  /// Ends the wait, and all that are started later, as the stop of the runtime does. A wait that ended otherwise
  /// keeps its result. Any thread, as long as the waiter is not destroyed before cancel() returns. Does not block.
  void cancel() noexcept { wait_owner::cancel(); }

  /// For `then`: whether the wait was ended by cancel() or by the stop of its runtime. Then there is no result, and
  /// to start again ends at once.
  bool is_cancelled() const noexcept { return wait_.cause.get() == sched::wake_cause::cancelled; }

  /// For `then`, once: what co_await returns or throws. goroutine_exit if is_cancelled().
  decltype(auto) result() { return wait_.await_resume(); }

 private:
  using wait_type = std::invoke_result_t<Make&>;

  static void continue_this(wait_owner& self, coroutine_detail::wait_record& /*ended*/) noexcept {
    auto& own = static_cast<waiter&>(self);
    own.runs_on->remove(own);
    own.waits_ = false;
    own.then_(own);
  }

  void end_last() noexcept {
    if (std::exchange(is_made_, false)) {
      wait_.~wait_type();
    }
  }

  Make make_;
  Then then_;
  bool waits_ = false;
  bool is_made_ = false;
  union {
    wait_type wait_;
  };
};

}}  // namespace thrum::THRUM_ABI

#endif
