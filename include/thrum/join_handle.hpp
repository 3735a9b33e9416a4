// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// join_handle: how the caller of spawn gets the goroutine's result.
//
// The result lies on the goroutine's own stack, beside the callable, so spawn allocates nothing
// that go does not. In exchange the handle owns the dead goroutine, stack and all, until it is
// joined or destroyed; the runtime that it ran on may be gone by then. Which side may do what, and
// when, is said at `join_state`; how a goroutine ends is in sched/run/end.hpp.
#ifndef THRUM_JOIN_HANDLE_HPP
#define THRUM_JOIN_HANDLE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/sched/run/end.hpp>
#include <thrum/detail/sched/run/goroutine_exit.hpp>
#include <thrum/detail/sched/run/park.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/detail/start/stoppable.hpp>
#include <thrum/stop_condition.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <variant>

namespace thrum { inline namespace THRUM_ABI {

namespace go_detail {

using namespace base::orders;
using namespace sched;

/// Where a spawned goroutine leaves what came of it.
template <class R>
struct result_slot {
  // A reference is kept as a pointer, nothing as a flag.
  using stored =
      std::conditional_t<std::is_void_v<R>, std::monostate,
                         std::conditional_t<std::is_reference_v<R>,
                                            std::add_pointer_t<std::remove_reference_t<R>>, R>>;
  std::optional<stored> value;
  std::exception_ptr error;
  bool exited = false;  // by goroutine_exit: no value, no error
};

/// Says, once in a process, that the exception that has left a goroutine was dropped. Null: a coroutine.
[[gnu::cold]] void report_lost(const goroutine* g, const std::exception_ptr& error) noexcept;

/// Before the slot of a goroutine, or of a coroutine (null), that was not joined is destroyed.
template <class R>
void report_if_lost([[maybe_unused]] const goroutine* g,
                    [[maybe_unused]] const result_slot<R>& slot) noexcept {
#if THRUM_EXCEPTIONS
  if (slot.error != nullptr) [[unlikely]] {
    report_lost(g, slot.error);
  }
#endif
}

/// What a handle does with the goroutine that it holds.
class join_protocol {
 public:
  static bool done(const goroutine& g) noexcept {
    return g.join.load(acquire) == join_state::done;  // [join.done <] the result
  }

  /// Until it has ended or `deadline` has passed. A wait that may not be cancelled returns
  /// `notified` or `timed_out` only.
  static wake_cause wait(goroutine& target, bool cancellable, std::int64_t deadline) noexcept {
    section here;
    wait_point point;
    point.g = here.g();
    point.object = &target;
    point.withdraw = &withdraw;
    target.join_lock.lock();
    if (target.join.get() == join_state::done) {
      target.join_lock.unlock();
      return wake_cause::notified;
    }
    target.joiner = &point;
    return sched::wait(here, point, target.join_lock, {wait_reason::join, cancellable, deadline});
  }

  /// Lets go of a goroutine that may still run. False: it is done, and the handle must release it.
  static bool detach(goroutine& g) noexcept {
    const section here;
    scoped guard(g.join_lock);
    if (g.join.get() == join_state::done) {
      return false;
    }
    g.join.set(join_state::detached);
    return true;
  }

  /// Gives a goroutine back that is done.
  static void release(goroutine& g) noexcept {
    {
      const section here;
      machine* const m = here.m();
      if (m != nullptr && m->scheduler->pool == g.pool) [[likely]] {
        g.join.set(join_state::none);
        recycle(*m, g);
        return;
      }
    }
    g.pool->put_from_handle(g);
  }

