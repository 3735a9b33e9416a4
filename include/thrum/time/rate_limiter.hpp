// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// rate_limiter: so many events a second, and no more than so many at once.
//
// A bucket of tokens, which fills at the rate up to the burst; an event takes one. Nothing runs for
// it: each call that looks at the bucket fills it by the time that has passed. A reservation takes
// tokens that are not there yet, and the bucket owes them: so a later caller waits for longer, and
// waiters act in the order in which they came.
//
// Source: golang.org/x/time/rate, from its documentation.
#ifndef THRUM_TIME_RATE_LIMITER_HPP
#define THRUM_TIME_RATE_LIMITER_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/sched/queue/lock.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/select.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace thrum { inline namespace THRUM_ABI {

class rate_limiter;

/// A place in the future of a rate_limiter, which must outlive it. Move-only. Destroyed without
/// cancel() it stays taken, as if its events had happened.
class [[nodiscard]] rate_reservation {
 public:
  /// No reservation.
  rate_reservation() noexcept = default;
  rate_reservation(rate_reservation&& other) noexcept
      : of_(std::exchange(other.of_, nullptr)), n_(other.n_), at_(other.at_), end_(other.end_) {}
  rate_reservation& operator=(rate_reservation&& other) noexcept {
    of_ = std::exchange(other.of_, nullptr);
    n_ = other.n_;
    at_ = other.at_;
    end_ = other.end_;
    return *this;
  }
  ~rate_reservation() = default;

  /// Whether there is one. False if more events were asked for than the burst: they never may.
  explicit operator bool() const noexcept { return of_ != nullptr; }

  /// How long the caller has to wait from now on before it acts; 0 if it need not.
  std::chrono::nanoseconds delay() const noexcept;

  /// If its time has not come yet, gives back what was reserved, less what others have reserved behind it.
  /// There is no reservation afterwards.
  void cancel() noexcept;

 private:
  friend class rate_limiter;
  rate_reservation(rate_limiter& of, std::size_t n, std::int64_t at, std::uint64_t end) noexcept
      : of_(&of), n_(n), at_(at), end_(end) {}

  /// Also if its time has come: its events have not happened.
  void give_back() noexcept;

  rate_limiter* of_ = nullptr;
  std::size_t n_ = 0;
  std::int64_t at_ = 0;
  std::uint64_t end_ = 0;  // how many had been taken then, with these
};

/// Events at a rate: a token bucket, full at the beginning. allow() drops what is too much, wait()
/// slows it down, reserve() leaves it to the caller. For goroutines and foreign threads alike; in a
/// bubble its time is the bubble's.
class rate_limiter {
 public:
  /// A rate without a limit: all is allowed, whatever the burst.
  static constexpr double unlimited = std::numeric_limits<double>::infinity();

  /// `per_second` events a second, up to `burst` at once. At a rate of 0 the bucket is not filled
  /// again. usage_error if the rate is negative or not a number.
  rate_limiter(double per_second, std::size_t burst);
  /// One event every `interval`. usage_error if that is not positive.
  template <class Rep, class Period>
  rate_limiter(std::chrono::duration<Rep, Period> interval, std::size_t burst)
      : rate_limiter(rate_of(interval), burst) {}
  rate_limiter(const rate_limiter&) = delete;
  rate_limiter& operator=(const rate_limiter&) = delete;

  /// Whether n events may happen now; if so, they are counted. Does not block.
  [[nodiscard]] bool allow(std::size_t n = 1) noexcept;

  /// Waits until n events may happen. usage_error if n is above the burst, or the rate is too low
  /// for them ever to happen. A cancellation point; a caller that is cancelled gives its place back.
  void wait(std::size_t n = 1);

  /// wait(n), unless a stop is requested; returns whether they may happen. `stop` is a std::stop_token or a
  /// context. If a context's deadline is before they may happen, returns false at once.
  template <class Stop>
  requires requires(const Stop& stop) { on_done(stop); }
  [[nodiscard]] bool wait(std::size_t n, const Stop& stop) {
    std::int64_t until = sched::no_deadline;
    if constexpr (requires { stop.deadline(); }) {
      if (const auto when = stop.deadline()) {
        until = time_detail::deadline_at(*when);
      }
    }
    if (select(on_done(stop), otherwise()) == 0) {
      return false;  // and takes nothing
    }
    waiter place(*this, n, until);
    const bool is_due = place.is_due() ||
                        (place.may_wait() && select(on_deadline(place.when()), on_done(stop)) == 0);
    return is_due && place.keep();
  }

