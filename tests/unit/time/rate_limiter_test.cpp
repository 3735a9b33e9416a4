// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/time/rate_limiter.hpp>

#include <thrum/testing/bubble.hpp>

#include "support/stop_source.hpp"
#include "support/test.hpp"
#include "support/waits.hpp"

using thrum::rate_limiter;

namespace {

auto now() { return thrum::testing::now(); }

}  // namespace

IN_BUBBLE("a full bucket allows its burst at once, and then one event each interval") {
  rate_limiter limiter(10ms, 3);
  CHECK(limiter.allow());
  CHECK(limiter.allow(2));
  CHECK_FALSE(limiter.allow());
  thrum::sleep_for(9ms);
  CHECK_FALSE(limiter.allow());
  thrum::sleep_for(1ms);
  CHECK(limiter.allow());
  CHECK_FALSE(limiter.allow());
  thrum::sleep_for(1h);
  CHECK_FALSE(limiter.allow(4));  // no more than the burst, however long nothing happened
  CHECK(limiter.allow(3));
  CHECK(limiter.allow(0));
}

IN_BUBBLE("wait lets events pass at the rate, in the order in which they came") {
  rate_limiter limiter(100, 1);
  const auto begin = now();
  std::vector<int> order;
  in_goroutines(5, [&](int i) {
    thrum::sleep_for(i * 1us);
    limiter.wait();
    order.push_back(i);
  });
  CHECK(order == std::vector<int>{0, 1, 2, 3, 4});
  CHECK(now() - begin >= 40ms);
  CHECK(now() - begin < 41ms);
}

IN_BUBBLE("a wait that cannot end in time ends at once, and takes nothing") {
  rate_limiter limiter(1s, 1);
  const auto begin = now();
  CHECK(limiter.wait_for(1, 0s));
  CHECK_FALSE(limiter.wait_for(1, 999ms));
  CHECK_FALSE(limiter.wait_until(1, begin + 500ms));
  CHECK_FALSE(limiter.wait(1, thrum::context().with_timeout(999ms)));
  CHECK(now() == begin);
  CHECK(limiter.wait_for(1, 1s));
  CHECK(now() == begin + 1s);
  CHECK(limiter.wait(1, thrum::context().with_timeout(2s)));
  CHECK(now() == begin + 2s);
}

IN_BUBBLE("a stop ends a wait, whose place is free again") {
  rate_limiter limiter(1s, 1);
  CHECK(limiter.allow());
  std::stop_source source = support::new_source();
  const thrum::context context = thrum::context().with_cancel();
  auto by_token = thrum::spawn([&] { return limiter.wait(1, source.get_token()); });
  thrum::sleep_for(1ms);
  source.request_stop();
  CHECK_FALSE(by_token.join());
  auto by_context = thrum::spawn([&] { return limiter.wait(1, context); });
  thrum::sleep_for(1ms);
  context.cancel();
  CHECK_FALSE(by_context.join());
  CHECK_FALSE(limiter.wait(0, context));
  const auto begin = now();
  limiter.wait();
  CHECK(now() - begin <= 1s);
}

IN_BUBBLE("a reservation tells how long to wait, and what is cancelled can be had by others") {
  rate_limiter limiter(1.0, 2);
  auto first = limiter.reserve(2);
  REQUIRE(first);
  CHECK(first.delay() == 0s);
  auto second = limiter.reserve();
  CHECK(second.delay() == 1s);
  auto third = limiter.reserve();
  CHECK(third.delay() == 2s);
  third.cancel();
  CHECK_FALSE(third);
  CHECK(limiter.reserve().delay() == 2s);
  CHECK_FALSE(limiter.reserve(3));
  CHECK(limiter.reserve(3).delay() == 0s);
  first.cancel();  // too late
  CHECK(limiter.tokens() == Approx(-2));
  thrum::sleep_for(1s);
  CHECK(second.delay() == 0s);
  second.cancel();
  CHECK(limiter.tokens() == Approx(-1));
  auto moved = std::move(second);
  CHECK_FALSE(moved);
}

IN_BUBBLE("a cancelled reservation gives back no more than later ones left") {
  rate_limiter limiter(1.0, 4);
  CHECK(limiter.allow(4));
  auto large = limiter.reserve(4);
  CHECK(large.delay() == 4s);
  const auto behind = limiter.reserve(1);
  CHECK(behind.delay() == 5s);
  large.cancel();
  CHECK(limiter.tokens() == Approx(-2));
  CHECK(limiter.reserve(1).delay() == 3s);
}

