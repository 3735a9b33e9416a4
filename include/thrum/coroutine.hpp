// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// C++20 coroutines on a runtime: they await what goroutines wait for, and each waits for the other.
//
// A coroutine that waits keeps its frame and nothing else: no stack, no thread, and no allocation for the
// wait. How it comes back: detail/coroutine/executor.hpp.
#ifndef THRUM_COROUTINE_HPP
#define THRUM_COROUTINE_HPP

#include <thrum/chan.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/coroutine/executor.hpp>
#include <thrum/detail/coroutine/promise.hpp>
#include <thrum/detail/coroutine/select_wait.hpp>
#include <thrum/detail/coroutine/sync_waits.hpp>
#include <thrum/detail/coroutine/wait_end.hpp>
#include <thrum/detail/coroutine/waits.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/go.hpp>
#include <thrum/join_handle.hpp>
#include <thrum/runtime.hpp>
#include <thrum/select.hpp>  // IWYU pragma: export: the cases
#include <thrum/stop_condition.hpp>
#include <thrum/sync/mutex.hpp>
#include <thrum/sync/semaphore.hpp>
#include <thrum/sync/wait_group.hpp>

#include <chrono>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <variant>

namespace thrum { inline namespace THRUM_ABI {

/// What a coroutine returns that awaits thrum's operations: `co_task<int> read(...) { co_return 1; }`. It
/// starts when it is awaited, by another such coroutine, or passed to co_spawn. Move-only. An exception that
/// leaves it leaves the co_await, or the join.
///
/// Awaits: async_recv, async_send, async_select, async_sleep_for, async_lock, async_acquire, async_wait, a co_task, a co_handle, a join_handle. A call that blocks,
/// of thrum or another library, is allowed: it blocks the goroutine that runs the coroutine, and no
/// other coroutine. A coroutine may continue on another thread after each co_await.
///
/// When not to use: where the code may as well be a goroutine, whose functions need no co_await and whose waits
/// cost less.
template <class T = void>
class [[nodiscard]] co_task {
 public:
  /// For the compiler.
  struct promise_type : coroutine_detail::promise_of<T> {
    /// For the compiler.
    co_task get_return_object() noexcept {
      return co_task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
  };

  co_task(co_task&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  co_task& operator=(co_task&& other) noexcept {
    std::swap(frame_, other.frame_);
    return *this;
  }
  ~co_task() {
    if (frame_) {
      frame_.destroy();
    }
  }

  /// Runs it to its end, as a part of the coroutine that awaits it.
  auto operator co_await() && noexcept { return part(frame_); }

  /// For co_spawn.
  std::coroutine_handle<promise_type> release() noexcept { return std::exchange(frame_, nullptr); }

 private:
  explicit co_task(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}

  class part {
   public:
    explicit part(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}
    bool await_ready() const noexcept { return false; }
    template <std::derived_from<coroutine_detail::promise_base> P>
    void await_suspend(std::coroutine_handle<P> by) const noexcept {
      auto& own = frame_.promise();
      own.owner = by.promise().owner;
      own.parent = by;
      own.owner->on->next = frame_;
    }
    T await_resume() const { return frame_.promise().take(&coroutine_detail::exit_coroutine); }

   private:
    std::coroutine_handle<promise_type> frame_;
  };

  std::coroutine_handle<promise_type> frame_;
};

/// A coroutine that co_spawn has started, and its result. Move-only; the destructor joins. For one thread at
/// a time. `co_await handle` waits for its result in a coroutine.
template <class T>
class [[nodiscard]] co_handle {
  using state = coroutine_detail::task_of<typename co_task<T>::promise_type>;