  /// wait(n), but returns false at once if they may not happen within a time, or until a moment of any
  /// clock. A cancellation point.
  template <class Rep, class Period>
  [[nodiscard]] bool wait_for(std::size_t n, std::chrono::duration<Rep, Period> time) {
    return wait_no_longer_than(n, time_detail::deadline_after(time));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool wait_until(std::size_t n, std::chrono::time_point<Clock, Duration> when) {
    return wait_no_longer_than(n, time_detail::deadline_at(when));
  }

  /// Takes a place: the caller waits for its delay(), or cancels it. Does not block.
  rate_reservation reserve(std::size_t n = 1) noexcept;

  /// Events a second.
  double rate() const noexcept;
  /// Sets the rate from now on. Places that are taken stay as they are. usage_error as when it is made.
  void rate(double per_second);
  /// As rate(per_second), by the time between two events.
  template <class Rep, class Period>
  void rate(std::chrono::duration<Rep, Period> interval) {
    rate(rate_of(interval));
  }

  /// How many may happen at once.
  std::size_t burst() const noexcept;
  /// Sets the burst from now on.
  void burst(std::size_t events) noexcept;

  /// How many may happen now; below zero while places are taken.
  double tokens() const noexcept;

 private:
  friend class rate_reservation;

  /// What a call of wait has reserved, and gives back unless it keeps it.
  class waiter {
   public:
    waiter(rate_limiter& of, std::size_t n, std::int64_t until);
    waiter(const waiter&) = delete;
    waiter& operator=(const waiter&) = delete;
    ~waiter() { place_.give_back(); }

    bool may_wait() const noexcept { return static_cast<bool>(place_); }
    bool is_due() const noexcept { return may_wait() && place_.delay().count() == 0; }
    time_point when() const noexcept { return time_point(std::chrono::nanoseconds(place_.at_)); }
    bool keep() noexcept {
      place_ = {};
      return true;
    }

   private:
    rate_reservation place_;
  };

  template <class Rep, class Period>
  static double rate_of(std::chrono::duration<Rep, Period> interval) {
    const double seconds = std::chrono::duration<double>(interval).count();
    if (!(seconds > 0)) {
      base::throw_usage("rate_limiter: the interval is not positive");
    }
    return 1 / seconds;
  }
  static double checked(double per_second, const char* message);

  [[nodiscard]] bool wait_no_longer_than(std::size_t n, std::int64_t until);

  /// The present, for `until` of take().
  static constexpr std::int64_t at_once = std::numeric_limits<std::int64_t>::min();

  /// Takes n tokens if they will be there by `until`: no reservation if they will not.
  rate_reservation take(std::size_t n, std::int64_t until) noexcept;
  /// Those that were not taken by others behind.
  void give_back(std::size_t n, std::uint64_t end) noexcept;

  /// How many tokens there are at that time. Caller holds the lock, as below.
  double tokens_at(std::int64_t now) const noexcept;
  /// The present. It lies before filled_ only if one of them is a bubble's time: then the bucket fills from
  /// here on.
  std::int64_t now_locked() noexcept;
  /// Writes down how many tokens there are now.
  void fill_locked(std::int64_t now) noexcept;

  mutable sched::spin_lock lock_{sched::lock_rank::waiters};
  // -- under the lock --
  double rate_;
  std::size_t burst_;
  double tokens_;  // at filled_
  std::int64_t filled_;
  std::uint64_t taken_ = 0;  // by all, less what was given back; counts round
};

}}  // namespace thrum::THRUM_ABI

#if THRUM_BODIES
#include <thrum/detail/sched/core/section.hpp>
#include <thrum/detail/sched/queue/no_deadline.hpp>
#include <thrum/detail/sched/queue/scoped.hpp>
#include <thrum/time/sleep.hpp>

