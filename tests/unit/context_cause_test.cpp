// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Why a context is done, contexts that outlast their parents, and deadlines by clocks other than the
// steady one. With Go's tests of contexts about causes and AfterFunc, re-created from their descriptions;
// most of those about AfterFunc are in context_call_test. What is a nil cause there is here a
// std::error_code that is no error.
#include <thrum/context.hpp>

#include <thrum/testing/bubble.hpp>

#include "support/races.hpp"
#include "support/set_back_clock.hpp"
#include "support/test.hpp"

#include <ios>

using support::set_back_clock;
using support::wrong_in_races;
using thrum::context;
using thrum::testing::bubble;

namespace {

const std::error_code overload_cause = std::make_error_code(std::errc::no_buffer_space);
const std::error_code peer_left_cause = std::make_error_code(std::errc::broken_pipe);
const std::error_code slow_cause = std::make_error_code(std::errc::host_unreachable);

}  // namespace

TEST_CASE("a context made by default is the background, and copies are equal to nothing else") {
  static_assert(std::is_nothrow_default_constructible_v<context>);
  context slot;
  CHECK(slot == context::background());
  CHECK_FALSE(slot.cancelled());
  CHECK_FALSE(slot.cause());
  const context a = context::background().with_cancel();
  CHECK(slot != a);
  slot = a;
  CHECK(slot == a);
  CHECK(a.with_cancel() != a);
  CHECK(a.with_cancel() != a.with_cancel());
  CHECK(a.with_value(1) != a);
}

TEST_CASE(
    "the cause of a cancellation is what it was given, there and below, and the first stays") {
  const context root = context::background().with_cancel();
  const context middle = root.with_cancel();
  const context leaf = middle.with_value(1).with_timeout(1h, slow_cause);
  CHECK_FALSE(root.cause());
  middle.cancel(overload_cause);
  CHECK(middle.cause() == overload_cause);
  CHECK(leaf.cause() == overload_cause);
  CHECK(leaf.error() == std::errc::operation_canceled);
  CHECK_FALSE(root.cause());
  root.cancel(peer_left_cause);
  CHECK(root.cause() == peer_left_cause);
  CHECK(leaf.cause() == overload_cause);
  middle.cancel(peer_left_cause);
  CHECK(middle.cause() == overload_cause);
  CHECK(middle.with_cancel().cause() == overload_cause);
  CHECK(middle.with_timeout(-1s, slow_cause).cause() == overload_cause);
}

TEST_CASE("without a cause the error is the cause, and a code that is no error is none") {
  const context plain = context::background().with_cancel();
  plain.cancel();
  CHECK(plain.cause() == plain.error());
  const context no_error = context::background().with_cancel();
  no_error.cancel(std::error_code());
  CHECK(no_error.cause() == std::errc::operation_canceled);
  const context late = context::background().with_timeout(-1s);
  CHECK(late.cause() == thrum::errc::deadline_exceeded);
  const context by_enumeration = context::background().with_cancel();
  by_enumeration.cancel(std::io_errc::stream);
  CHECK(by_enumeration.cause() == std::io_errc::stream);
  const context token_source = context::background().with_cancel();
  const context follows = context::background().with_stop_token(token_source.stop_token());
  token_source.cancel(overload_cause);
  CHECK(follows.cause() == std::errc::operation_canceled);
}

IN_BUBBLE("a deadline's cause is reported when it passes, and not when a cancel comes first") {
  const context limited = context::background().with_timeout(1s, slow_cause);
  const context called_off = context::background().with_timeout(1s, slow_cause);
  const context late = context::background().with_deadline(thrum::testing::now() + 1s, slow_cause);
  called_off.cancel(peer_left_cause);
  CHECK_FALSE(limited.cause());
  thrum::sleep_for(2s);
  CHECK(limited.cause() == slow_cause);
  CHECK(limited.error() == std::errc::timed_out);
  CHECK(called_off.cause() == peer_left_cause);
  late.cancel(peer_left_cause);  // the deadline came first, though nobody has looked
  CHECK(late.cause() == slow_cause);
  CHECK(late.error() == std::errc::timed_out);
}

TEST_CASE("the first of several deadlines gives the cause, whichever context is asked first") {
  const auto each_order = [](auto look) {
    bubble([&] {
      const context outer = context::background().with_timeout(2s, overload_cause);
      const context inner = outer.with_cancel().with_timeout(1s, slow_cause);
      const context leaf = inner.with_timeout(1h, peer_left_cause).with_value(1);
      const context later = outer.with_timeout(3s, peer_left_cause);
      const context same = outer.with_timeout(2s, peer_left_cause);
      thrum::sleep_for(1h);
      look(outer, leaf);
      CHECK(leaf.cause() == slow_cause);
      CHECK(inner.cause() == slow_cause);
      CHECK(outer.cause() == overload_cause);
      CHECK(later.cause() == overload_cause);
      CHECK(same.cause() == overload_cause);
    });
  };
  each_order([](const context& outer, const context&) { CHECK(outer.cancelled()); });
  each_order([](const context&, const context& leaf) { CHECK(leaf.cancelled()); });
  each_order([](const context& outer, const context&) { outer.cancel(peer_left_cause); });
  each_order([](const context&, const context& leaf) { leaf.cancel(peer_left_cause); });
}

