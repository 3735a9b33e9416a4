// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/detail/start/deadline.hpp>

#include <thrum/testing/bubble.hpp>

#include "support/set_back_clock.hpp"
#include "support/test.hpp"

#include <condition_variable>

using namespace thrum::time_detail;

TEST_CASE("a duration that is too long to count never ends") {
  REQUIRE(nanoseconds_of(std::chrono::hours::max()) == no_deadline);
  REQUIRE(deadline_after(std::chrono::hours::max()) == no_deadline);
  REQUIRE(deadline_after(std::chrono::nanoseconds::max()) == no_deadline);
  REQUIRE(deadline_after(std::chrono::duration<double>(1e300)) == no_deadline);
}

IN_BUBBLE("no duration ends at the value that stands for a wait until a stop") {
  thrum::sleep_for(std::chrono::hours(24 * 365 * 200));
  const std::int64_t now = time_now();
  const auto after = [now](std::int64_t moment) {
    return deadline_after(std::chrono::nanoseconds(moment - now));
  };
  CHECK(after(until_stopped - 1) == until_stopped - 1);
  CHECK(after(until_stopped) == no_deadline);
  CHECK(after(no_deadline) == no_deadline);
}

TEST_CASE("a duration that is negative ends now") {
  const auto before = traits::now();
  for (const auto d : {-1ns, std::chrono::nanoseconds::min(), 0ns}) {
    const auto deadline = deadline_after(d);
    REQUIRE(deadline >= before);
    REQUIRE(deadline <= traits::now());
  }
  REQUIRE(nanoseconds_of(std::chrono::hours::min()) < 0);
}

TEST_CASE("a duration is rounded up, never down") {
  REQUIRE(nanoseconds_of(std::chrono::duration<double, std::nano>(1.25)) == 2);
  REQUIRE(nanoseconds_of(1us) == 1000);
}

TEST_CASE("a moment of another clock is as far away as on that clock") {
  const auto before = traits::now();
  const auto d = deadline_at(std::chrono::system_clock::now() + 1h);
  REQUIRE(d - before > std::chrono::nanoseconds(59min).count());
  REQUIRE(d - before < std::chrono::nanoseconds(61min).count());
}

TEST_CASE("a moment of the steady clock is taken as it is") {
  const auto when = std::chrono::steady_clock::now() + 5s;
  REQUIRE(deadline_at(when) == std::chrono::nanoseconds(when.time_since_epoch()).count());
}

TEST_CASE("a moment of another clock too far back to count is now, one too far ahead never comes") {
  using std::chrono::system_clock;
  const auto before = traits::now();
  for (const auto past :
       {deadline_at(system_clock::time_point::min()), deadline_at(std::chrono::sys_seconds::min()),
        deadline_at(system_clock::time_point{})}) {
    REQUIRE(past >= before);
    REQUIRE(past <= traits::now());
  }
  REQUIRE(deadline_at(system_clock::time_point::max()) == no_deadline);
  REQUIRE(deadline_at(std::chrono::sys_seconds::max()) == no_deadline);
  REQUIRE(deadline_at(std::chrono::sys_days::max()) == no_deadline);
}

