// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Go's tests of contexts about causes, WithoutCancel and AfterFunc, re-created from their
// descriptions; most of those about AfterFunc are in context_call_test. What is a nil cause there is here a std::error_code that is no error; a context
// without cancellation has no nil channel here but one that nobody closes.

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/races.hpp"
#include "support/scale.hpp"

#include <atomic>
#include <chrono>
#include <system_error>
#include <utility>

using namespace std::chrono_literals;
using support::scaled;
using support::wrong_in_races;
using thrum::context;
using thrum::testing::bubble;

namespace {

const std::error_code parent_cause = std::make_error_code(std::errc::connection_reset);
const std::error_code child_cause = std::make_error_code(std::errc::connection_refused);
const std::error_code too_slow_cause = std::make_error_code(std::errc::host_unreachable);
const std::error_code plain_canceled = std::make_error_code(std::errc::operation_canceled);
const std::error_code plain_exceeded = thrum::errc::deadline_exceeded;

/// What error() and cause() say.
using error_and_cause = std::pair<std::error_code, std::error_code>;
error_and_cause error_and_cause_of(const context& c) { return {c.error(), c.cause()}; }

}  // namespace

TEST_CASE("Cause: the background and what is open have none") {
  CHECK(error_and_cause_of(context::background()) == error_and_cause());
  CHECK(error_and_cause_of(context()) == error_and_cause());
  CHECK(error_and_cause_of(context::background().with_value(1).with_cancel()) == error_and_cause());
}

TEST_CASE("Cause: WithCancel and WithCancelCause, one of them or a parent and a child") {
  const context plain = context::background().with_cancel();
  plain.cancel();
  CHECK(error_and_cause_of(plain) == error_and_cause(plain_canceled, plain_canceled));
  const context caused = context::background().with_cancel();
  caused.cancel(parent_cause);
  CHECK(error_and_cause_of(caused) == error_and_cause(plain_canceled, parent_cause));
  const context nil = context::background().with_cancel();
  nil.cancel({});
  CHECK(error_and_cause_of(nil) == error_and_cause(plain_canceled, plain_canceled));
  for (const bool child_first : {false, true}) {
    for (const std::error_code& first : {parent_cause, child_cause, std::error_code()}) {
      const context parent = context::background().with_cancel();
      const context child = parent.with_cancel();
      const error_and_cause told(plain_canceled, first ? first : plain_canceled);
      (child_first ? child : parent).cancel(first);
      CHECK(error_and_cause_of(parent) == (child_first ? error_and_cause() : told));
      (child_first ? parent : child).cancel(too_slow_cause);
      CHECK(error_and_cause_of(child) == told);
      CHECK(parent.cause() == (child_first ? too_slow_cause : told.second));
    }
  }
}

TEST_CASE("Cause: WithTimeout and WithTimeoutCause, alone, cancelled before, and one in another") {
  CHECK(error_and_cause_of(context::background().with_timeout(0s)) ==
        error_and_cause(plain_exceeded, plain_exceeded));
  CHECK(error_and_cause_of(context::background().with_timeout(0s, too_slow_cause)) ==
        error_and_cause(plain_exceeded, too_slow_cause));
  const context called_off = context::background().with_timeout(1h);
  called_off.cancel();
  CHECK(error_and_cause_of(called_off) == error_and_cause(plain_canceled, plain_canceled));
  const context caused = context::background().with_timeout(1h, too_slow_cause);
  caused.cancel();
  CHECK(error_and_cause_of(caused) == error_and_cause(plain_canceled, plain_canceled));
  const context stacked = context::background().with_cancel().with_timeout(0s, too_slow_cause);
  CHECK(error_and_cause_of(stacked.with_cancel()) ==
        error_and_cause(plain_exceeded, too_slow_cause));
  const context outer = context::background().with_cancel();
  const context inner = outer.with_timeout(1h, too_slow_cause);
  outer.cancel(parent_cause);
  CHECK(error_and_cause_of(inner) == error_and_cause(plain_canceled, parent_cause));
}

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

TEST_CASE("AfterFuncCalledAsynchronously: the cancel does not wait for the function") {
  bubble([] {
    const context c = context::background().with_cancel();
    const thrum::chan<void> hands(0);
    c.after_func([hands] { hands.send(); });
    c.cancel();  // returns, though nobody has received
    CHECK(hands.recv());
  });
}
