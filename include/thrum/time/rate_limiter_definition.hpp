// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What time/rate_limiter.hpp declares: the bodies that are not inlined.
#ifndef THRUM_TIME_RATE_LIMITER_DEFINITION_HPP
#define THRUM_TIME_RATE_LIMITER_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/error.hpp>
#include <thrum/deadline.hpp>
#include <thrum/sched/core/section.hpp>
#include <thrum/sched/queue/no_deadline.hpp>
#include <thrum/sched/queue/scoped.hpp>
#include <thrum/time/rate_limiter.hpp>
#include <thrum/time/sleep.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

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
        "rate_limiter::wait: for more events than the burst, which are never allowed");
  }
}

THRUM_OUT_OF_LINE void rate_limiter::wait(std::size_t n) {
  if (!wait_no_longer_than(n, sched::no_deadline)) {
    base::throw_usage("rate_limiter::wait: at this rate the events are never allowed");
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
