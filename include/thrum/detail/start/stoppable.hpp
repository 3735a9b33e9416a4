// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How a stop that is passed to `lock(stop)`, `acquire(stop)`, `recv(stop)` and so on ends the wait.
//
// How the library requests a stop: callbacks of the user's run in the goroutine that does.
#ifndef THRUM_DETAIL_START_STOPPABLE_HPP
#define THRUM_DETAIL_START_STOPPABLE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/sched/core/section.hpp>
#include <thrum/detail/sched/queue/no_deadline.hpp>
#include <thrum/detail/sched/run/goroutine_exit.hpp>
#include <thrum/detail/sched/run/io_deadline.hpp>
#include <thrum/detail/sched/run/park.hpp>
#include <thrum/detail/sched/run/stop_relay.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/errc.hpp>
#include <thrum/stop_condition.hpp>

#include <concepts>
#include <cstdint>
#include <stop_token>
#include <system_error>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace go_detail {

/// std::stop_callback tells by the thread whether it is destroyed inside its own call. So a
/// goroutine must not change threads while it requests a stop, nor another one run on its thread
/// meanwhile: callbacks may wait. But they may not throw, so nothing cancels them. Whether this call
/// was the first.
THRUM_OUT_OF_LINE bool request_stop_here(std::stop_source& of) noexcept;

}}}  // namespace thrum::THRUM_ABI::go_detail

namespace thrum { inline namespace THRUM_ABI { namespace stop_detail {

/// The token for a wait that ends at deadline_of() by itself.
template <until_condition S>
std::stop_token token_of(const S& stop) {
  if constexpr (is_moment<S>) {
    return {};
  } else if constexpr (std::same_as<S, std::stop_token>) {
    return stop;
  } else if constexpr (requires { token_for_wait(stop); }) {
    return token_for_wait(stop);
  } else {
    return stop.stop_token();
  }
}

/// A context's deadline, which ends a wait even if no runtime watches it.
template <until_condition S>
std::int64_t deadline_of(const S& stop) {
  if constexpr (is_moment<S>) {
    return time_detail::deadline_at(stop);
  } else if constexpr (requires { stop.deadline(); }) {
    if (const auto when = stop.deadline()) {
      return time_detail::deadline_at(*when);
    }
  }
  return sched::no_deadline;
}

template <until_condition S>
bool is_over(const S& stop) {
  if constexpr (is_moment<S>) {
    return time_detail::deadline_at(stop) <= time_detail::time_now();
  } else if constexpr (requires { stop.cancelled(); }) {
    return stop.cancelled();
  } else {
    return token_of(stop).stop_requested();
  }
}

/// While it lives, the caller's waits until_stopped end with a request of the token, or at a deadline.
class stoppable {
 public:
  stoppable(std::stop_token token, std::int64_t deadline, bool of_io = false)
      : relay_(deadline, of_io), callback_(std::move(token), request{&relay_}) {
    const sched::section here;
    before_ = sched::exchange_stop_relay(here, &relay_);
  }
  stoppable(const stoppable&) = delete;
  stoppable& operator=(const stoppable&) = delete;
  ~stoppable() {
    const sched::section here;
    sched::exchange_stop_relay(here, before_);
  }

  /// Whether it has ended a wait for input or output.
  bool has_ended_io() const noexcept { return relay_.has_ended_io; }

 private:
  struct request {
    sched::stop_relay* of;
    void operator()() const noexcept { of->request(); }
  };

  sched::stop_relay relay_;
  sched::stop_relay* before_ = nullptr;
  std::stop_callback<request> callback_;
};

template <stop_condition S, class Attempt, class TimedOut>
auto until_stop(const S& stop, Attempt attempt, TimedOut timed_out) {
  if constexpr (std::same_as<S, sched::io_deadline>) {
    return attempt(stop.until());
  } else {
    for (;;) {
      auto result = [&] {
        const stoppable here(token_of(stop), deadline_of(stop));
        return attempt(sched::until_stopped);
      }();
      if (!timed_out(result) || is_over(stop)) {
        return result;
      }
    }
  }
}

template <until_condition S, class Error, class Call>
auto run_until_stopped(const S& end, Error& error, Call call) {
  constexpr bool is_stop = stop_condition<S>;
  const auto& stop = ending(end);
  const auto why = [] {
    if constexpr (is_stop) {
      return std::make_error_code(std::errc::operation_canceled);
    } else {
      return make_error_code(errc::deadline_exceeded);
    }
  };
  for (;;) {
    if (is_over(stop)) {
      error = why();
      return decltype(call())();
    }
    const stoppable here(token_of(stop), deadline_of(stop), true);
    auto result = call();
    const bool is_end = error && is_over(stop);
    if (is_end && error == std::errc::operation_canceled) {
      error = why();
    }
    if (!error || !here.has_ended_io() || is_end) {
      return result;
    }
  }
}

/// Whether `deadline` has come, and not a stop before.
template <stop_condition S>
bool sleep_until(std::int64_t deadline, const S& stop) {
  const std::int64_t own = deadline_of(stop);
  for (;;) {
    if (is_over(stop)) {
      return false;
    }
    sched::wake_cause cause;
    {
      const stoppable here(token_of(stop), own < deadline ? own : deadline);
      cause = sched::sleep_until(sched::until_stopped);
    }
    sched::exit_if_cancelled(cause);
    if (deadline <= time_detail::time_now()) {
      return true;
    }
  }
}

}}}  // namespace thrum::THRUM_ABI::stop_detail

#if THRUM_BODIES
#include <thrum/detail/sched/run/goroutine_exit.hpp>
#include <thrum/thread_lock.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace go_detail {

THRUM_OUT_OF_LINE bool request_stop_here(std::stop_source& of) noexcept {
  const sched::uncancellable until_all_are_told;
  const thread_lock same_thread;
  return of.request_stop();
}

}}}  // namespace thrum::THRUM_ABI::go_detail
#endif

#endif  // THRUM_DETAIL_START_STOPPABLE_HPP