 private:
  static withdrawal withdraw(wait_point& point, bool locked) noexcept {
    goroutine& target = *static_cast<goroutine*>(point.object);
    return unlink_under(target.join_lock, locked, [&]() noexcept {
      const bool waits = target.joiner == &point;
      if (waits) {
        target.joiner = nullptr;
      }
      return waits;
    });
  }
};

}  // namespace go_detail

/// A goroutine that was started by spawn, and its result. Move-only; the destructor requests a stop, if
/// the goroutine was given a token, and joins, as std::jthread's does. For one thread at a time.
template <class T>
class [[nodiscard]] join_handle {
 public:
  join_handle() noexcept = default;
  join_handle(join_handle&& other) noexcept
      : g_(std::exchange(other.g_, nullptr)),
        result_(std::exchange(other.result_, nullptr)),
        id_(other.id_),
        stop_(std::move(other.stop_)) {}
  join_handle& operator=(join_handle&& other) noexcept {
    if (this != &other) {
      join_handle old(std::move(*this));
      g_ = std::exchange(other.g_, nullptr);
      result_ = std::exchange(other.result_, nullptr);
      id_ = other.id_;
      stop_ = std::move(other.stop_);
    }
    return *this;
  }
  ~join_handle() {
    if (joinable()) {
      request_stop();
      // Not a cancellation point: a destructor cannot throw.
      go_detail::join_protocol::wait(*g_, false, sched::no_deadline);
      go_detail::report_if_lost(g_, *result_);
      give_back();
    }
  }

  /// Waits for the goroutine to end and returns its result, or throws the exception that left it.
  /// Afterwards the handle is empty. If the goroutine was ended by this_goroutine::exit or by its
  /// runtime's stop there is no result: throws goroutine_exit inside a goroutine, usage_error
  /// elsewhere. usage_error on an empty handle. A cancellation point.
  T join();

  /// Whether the goroutine has ended. False for an empty handle. Does not block.
  bool done() const noexcept { return joinable() && go_detail::join_protocol::done(*g_); }

  /// Whether there is a goroutine to join.
  bool joinable() const noexcept { return g_ != nullptr; }

  /// Lets the goroutine run on by itself; its result, or the exception that leaves it, is dropped. The
  /// first exception of a process that is lost so, or by the destructor, is reported on standard error.
  /// usage_error on an empty handle.
  void detach();

  /// The goroutine's id, also after join; 0 for a handle that never had one.
  goroutine_id id() const noexcept { return id_; }