 public:
  co_handle() noexcept = default;
  co_handle(co_handle&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
  co_handle& operator=(co_handle&& other) noexcept {
    if (this != &other) {
      co_handle old(std::move(*this));
      of_ = std::exchange(other.of_, nullptr);
    }
    return *this;
  }
  /// Blocks until the coroutine has ended. Not a cancellation point.
  ~co_handle() {
    if (of_ != nullptr) {
      wait(false, sched::no_deadline);
      of_->drop_reference();
    }
  }

  /// Waits for the coroutine to end and returns its result, or throws the exception that left it.
  /// Afterwards the handle is empty. If the coroutine was ended by its runtime's stop there is no result:
  /// throws goroutine_exit inside a goroutine, usage_error elsewhere. usage_error on an empty handle. A
  /// cancellation point.
  T join() {
    must_be_joinable();
    sched::exit_if_cancelled(wait(true, sched::no_deadline));
    return take_result();
  }

  /// Waits until the coroutine has ended or the time has come; true if it has ended. usage_error on an empty
  /// handle. A cancellation point.
  template <class Rep, class Period>
  [[nodiscard]] bool wait_for(std::chrono::duration<Rep, Period> time) {
    must_be_joinable();
    const auto cause = wait(true, time_detail::deadline_after(time));
    sched::exit_if_cancelled(cause);
    return cause == sched::wake_cause::notified;
  }

  /// Whether the coroutine has ended. False for an empty handle. Does not block.
  bool done() const noexcept { return of_ != nullptr && of_->is_done(); }

  /// Whether there is a coroutine to join.
  bool joinable() const noexcept { return of_ != nullptr; }

  /// Lets the coroutine run on by itself; its result, or the exception that leaves it, is dropped, as that of a
  /// join_handle is: standard error says it once.
  /// usage_error on an empty handle.
  void detach() {
    must_be_joinable();
    std::exchange(of_, nullptr)->drop_reference();
  }

  /// For co_spawn.
  explicit co_handle(state* of) noexcept : of_(of) {}
  /// For co_await.
  state* target() const noexcept { return of_; }
  /// For co_await: join() without a wait.
  T take_result() {
    must_be_joinable();
    struct last_use {
      state* of;
      ~last_use() { of->drop_reference(); }
    } const taken{std::exchange(of_, nullptr)};
    if (!THRUM_EXCEPTIONS && taken.of->exited) {
      taken.of->result().result.exited = true;
    }
    return taken.of->result().take([] {
      if (sched::is_goroutine()) {
        coroutine_detail::exit_coroutine();
      }
      base::throw_usage(
          "co_handle::join: the coroutine has no result; it was ended by its runtime's stop");
    });
  }

 private:
  void must_be_joinable() const {
    if (of_ == nullptr) {
      base::throw_usage("co_handle: the handle is empty; it was joined, detached or moved");
    }
  }

  sched::wake_cause wait(bool cancellable, std::int64_t deadline) noexcept {
    sched::section here;
    sched::wait_point point(here.g(), of_, [](sched::wait_point& self, bool locked) noexcept {
      return static_cast<state*>(self.object)->withdraw_joiner(self, locked);
    });
    if (!of_->lock_to_wait(point)) {
      return sched::wake_cause::notified;
    }
    return sched::wait(here, point, of_->join_lock(),
                       {sched::wait_reason::join, cancellable, deadline});
  }

  state* of_ = nullptr;
};

/// Starts a coroutine on a runtime and returns the handle on its result. Any thread. usage_error if the
/// runtime is stopped; std::system_error if there is no memory for a stack. Does not block.
template <class T>
co_handle<T> co_spawn(runtime& on, co_task<T> what) {
  using state = coroutine_detail::task_of<typename co_task<T>::promise_type>;
  auto* const made = new state(what.release());
  THRUM_TRY { coroutine_detail::executor::add(on, *made); }
  THRUM_CATCH_ALL {
    made->drop_reference();
    made->drop_reference();
    THRUM_RETHROW;
  }
  made->runs_on->push(made->start);
  return co_handle<T>(made);
}

/// Starts a coroutine on the current runtime. usage_error outside of one.
template <class T>
co_handle<T> co_spawn(co_task<T> what) {
  return co_spawn(go_detail::runtime_of({}, "co_spawn"), std::move(what));
}

/// Awaits a coroutine that was started by co_spawn: its result, or the exception that left it. The handle is
/// empty afterwards.
template <class T>
auto operator co_await(co_handle<T>& handle) noexcept {
  return coroutine_detail::task_wait<co_handle<T>>(handle);
}
template <class T>
auto operator co_await(co_handle<T>&& handle) noexcept {
  return coroutine_detail::task_wait<co_handle<T>>(handle);
}

/// Awaits a goroutine: its result, or the exception that left it. The handle is empty afterwards.
template <class T>
auto operator co_await(join_handle<T>& handle) noexcept {
  return coroutine_detail::join_wait<T>(handle);
}
template <class T>
auto operator co_await(join_handle<T>&& handle) noexcept {
  return coroutine_detail::join_wait<T>(handle);
}

/// `co_await async_recv(c)` is the next element, as chan::recv returns it; of a channel of signals, a
/// signal_status. `until` ends the wait, as in recv(until).
template <class T>
auto async_recv(const chan<T>& from) {
  return coroutine_detail::recv_of<T>(from.core());
}
template <class T>
auto async_recv(const recv_chan<T>& from) {
  return coroutine_detail::recv_of<T>(from.core());
}
template <class T, until_condition Until>
auto async_recv(const chan<T>& from, const Until& until) {
  return coroutine_detail::recv_of<T>(from.core(), until);
}
template <class T, until_condition Until>
auto async_recv(const recv_chan<T>& from, const Until& until) {
  return coroutine_detail::recv_of<T>(from.core(), until);
}

/// `co_await async_send(c, value)` sends; usage_error if the channel is closed. With `until`: whether it did
/// before; else the value is dropped. A channel of signals takes no value.
template <class T>
auto async_send(const chan<T>& to, std::type_identity_t<T> value) {
  return coroutine_detail::send_of<T>(to.core(), std::move(value));
}
template <class T>
auto async_send(const send_chan<T>& to, std::type_identity_t<T> value) {
  return coroutine_detail::send_of<T>(to.core(), std::move(value));
}
template <class T, until_condition Until>
auto async_send(const chan<T>& to, std::type_identity_t<T> value, const Until& until) {
  return coroutine_detail::send_of<T>(to.core(), std::move(value), until);
}
template <class T, until_condition Until>
auto async_send(const send_chan<T>& to, std::type_identity_t<T> value, const Until& until) {
  return coroutine_detail::send_of<T>(to.core(), std::move(value), until);
}
inline auto async_send(const send_chan<void>& to) {
  return coroutine_detail::send_of<void>(to.core(), std::monostate());
}
template <until_condition Until>
auto async_send(const send_chan<void>& to, const Until& until) {
  return coroutine_detail::send_of<void>(to.core(), std::monostate(), until);
}

/// `co_await async_sleep_for(time)` sleeps. With `until`: whether the time passed before.
template <class Rep, class Period>
auto async_sleep_for(std::chrono::duration<Rep, Period> time) {
  return coroutine_detail::sleep_wait<coroutine_detail::ended_by_clock>(
      time_detail::end_of_sleep(time_detail::nanoseconds_of(time)));
}
template <class Rep, class Period, until_condition Until>
auto async_sleep_for(std::chrono::duration<Rep, Period> time, const Until& until) {
  using end = coroutine_detail::ended_by<Until>;
  return coroutine_detail::sleep_wait<end>(
      time_detail::end_of_sleep(time_detail::nanoseconds_of(time)), end(until));
}

/// `const std::size_t i = co_await async_select(on_recv(c, f), on_timeout(1s))` carries out one of the cases, as
/// select does, calls its handler in the coroutine and is its index. A descriptor's readiness, the end of a goroutine
/// and a stop or a context are cases, too: io::on_readable, io::on_writable, on_join, on_done. The cases are moved;
/// what they refer to must outlive the wait. usage_error if a chosen case sends to a closed channel; and what the
/// handler throws.
template <class... Cases>
requires(select_detail::is_select_case<Cases>&&...) auto async_select(Cases... cases) {
  static_assert(sizeof...(Cases) != 0, "async_select: it has no cases; pass one at least");
  return coroutine_detail::select_wait<Cases...>(std::move(cases)...);
}

/// `const auto lock = co_await async_lock(m)` locks a mutex and gives the std::unique_lock that owns it. With
/// `until`: one that owns nothing if the mutex was not free before. Do not block, or await what waits for the
/// mutex, while it is locked.
inline auto async_lock(mutex& of) {
  return coroutine_detail::lock_wait<coroutine_detail::endless>(of);
}
template <until_condition Until>
auto async_lock(mutex& of, const Until& until) {
  using end = coroutine_detail::ended_by<Until>;
  return coroutine_detail::lock_wait<end>(of, end(until));
}

/// `co_await async_acquire(s)` takes a permit of a semaphore. With `until`: whether it did before.
template <std::ptrdiff_t LeastMax>
auto async_acquire(counting_semaphore<LeastMax>& from) {
  return coroutine_detail::acquire_wait<LeastMax, coroutine_detail::endless>(from);
}
template <std::ptrdiff_t LeastMax, until_condition Until>
auto async_acquire(counting_semaphore<LeastMax>& from, const Until& until) {
  using end = coroutine_detail::ended_by<Until>;
  return coroutine_detail::acquire_wait<LeastMax, end>(from, end(until));
}

/// `co_await async_wait(group)` waits until the count of a wait_group is zero. With `until`: whether it was
/// before.
inline auto async_wait(wait_group& on) {
  return coroutine_detail::group_wait<coroutine_detail::endless>(on);
}
template <until_condition Until>
auto async_wait(wait_group& on, const Until& until) {
  using end = coroutine_detail::ended_by<Until>;
  return coroutine_detail::group_wait<end>(on, end(until));
}

}}  // namespace thrum::THRUM_ABI

#endif