IN_RUNTIME("a deadline by another clock has its cause too") {
  const context limited =
      context::background().with_deadline(support::set_back_clock::soon(), slow_cause);
  const context below = limited.with_timeout(1h, peer_left_cause);
  CHECK_FALSE(below.done().recv());
  CHECK(below.cause() == slow_cause);
  CHECK(limited.cause() == slow_cause);
}

TEST_CASE("a deadline that has passed when the context is made has its cause") {
  CHECK(context::background().with_timeout(-1s, slow_cause).cause() == slow_cause);
  CHECK(context::background().with_deadline(thrum::time_point::min(), peer_left_cause).cause() ==
        peer_left_cause);
}

TEST_CASE("a look that finds a context done finds its cause, the same as each other look") {
  CHECK(wrong_in_races(scaled(500), [](thrum::wait_group& group, std::atomic<int>& wrong) {
          const context root = context::background().with_cancel();
          const context leaf = root.with_cancel();
          for (const std::error_code& cause : {overload_cause, peer_left_cause}) {
            group.go([root, cause] { root.cancel(cause); });
            group.go([&wrong, root, leaf] {
              leaf.done().recv();
              const std::error_code seen = leaf.cause();
              wrong += seen != overload_cause && seen != peer_left_cause ? 1 : 0;
              wrong += root.cause() != seen ? 1 : 0;
            });
          }
        }) == 0);
}

IN_BUBBLE("what without_cancel gives has the values and outlasts cancellation and deadline") {
  const context request =
      context::background().with_value(std::string("id")).with_timeout(1s).with_value(7);
  const context rest = request.without_cancel();
  const context below = rest.with_value(2L).with_timeout(1h, slow_cause);
  CHECK_FALSE(rest.deadline());
  CHECK(below.deadline() == thrum::testing::now() + 1h);
  thrum::sleep_for(2s);
  CHECK(request.cancelled());
  CHECK_FALSE(rest.cancelled());
  CHECK_FALSE(rest.cause());
  CHECK_FALSE(rest.done().is_closed());
  CHECK(*below.value<std::string>() == "id");
  CHECK(*below.value<int>() == 7);
  thrum::sleep_for(2h);
  CHECK(below.cause() == slow_cause);
  CHECK_FALSE(rest.cancelled());
  CHECK_FALSE(request.without_cancel().cancelled());
  rest.cancel(peer_left_cause);
  CHECK(rest.cause() == peer_left_cause);
  CHECK(rest.with_cancel().cause() == peer_left_cause);
}

TEST_CASE("a context that outlasts its parent keeps what it has of it, however deep it is") {
  const auto shared = std::make_shared<int>(1);
  {
    context last = context::background().with_value(shared);
    for (int i = 0; i != 50'000; ++i) {
      last = last.without_cancel();
    }
    CHECK(shared.use_count() == 2);
    CHECK(last.value<std::shared_ptr<int>>()->get() == shared.get());
    const context none = context::background().without_cancel();
    none.cancel();
    CHECK(none.cancelled());
  }
  CHECK(shared.use_count() == 1);
}

TEST_CASE("foreign threads cancel with a cause and see it") {
  const context c = context::background().with_cancel();
  std::error_code seen;
  std::thread waits([&] {
    c.done().recv();
    seen = c.cause();
  });
  c.cancel(overload_cause);
  waits.join();
  CHECK(seen == overload_cause);
}

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

IN_RUNTIME("a clock that stands holds up a context, but no earlier deadline around or below it") {
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

namespace {

const std::error_code parent_cause = std::make_error_code(std::errc::connection_reset);
const std::error_code plain_canceled = std::make_error_code(std::errc::operation_canceled);

}  // namespace

TEST_CASE("CauseRace: a cause is seen with the end, though the parent is cancelled meanwhile") {
  CHECK(wrong_in_races(scaled(300), [](thrum::wait_group& group, std::atomic<int>& wrong) {
          const context c = context::background().with_cancel();
          group.go([c] { c.cancel(parent_cause); });
          group.go([&wrong, c] {
            while (!c.cause()) {
              thrum::this_goroutine::yield();
            }
            wrong += c.cause() != parent_cause || c.error() != plain_canceled ? 1 : 0;
          });
        }) == 0);
}

IN_BUBBLE("AfterFuncCalledAsynchronously: the cancel does not wait for the function") {
  const context c = context::background().with_cancel();
  const thrum::chan<void> hands(0);
  c.after_func([hands] { hands.send(); });
  c.cancel();  // returns before a receiver has come
  CHECK(hands.recv());
}
