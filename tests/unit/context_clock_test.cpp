// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Deadlines of contexts by clocks other than the steady one.

#include <thrum/context.hpp>

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/set_back_clock.hpp"
#include "support/with_runtime.hpp"

#include <atomic>
#include <chrono>
#include <stop_token>
#include <system_error>

using namespace std::chrono_literals;
using support::set_back_clock;
using support::with_runtime;
using thrum::context;

namespace {

/// A clock that only a test moves.
struct hand_moved_clock {
  using duration = std::chrono::milliseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<hand_moved_clock>;
  [[maybe_unused]] static constexpr bool is_steady = false;
  static inline std::atomic<rep> ticks{0};
  static time_point now() noexcept { return time_point(duration(ticks.load())); }
};

}  // namespace

TEST_CASE("a context is done when the clock of its deadline says so, however it is asked") {
  const auto wait_by = [](auto wait) {
    const auto when = set_back_clock::soon();
    const context c = context::background().with_deadline(when);
    wait(c);
    CHECK(set_back_clock::now() >= when);
    CHECK(c.error() == std::errc::timed_out);
    CHECK(c.done().is_closed());
  };
  const auto each = [&] {
    wait_by([](const context& c) { c.done().recv(); });
    wait_by([](const context& c) { thrum::select(on_done(c), thrum::on_timeout(1h)); });
    wait_by([](const context& c) { c.with_value(1).with_cancel().done().recv(); });
    wait_by([](const context& c) { CHECK(support::eventually([&] { return c.cancelled(); })); });
  };
  each();
  with_runtime(each);
  with_runtime([&] {
    wait_by([](const context& c) {
      thrum::select(thrum::on_done(c.stop_token()), thrum::on_timeout(1h));
    });
  });
}

TEST_CASE("a clock that stands holds up a context, but no earlier deadline around or below it") {
  with_runtime([] {
    const auto soon = hand_moved_clock::now() + 1ms;
    const context outer = context::background().with_timeout(1h);
    const context by_hand = outer.with_deadline(soon);
    const context inner = by_hand.with_timeout(3ms);
    CHECK_FALSE(inner.done().recv());
    CHECK(inner.error() == std::errc::timed_out);
    CHECK_FALSE(by_hand.cancelled());
    CHECK(by_hand.deadline().value() < outer.deadline().value());

    const context short_outer = context::background().with_timeout(3ms);
    const context below = short_outer.with_deadline(soon).with_cancel();
    CHECK_FALSE(below.done().recv());
    CHECK(short_outer.cancelled());
    CHECK_FALSE(by_hand.cancelled());

    hand_moved_clock::ticks += 1;
    CHECK_FALSE(by_hand.done().recv());
    CHECK(by_hand.error() == std::errc::timed_out);
  });
}

TEST_CASE("a context that is cancelled before its clock's moment says so, and its token too") {
  std::stop_token token;
  with_runtime([&] {
    const context c = context::background().with_deadline(hand_moved_clock::now() + 1ms);
    token = c.stop_token();
    thrum::sleep_for(3ms);  // past the moment as it was reckoned at first
    CHECK_FALSE(token.stop_requested());
    c.cancel();
    CHECK(c.error() == std::errc::operation_canceled);
    CHECK(token.stop_requested());
  });
}

TEST_CASE("a runtime that stops lets go of a context whose clock stands") {
  std::stop_token token;
  with_runtime([&] {
    token = context::background().with_deadline(hand_moved_clock::now() + 1ms).stop_token();
    thrum::sleep_for(3ms);
  });
  CHECK_FALSE(token.stop_possible());  // its source is gone, and has not been asked
  CHECK_FALSE(token.stop_requested());
}
