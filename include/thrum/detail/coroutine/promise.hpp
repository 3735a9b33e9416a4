// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the frame of a coroutine has besides its variables, and what all waits of coroutines share.
#ifndef THRUM_DETAIL_COROUTINE_PROMISE_HPP
#define THRUM_DETAIL_COROUTINE_PROMISE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/coroutine/carry.hpp>  // IWYU pragma: keep: the bodies of executor
#include <thrum/detail/coroutine/executor.hpp>
#include <thrum/detail/coroutine/wait_end.hpp>
#include <thrum/join_handle.hpp>

#include <concepts>
#include <coroutine>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace coroutine_detail {

struct promise_base {
  task* owner = nullptr;
  std::coroutine_handle<> parent{};  // null: co_spawn has started it

  std::suspend_always initial_suspend() const noexcept { return {}; }

  struct at_end {
    bool await_ready() const noexcept { return false; }
    template <std::derived_from<promise_base> P>
    void await_suspend(std::coroutine_handle<P> ended) const noexcept {
      promise_base& of = ended.promise();
      carrier& on = *of.owner->on;
      if (of.parent) {
        on.next = of.parent;
      } else {
        on.ended = of.owner;
      }
    }
    void await_resume() const noexcept {}
  };
  at_end final_suspend() const noexcept { return {}; }
};

template <class T>
struct promise_with_result : promise_base {
  go_detail::result_slot<T> result;

  void unhandled_exception() noexcept {
#if THRUM_EXCEPTIONS
    try {
      throw;
    } catch (const goroutine_exit&) {
      result.exited = true;
    } catch (...) {
      result.error = std::current_exception();
    }
#endif
  }

  /// The value, or throws what left the coroutine. `exit` is called if there is neither.
  template <class Exit>
  T take(Exit exit) {
#if THRUM_EXCEPTIONS
    if (result.error) {
      std::rethrow_exception(std::exchange(result.error, nullptr));
    }
#endif
    if (result.exited) {
      exit();
    }
    if constexpr (std::is_reference_v<T>) {
      return static_cast<T>(**result.value);
    } else if constexpr (!std::is_void_v<T>) {
      return std::move(*result.value);
    }
  }
};

template <class T>
struct promise_of : promise_with_result<T> {
  template <class U = T>
  requires(std::is_convertible_v<U&&, T>) void return_value(U&& value) {
    if constexpr (std::is_reference_v<T>) {
      T referred = std::forward<U>(value);
      this->result.value.emplace(std::addressof(referred));
    } else {
      this->result.value.emplace(std::forward<U>(value));
    }
  }
};
template <>
struct promise_of<void> : promise_with_result<void> {
  void return_void() const noexcept {}
};

/// A task with its frame.
template <class Promise>
class task_of final : public task {
 public:
  explicit task_of(std::coroutine_handle<Promise> frame) noexcept : task(&destroy), frame_(frame) {
    frame.promise().owner = this;
    start.owner = this;
    start.waits = frame;
    start.cause.set(wake_cause::notified);
  }
  Promise& result() const noexcept { return frame_.promise(); }

 private:
  static void destroy(task& self) noexcept {
    auto* const own = static_cast<task_of*>(&self);
    go_detail::report_if_lost(nullptr, own->result().result);
    own->frame_.destroy();
    delete own;
  }
  std::coroutine_handle<Promise> frame_;
};

/// Ends a coroutine whose runtime stops.
[[noreturn]] THRUM_COLD inline void exit_coroutine() {
#if THRUM_EXCEPTIONS
  throw goroutine_exit();
#else
  __builtin_unreachable();  // it is destroyed where it waits
#endif
}

/// A wait, and what a coroutine awaits. Self has start(may_wait): true if it waits, and another thread may
/// continue the owner by then; else `cause` says what came of it. And await_resume(), the result.
template <class Self, class End>
class awaiting : public wait_record {
 public:
  bool await_ready() const noexcept { return false; }

  // Not inlined: a compiler may keep a variable of this function in the frame, which another thread may use
  // already.
  template <std::derived_from<promise_base> P>
  THRUM_NOINLINE bool await_suspend(std::coroutine_handle<P> by) {
    waits = by;
    task& of = *by.promise().owner;
    if (static_cast<Self*>(this)->begin(of)) [[likely]] {
      return true;
    }
#if !THRUM_EXCEPTIONS
    if (cause.get() == wake_cause::cancelled) {
      of.exited = true;
      of.on->ended = &of;
      return true;
    }
#endif
    return false;
  }

  /// Begins the first wait. True: it waits, or has ended on another thread already.
  bool begin(wait_owner& of) {
    owner = &of;
    until = end_.prepare();
    if (static_cast<Self*>(this)->start(true)) [[likely]] {
      return true;
    }
    end_wait(*this);
    return false;
  }

 protected:
  explicit awaiting(End end = {}) : end_(std::move(end)) {}

  /// After a wait: throws if the runtime stops.
  void exit_if_cancelled() const {
    if (cause.get() == wake_cause::cancelled) [[unlikely]] {
      exit_coroutine();
    }
  }

  /// For `again`.
  static bool start_again(wait_record& self) noexcept {
    auto& own = static_cast<Self&>(self);
    renew(own);
    own.until = own.end_.prepare();
    if (own.start(!own.end_.is_over())) {
      return true;
    }
    end_wait(own);
    return false;
  }

  End end_;
};

/// Ends a start() that need not wait.
inline bool not_waiting(wait_record& self, wake_cause cause) noexcept {
  self.cause.set(cause);
  return false;
}

}}}  // namespace thrum::THRUM_ABI::coroutine_detail

#endif