IN_BUBBLE("rate and burst change from now on") {
  rate_limiter limiter(1.0, 1);
  CHECK(limiter.allow());
  limiter.rate(10ms);
  CHECK(limiter.rate() == Approx(100));
  thrum::sleep_for(10ms);
  CHECK(limiter.allow());
  limiter.burst(5);
  CHECK(limiter.burst() == 5);
  thrum::sleep_for(1s);
  CHECK(limiter.allow(5));
  limiter.rate(0);
  thrum::sleep_for(1h);
  CHECK_FALSE(limiter.allow());
  CHECK(is_usage_error("rate_limiter::wait", [&] { limiter.wait(); }));
  CHECK_FALSE(limiter.wait_for(1, 1h));
  limiter.rate(rate_limiter::unlimited);
  CHECK(limiter.allow(1'000));
  limiter.wait(1'000);
  CHECK(limiter.reserve(1'000).delay() == 0s);
}

TEST_CASE("what can never be is an error of use") {
  CHECK(is_usage_error("rate_limiter:", [] { const rate_limiter l(-1.0, 1); }));
  CHECK(is_usage_error("rate_limiter:",
                       [] { const rate_limiter l(std::numeric_limits<double>::quiet_NaN(), 1); }));
  CHECK(is_usage_error("rate_limiter:", [] { const rate_limiter l(0ms, 1); }));
  rate_limiter limiter(1.0, 1);
  CHECK(is_usage_error("rate_limiter::rate", [&] { limiter.rate(-1.0); }));
  CHECK(is_usage_error("rate_limiter::wait", [&] { limiter.wait(2); }));
  CHECK(is_usage_error("rate_limiter::wait",
                       [&] { static_cast<void>(limiter.wait(2, std::stop_token())); }));
}

IN_RUNTIME("goroutines and foreign threads share a rate limiter") {
  rate_limiter limiter(1ms, 4);
  const auto begin = std::chrono::steady_clock::now();
  support::on_goroutines_and_threads(4, [&] {
    for (int i = 0; i != 5; ++i) {
      limiter.wait();
    }
  });
  CHECK(std::chrono::steady_clock::now() - begin >= 36ms - 1us);
}

TEST_CASE("the stop of a runtime ends a wait for a rate") {
  rate_limiter limiter(1h, 1);
  CHECK(limiter.allow());
  CHECK(support::is_unwound_at_stop([&] { limiter.wait(); }));
  CHECK(limiter.tokens() >= -0.5);  // its place is free again
}

IN_BUBBLE("a wait with a stop that came before takes nothing") {
  rate_limiter limiter(1, 10);
  std::stop_source source = support::new_source();
  source.request_stop();
  CHECK_FALSE(limiter.wait(10, source.get_token()));
  const auto over = thrum::context::background().with_timeout(-1s);
  CHECK_FALSE(limiter.wait(10, over));
  CHECK(limiter.tokens() == 10);
  CHECK(limiter.allow(10));
}

IN_BUBBLE("what is cancelled is given back, whatever was cancelled before") {
  rate_limiter limiter(1, 10);
  CHECK(limiter.allow(9));
  for (const std::size_t n : {5U, 3U, 2U}) {  // each smaller than the one before
    auto place = limiter.reserve(n);
    CHECK(place.delay() == std::chrono::seconds(n - 1));
    place.cancel();
    CHECK(limiter.tokens() == 1);
  }
  // The first of two, and then the second: what is left is what stood behind the first.
  auto first = limiter.reserve(6);
  auto second = limiter.reserve(1);
  first.cancel();
  CHECK(limiter.tokens() == -1);
  second.cancel();
  CHECK(limiter.tokens() == 0);
  auto last = limiter.reserve(1);
  CHECK(last.delay() == 1s);
  last.cancel();
  CHECK(limiter.tokens() == 0);
}

IN_BUBBLE("a place may be cancelled after the rate has become as good as none") {
  rate_limiter limiter(1, 10);
  CHECK(limiter.allow(10));
  auto place = limiter.reserve(5);
  limiter.rate(1e-12);
  place.cancel();
  CHECK(limiter.tokens() == 0);
}

TEST_CASE("a limiter that a bubble has used fills outside of it, too") {
  rate_limiter limiter(1'000'000, 1);
  thrum::testing::bubble([&] {
    thrum::sleep_for(100h);
    CHECK(limiter.allow());
  });
  CHECK(support::eventually([&] { return limiter.allow(); }));
  CHECK(support::eventually([&] { return limiter.allow(); }));
}