  /// Waits until the goroutine has ended or the time has come; true if it has ended. usage_error
  /// on an empty handle. A cancellation point.
  template <class Rep, class Period>
  [[nodiscard]] bool wait_for(std::chrono::duration<Rep, Period> time) {
    return wait_until_ns(time_detail::deadline_after(time));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool wait_until(std::chrono::time_point<Clock, Duration> when) {
    return time_detail::retry_until(
        when, [this](std::int64_t deadline) { return wait_until_ns(deadline); });
  }

  /// Waits until the goroutine has ended or a stop is requested; true if it has ended. usage_error on
  /// an empty handle. A cancellation point.
  template <until_condition Stop>
  [[nodiscard]] bool wait(const Stop& stop) {
    return stop_detail::until_stopped(
        stop, [this](std::int64_t deadline) { return wait_until_ns(deadline); });
  }

  /// Requests the stop of the token that spawn has given to the function; false if it was requested
  /// before, or there is none. Callbacks run in the calling goroutine or thread, which keeps its thread
  /// meanwhile. Does not block otherwise.
  bool request_stop() noexcept {
    return stop_.stop_possible() && go_detail::request_stop_here(stop_);
  }
  /// The source of that token; one without a state if spawn has given none. Also after join and
  /// detach.
  std::stop_source get_stop_source() const noexcept { return stop_; }
  /// A token of it.
  std::stop_token get_stop_token() const noexcept { return stop_.get_token(); }

  /// For spawn.
  void stop_by(std::stop_source source) noexcept { stop_ = std::move(source); }

  /// For spawn.
  join_handle(sched::goroutine& g, go_detail::result_slot<T>& result) noexcept
      : g_(&g), result_(&result), id_(g.id) {}

  /// For select: null for an empty handle.
  sched::goroutine* target() const noexcept { return g_; }

 private:
  void must_be_joinable(const char* message) const {
    if (!joinable()) {
      base::throw_usage(message);
    }
  }

  bool wait_until_ns(std::int64_t deadline) {
    must_be_joinable(
        "join_handle::wait_for: the handle is empty; it was joined, detached or moved");
    const auto cause = go_detail::join_protocol::wait(*g_, true, deadline);
    sched::exit_if_cancelled(cause);
    return cause == sched::wake_cause::notified;
  }

  void give_back() noexcept {
    std::destroy_at(result_);
    go_detail::join_protocol::release(*std::exchange(g_, nullptr));
    result_ = nullptr;
  }

  sched::goroutine* g_ = nullptr;
  go_detail::result_slot<T>* result_ = nullptr;
  goroutine_id id_ = 0;
  std::stop_source stop_{std::nostopstate};
};

template <class T>
T join_handle<T>::join() {
  must_be_joinable("join_handle::join: the handle is empty; it was joined, detached or moved");
  sched::exit_if_cancelled(go_detail::join_protocol::wait(*g_, true, sched::no_deadline));
  // The result leaves the goroutine's stack before that is given back.
  go_detail::result_slot<T> result = std::move(*result_);
  give_back();
#if THRUM_EXCEPTIONS
  if (result.error) {
    std::rethrow_exception(std::move(result.error));
  }
#endif
  if (result.exited) {
    if (sched::is_goroutine()) {
      sched::exit_goroutine();
    }
    base::throw_usage(
        "join_handle::join: the goroutine has no result; it was ended by this_goroutine::exit "
        "or by its runtime's stop; let it return instead");
  }
  if constexpr (std::is_reference_v<T>) {
    return static_cast<T>(**result.value);
  } else if constexpr (!std::is_void_v<T>) {
    return std::move(*result.value);
  }
}

template <class T>
void join_handle<T>::detach() {
  must_be_joinable("join_handle::detach: the handle is empty; it was joined, detached or moved");
  if (go_detail::join_protocol::detach(*g_)) {
    g_ = nullptr;
    result_ = nullptr;
  } else {
    go_detail::report_if_lost(g_, *result_);
    give_back();
  }
}

}}  // namespace thrum::THRUM_ABI

#if THRUM_BODIES && THRUM_EXCEPTIONS
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/debug/panic_report.hpp>
#include <thrum/detail/os/os.hpp>

#include <string>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace go_detail {

struct lost_exceptions {
  static constexpr std::string_view process_name = "go_detail::lost_exceptions";
  base::hint<bool> is_told{false};
};

THRUM_COLD THRUM_OUT_OF_LINE void report_lost(const goroutine* g,
                                              const std::exception_ptr& error) noexcept {
  if (os::process_wide<lost_exceptions>::get().is_told.swap(true)) {
    return;
  }
  try {
    debug::exception_text exception;
    try {
      std::rethrow_exception(error);
    } catch (...) {
      exception = debug::describe_current_exception();
    }
    std::string text = "thrum: ";
    if (g != nullptr) {
      text.append("spawn: the exception that left goroutine ").append(std::to_string(g->id));
      if (g->name[0] != '\0') {
        text.append(" [").append(g->name).append("]");
      }
    } else {
      text.append("co_spawn: the exception that left a coroutine");
    }
    text.append(" was dropped with its ").append(g != nullptr ? "join_handle" : "co_handle");
    text.append(": ").append(exception.what).append(" (type ").append(exception.type).append(")");
    if (g != nullptr) {
      text.append(", started in ").append(os::describe_address(g->started_at));
    }
    text.append("; join() the handle, or catch it in the ");
    base::write_error(text.append(g != nullptr ? "goroutine\n" : "coroutine\n"));
  } catch (...) {
    // without memory it is not said
  }
}

}}}  // namespace thrum::THRUM_ABI::go_detail
#endif

#endif