namespace {

thrum::options with_slack(std::chrono::nanoseconds slack) {
  auto options = support::environment_options();
  options.timer_slack = slack;
  return options;
}

/// How many moments end 100 sleeps whose lengths differ by 10 us each.
std::size_t ends_of_a_hundred(std::int64_t ns) {
  std::set<std::int64_t> ends;
  for (int i = 0; i != 100; ++i) {
    ends.insert(end_of_sleep(ns + std::int64_t{i} * 10'000));
  }
  return ends.size();
}

}  // namespace

IN_RUNTIME("a sleep ends no sooner than it must, and by no more than a 16th and 50 us later") {
  for (std::int64_t ns = 1; ns < 100'000'000'000; ns = ns * 5 / 4 + 1) {
    const auto before = traits::now();
    const auto end = end_of_sleep(ns);
    const auto after = traits::now();
    CAPTURE(ns);
    REQUIRE(end >= before + ns);
    REQUIRE(end <= after + ns + std::min(ns / 16, std::int64_t{50'000}));
  }
}

IN_RUNTIME("sleeps that end within the timer slack of a runtime end at one moment",
           with_slack(100ms)) {
  constexpr std::int64_t step = std::int64_t{1} << 26;  // 67 ms
  const auto before = traits::now();
  const std::size_t ends = ends_of_a_hundred(2'000'000'000);
  const auto took = traits::now() - before;
  CHECK(static_cast<std::int64_t>(ends) <= 2 + took / step);
  CHECK(end_of_sleep(2'000'000'000) % step == 0);
}

IN_RUNTIME("with no timer slack each sleep ends at a moment of its own", with_slack(0ns)) {
  const auto before = traits::now();
  const auto end = end_of_sleep(1'000'000'000);
  CHECK(end >= before + 1'000'000'000);
  CHECK(end <= traits::now() + 1'000'000'000);
  CHECK(ends_of_a_hundred(1'000'000'000) == 100);
}

TEST_CASE("a sleep of a plain thread has no slack") {
  const auto before = traits::now();
  const auto end = end_of_sleep(1'000'000'000);
  CHECK(end >= before + 1'000'000'000);
  CHECK(end <= traits::now() + 1'000'000'000);
}

IN_RUNTIME("of two sleeps the longer one does not end first", with_slack(1ms)) {
  std::int64_t last = 0;
  for (std::int64_t ns = 1'000; ns < 1'000'000'000; ns = ns * 65 / 64) {
    const auto end = end_of_sleep(ns);
    CAPTURE(ns);
    REQUIRE(end >= last);
    last = end;
  }
}

TEST_CASE("a sleep of no time ends now, and one too long to count never") {
  for (const std::int64_t ns : {std::int64_t{0}, std::int64_t{-1}, -no_deadline}) {
    const auto end = end_of_sleep(ns);
    REQUIRE(end <= traits::now());
  }
  REQUIRE(end_of_sleep(no_deadline) == no_deadline);
  const auto nearly_never = no_deadline - traits::now() - 1;
  REQUIRE(end_of_sleep(nearly_never) > no_deadline - 1'000'000'000);
}

namespace {

/// A clock whose epoch is 280 years ahead.
struct clock_before_its_epoch {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<clock_before_its_epoch>;
  static time_point now() noexcept { return time_point(-std::chrono::hours(24 * 365 * 280)); }
};

}  // namespace

TEST_CASE("a moment of a clock before its epoch is as far away as on that clock") {
  using clock = clock_before_its_epoch;
  const auto before = traits::now();
  REQUIRE(deadline_at(clock::time_point(1h)) >
          before + std::chrono::nanoseconds(24h * 365).count());
  REQUIRE(deadline_at(clock::time_point(24h * 365 * 280)) == no_deadline);
  const auto past = deadline_at(clock::now() - 1h);
  REQUIRE(past <= traits::now());
}

TEST_CASE(
    "a moment too far back to count ends every wait at once, on a thread and in a goroutine") {
  const auto wait_until = [](auto past) {
    thrum::sleep_until(past);
    thrum::mutex held;
    held.lock();
    CHECK_FALSE(held.try_lock_until(past));
    held.unlock();
    thrum::counting_semaphore<> none(0);
    CHECK_FALSE(none.try_acquire_until(past));
    thrum::mutex mutex;
    thrum::condition_variable condition;
    std::unique_lock lock(mutex);
    CHECK(condition.wait_until(lock, past) == std::cv_status::timeout);
    const thrum::chan<int> never(0);
    CHECK(thrum::select(thrum::on_recv(never), thrum::on_deadline(past)) == 1);
    CHECK(thrum::context::background().with_deadline(past).cancelled());
  };
  const auto wait_until_both = [&] {
    wait_until(std::chrono::steady_clock::time_point::min());
    wait_until(std::chrono::system_clock::time_point::min());
    wait_until(std::chrono::sys_seconds::min());
  };
  wait_until_both();
  support::with_runtime(wait_until_both);
}

IN_BUBBLE("a wait until a moment too far ahead to count does not end by time") {
  thrum::counting_semaphore<> permits(0);
  thrum::go([&] {
    thrum::sleep_for(24h * 365 * 100);
    permits.release(2);
  });
  CHECK(permits.try_acquire_until(std::chrono::sys_seconds::max()));
  CHECK(permits.try_acquire_until(std::chrono::system_clock::time_point::max()));
}

TEST_CASE("a sleep until a moment of a clock that is set back lasts until that clock says so") {
  const auto sleep = [] {
    const auto when = support::set_back_clock::soon();
    thrum::sleep_until(when);
    CHECK(support::set_back_clock::now() >= when);
  };
  sleep();
  support::with_runtime(sleep);
}

IN_BUBBLE("in a bubble a moment of the system's clock comes by the bubble's time") {
  thrum::sleep_until(std::chrono::system_clock::now() + 24h);
  thrum::counting_semaphore<> none(0);
  CHECK_FALSE(none.try_acquire_until(std::chrono::system_clock::now() + 24h));
}
