// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a goroutine can ask and do about itself.
#ifndef THRUM_THIS_GOROUTINE_HPP
#define THRUM_THIS_GOROUTINE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/sched/core/g_state.hpp>
#include <thrum/detail/sched/run/goroutine_exit.hpp>
#include <thrum/detail/sched/run/park.hpp>
#include <thrum/detail/sched/run/yield.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/detail/start/stoppable.hpp>

#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace this_goroutine {

/// The id of the calling goroutine; 0 outside of one.
inline goroutine_id id() noexcept {
  auto* const m = sched::current_m();
  return m != nullptr && m->g != nullptr ? m->g->id : 0;
}

/// Lets others run: the goroutine goes behind all that wait on its processor. On a foreign thread, yields
/// the thread.
inline void yield() {
  sched::section here;
  if (here.m() != nullptr) [[likely]] {
    sched::yield(here);
  } else {
    os::yield_thread();
  }
}

/// For loops that call nothing else of the library: yields if the time slice is over. One load and
/// a branch if it is not; nothing on a foreign thread.
inline void preemption_point() noexcept {
  // The P cannot be gone for good, and may be another one's.
  if (sched::is_preemption_asked()) [[unlikely]] {
    sched::section here;
    sched::preemption_point(here);
  }
}

/// Blocks the goroutine, or the calling foreign thread, for a time. Not shorter; in a goroutine by up to a
/// 16th of it, and no more than options::timer_slack, longer, so that goroutines wake together. sleep_until
/// knows no slack. A cancellation point.
template <class Rep, class Period>
void sleep_for(std::chrono::duration<Rep, Period> time) {
  sched::exit_if_cancelled(
      sched::sleep_until(time_detail::end_of_sleep(time_detail::nanoseconds_of(time))));
}

/// Blocks until a moment, which has come by its own clock when this returns. A cancellation point.
template <class Clock, class Duration>
void sleep_until(std::chrono::time_point<Clock, Duration> when) {
  time_detail::retry_until(when, [](std::int64_t deadline) {
    sched::exit_if_cancelled(sched::sleep_until(deadline));
    return false;
  });
}

/// As sleep_for, until a stop is requested; whether the time has passed. A cancellation point.
template <class Rep, class Period, stop_condition Stop>
[[nodiscard]] bool sleep_for(std::chrono::duration<Rep, Period> time, const Stop& stop) {
  return stop_detail::sleep_until(time_detail::end_of_sleep(time_detail::nanoseconds_of(time)),
                                  stop);
}

/// As sleep_until, until a stop is requested; whether the moment has come. A cancellation point.
template <class Clock, class Duration, stop_condition Stop>
[[nodiscard]] bool sleep_until(std::chrono::time_point<Clock, Duration> when, const Stop& stop) {
  return time_detail::retry_until(when, [&](std::int64_t deadline) {
           return !stop_detail::sleep_until(deadline, stop);
         }) == false;
}

/// Names the goroutine for reports and dumps; the first 23 characters are kept. Without effect
/// outside of one.
THRUM_OUT_OF_LINE void name(std::string_view text) noexcept;

/// Its name, empty if it has none; good until it is renamed or ends.
THRUM_OUT_OF_LINE std::string_view name() noexcept;

/// Its priority; normal outside of one.
THRUM_OUT_OF_LINE thrum::priority priority() noexcept;

/// Changes its priority. It goes on, and what is different is where it queues up next. Without effect
/// outside of one.
THRUM_OUT_OF_LINE void priority(thrum::priority level) noexcept;

/// Ends the calling goroutine: unwinds its stack, running destructors. (Go's Goexit.) usage_error
/// outside of one.
[[noreturn]] THRUM_OUT_OF_LINE void exit();

/// Becomes stop_requested() when the runtime stops; outside of a runtime, a token that never does.
THRUM_OUT_OF_LINE std::stop_token stop_token() noexcept;

}}}  // namespace thrum::THRUM_ABI::this_goroutine

#if THRUM_BODIES
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/sched/core/g.hpp>
#include <thrum/detail/sched/core/section.hpp>
#include <thrum/detail/sched/run/background.hpp>
#include <thrum/runtime.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace this_goroutine {

THRUM_OUT_OF_LINE void name(std::string_view text) noexcept {
  auto* const m = sched::current_m();
  if (m != nullptr && m->g != nullptr) {
    m->g->set_name(text);
  }
}

THRUM_OUT_OF_LINE std::string_view name() noexcept {
  auto* const m = sched::current_m();
  return m != nullptr && m->g != nullptr ? std::string_view(m->g->name) : std::string_view();
}

THRUM_OUT_OF_LINE thrum::priority priority() noexcept {
  auto* const m = sched::current_m();
  return m != nullptr && m->g != nullptr ? m->g->priority() : thrum::priority::normal;
}

THRUM_OUT_OF_LINE void priority(thrum::priority level) noexcept {
  const sched::section here;
  auto* const m = sched::current_m();
  if (m == nullptr || m->g == nullptr) {
    return;
  }
  sched::goroutine& g = *m->g;
  g.flags =
      static_cast<std::uint8_t>((g.flags & ~sched::g_background) | sched::initial_flags(level));
  if (m->p != nullptr) {  // not inside blocking()
    sched::show_priority(*m->p, g);
  }
}

THRUM_OUT_OF_LINE void exit() {
  auto* const m = sched::current_m();
  if (m == nullptr || m->g == nullptr) {
    base::throw_usage(
        "this_goroutine::exit: called outside of a goroutine; return from the function instead");
  }
  sched::exit_goroutine();
}

THRUM_OUT_OF_LINE std::stop_token stop_token() noexcept {
  const runtime* const own = runtime::current();
  return own != nullptr ? own->stop_token() : std::stop_token();
}

}}}  // namespace thrum::THRUM_ABI::this_goroutine
#endif

#endif