namespace thrum { inline namespace THRUM_ABI {

THRUM_OUT_OF_LINE std::chrono::nanoseconds rate_reservation::delay() const noexcept {
  const std::int64_t left = of_ != nullptr ? at_ - time_detail::time_now() : 0;
  return std::chrono::nanoseconds(left > 0 ? left : 0);
}

THRUM_OUT_OF_LINE void rate_reservation::cancel() noexcept {
  if (of_ != nullptr && at_ > time_detail::time_now()) {
    give_back();
  }
  of_ = nullptr;
}

THRUM_OUT_OF_LINE void rate_reservation::give_back() noexcept {
  if (of_ != nullptr) {
    std::exchange(of_, nullptr)->give_back(n_, end_);
  }
}

THRUM_OUT_OF_LINE rate_limiter::rate_limiter(double per_second, std::size_t burst)
    : rate_(checked(per_second, "rate_limiter: the rate is negative or not a number")),
      burst_(burst),
      tokens_(static_cast<double>(burst)),
      filled_(time_detail::time_now()) {}

THRUM_OUT_OF_LINE double rate_limiter::checked(double per_second, const char* message) {
  if (!(per_second >= 0)) {
    base::throw_usage(message);
  }
  return per_second;
}

THRUM_OUT_OF_LINE double rate_limiter::tokens_at(std::int64_t now) const noexcept {
  constexpr double ns_per_second = 1e9;
  const double full = static_cast<double>(burst_);
  if (rate_ == unlimited) {
    return full;
  }
  const double passed = now > filled_ ? static_cast<double>(now - filled_) / ns_per_second : 0;
  const double filled = tokens_ + passed * rate_;
  return filled < full ? filled : full;
}

THRUM_OUT_OF_LINE std::int64_t rate_limiter::now_locked() noexcept {
  const std::int64_t now = time_detail::time_now();
  filled_ = now < filled_ ? now : filled_;
  return now;
}

THRUM_OUT_OF_LINE void rate_limiter::fill_locked(std::int64_t now) noexcept {
  tokens_ = tokens_at(now);
  filled_ = now;
}

THRUM_OUT_OF_LINE rate_reservation rate_limiter::take(std::size_t n, std::int64_t until) noexcept {
  constexpr double ns_per_second = 1e9;
  constexpr double longest = 9.2e18;  // nanoseconds that can be counted
  const sched::section here;
  const sched::scoped guard(lock_);
  const std::int64_t now = now_locked();
  if (rate_ == unlimited) {
    return {*this, 0, now, taken_};
  }
  if (n > burst_) {
    return {};
  }
  const double left = tokens_at(now) - static_cast<double>(n);
  std::int64_t at = now;
  if (left < 0) {
    const double wait = rate_ > 0 ? -left / rate_ * ns_per_second : longest;
    if (wait >= longest - static_cast<double>(now)) {
      return {};
    }
    const auto whole = static_cast<std::int64_t>(wait);
    at = now + whole + (static_cast<double>(whole) < wait ? 1 : 0);  // never too early
    if (at > until) {
      return {};
    }
  }
  fill_locked(now);
  tokens_ -= static_cast<double>(n);
  taken_ += n;
  return {*this, n, at, taken_};
}

THRUM_OUT_OF_LINE void rate_limiter::give_back(std::size_t n, std::uint64_t end) noexcept {
  const sched::section here;
  const sched::scoped guard(lock_);
  // Those that came later wait as long as they were told: what they have reserved is spent. There are
  // fewer than `end` if others before have given back.
  const auto behind = static_cast<std::int64_t>(taken_ - end);
  const std::uint64_t spent = behind > 0 ? static_cast<std::uint64_t>(behind) : 0;
  if (spent >= n) {
    return;
  }
  fill_locked(now_locked());
  const std::uint64_t back = n - spent;
  const double full = static_cast<double>(burst_);
  const double filled = tokens_ + static_cast<double>(back);
  tokens_ = filled < full ? filled : full;
  taken_ -= back;
}

THRUM_OUT_OF_LINE bool rate_limiter::allow(std::size_t n) noexcept {
  return static_cast<bool>(take(n, at_once));
}

THRUM_OUT_OF_LINE rate_reservation rate_limiter::reserve(std::size_t n) noexcept {
  return take(n, sched::no_deadline);
}

THRUM_OUT_OF_LINE rate_limiter::waiter::waiter(rate_limiter& of, std::size_t n, std::int64_t until)
    : place_(of.take(n, until)) {
  if (!place_ && n > of.burst() && of.rate() != unlimited) {
    base::throw_usage(
        "rate_limiter::wait: the number of events exceeds the burst, so they would never be "
        "allowed; wait for fewer at a time");
  }
}

THRUM_OUT_OF_LINE void rate_limiter::wait(std::size_t n) {
  if (!wait_no_longer_than(n, sched::no_deadline)) {
    base::throw_usage(
        "rate_limiter::wait: the rate is so low that the events would never be allowed; raise it");
  }
}

THRUM_OUT_OF_LINE bool rate_limiter::wait_no_longer_than(std::size_t n, std::int64_t until) {
  waiter place(*this, n, until);
  if (!place.may_wait()) {
    return false;
  }
  if (!place.is_due()) {
    sleep_until(place.when());
  }
  return place.keep();
}

THRUM_OUT_OF_LINE double rate_limiter::rate() const noexcept {
  const sched::section here;
  const sched::scoped guard(lock_);
  return rate_;
}

THRUM_OUT_OF_LINE void rate_limiter::rate(double per_second) {
  const double wanted =
      checked(per_second, "rate_limiter::rate: the rate is negative or not a number");
  const sched::section here;
  const sched::scoped guard(lock_);
  fill_locked(now_locked());
  rate_ = wanted;
}

THRUM_OUT_OF_LINE std::size_t rate_limiter::burst() const noexcept {
  const sched::section here;
  const sched::scoped guard(lock_);
  return burst_;
}

THRUM_OUT_OF_LINE void rate_limiter::burst(std::size_t events) noexcept {
  const sched::section here;
  const sched::scoped guard(lock_);
  fill_locked(now_locked());
  burst_ = events;
}

THRUM_OUT_OF_LINE double rate_limiter::tokens() const noexcept {
  const std::int64_t now = time_detail::time_now();
  const sched::section here;
  const sched::scoped guard(lock_);
  return tokens_at(now);
}

}}  // namespace thrum::THRUM_ABI
#endif

#endif
