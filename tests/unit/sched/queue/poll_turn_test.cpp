// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What two threads do at the same moment is tried by tests/model/timer_wake_model.cpp.

#include <thrum/detail/sched/queue/poll_turn.hpp>

#include <thrum/detail/sched/core/traits.hpp>

#include "support/catch.hpp"

#include <cstdint>

namespace {

using turn_at_poller = thrum::sched::poll_turn<thrum::sched::default_traits>;

constexpr std::int64_t some_time = 1'000;
constexpr std::int64_t interval_of_looks = thrum::sched::default_traits::poll_interval_ns;

/// look() with a poll that does nothing, after which it is `then`.
bool look_once(turn_at_poller& turn, std::int64_t then) {
  return turn.look([] {}, [=] { return then; });
}

}  // namespace

TEST_CASE("while one thread sleeps in the poller no other gets the turn, nor takes its time") {
  turn_at_poller turn;
  CHECK_FALSE(turn.somebody_sleeps());
  REQUIRE(turn.begin_sleep(some_time));
  CHECK(turn.somebody_sleeps());
  CHECK_FALSE(turn.begin_sleep(2 * some_time));
  CHECK_FALSE(look_once(turn, 1));
  CHECK(turn.somebody_sleeps());
  CHECK(turn.oversleeps(some_time - 1));  // an earlier timer, and no later one
  CHECK_FALSE(turn.oversleeps(some_time));
  CHECK_FALSE(turn.oversleeps(some_time + 1));
  turn.end_sleep(1);
  CHECK_FALSE(turn.somebody_sleeps());
  CHECK(turn.oversleeps(some_time + 1));  // rather once too often while the sleeper leaves
  REQUIRE(turn.begin_sleep(turn_at_poller::for_ever));
  CHECK(turn.oversleeps(some_time));
  CHECK(turn.oversleeps(INT64_MAX - 1));
}

TEST_CASE("a poll is due, once, when the last one is old enough, and never while a thread sleeps") {
  turn_at_poller turn;
  REQUIRE(turn.begin_sleep(turn_at_poller::for_ever));
  CHECK_FALSE(turn.is_due(INT64_MAX, 10));
  CHECK_FALSE(turn.take_if_due(INT64_MAX, 10));
  CHECK(turn.somebody_sleeps());
  turn.end_sleep(some_time);
  CHECK_FALSE(turn.is_due(some_time + 9, 10));
  CHECK(turn.is_due(some_time + 10, 10));
  CHECK_FALSE(turn.take_if_due(some_time + 9, 10));
  CHECK(turn.take_if_due(some_time + 10, 10));
  CHECK_FALSE(turn.take_if_due(some_time + 11, 10));
  REQUIRE(look_once(turn, 2 * some_time));  // counts as the last poll
  CHECK_FALSE(turn.is_due(2 * some_time + 9, 10));
  CHECK(look_once(turn, 3 * some_time));
}

TEST_CASE(
    "one thread at a time looks at the poller, and one that goes to sleep then is not forgotten") {
  turn_at_poller turn;
  bool second = true;
  bool sleeps = false;
  REQUIRE(turn.look(
      [&] {
        second = look_once(turn, 1);
        sleeps = turn.begin_sleep(some_time);
      },
      [] { return some_time; }));
  CHECK_FALSE(second);
  REQUIRE(sleeps);
  CHECK(turn.somebody_sleeps());
}

TEST_CASE(
    "a poller counts as left alone after half of a busy processor's interval without a look") {
  turn_at_poller turn;
  REQUIRE(look_once(turn, some_time));
  CHECK_FALSE(turn.note_if_left_alone(some_time + interval_of_looks / 2 - 1));
  CHECK_FALSE(turn.was_left_alone(some_time + interval_of_looks / 2 - 1));
  CHECK(turn.note_if_left_alone(some_time + interval_of_looks / 2));
  REQUIRE(turn.begin_sleep(turn_at_poller::for_ever));
  CHECK_FALSE(turn.note_if_left_alone(some_time + 2 * interval_of_looks));
}

TEST_CASE("a look too late marks the poller as left alone for a second, whoever looks") {
  constexpr std::int64_t second = 1'000'000'000;
  for (int who = 0; who != 3; ++who) {
    INFO((who == 0   ? "the monitor notes it"
          : who == 1 ? "the monitor looks"
                     : "a processor looks"));
    turn_at_poller turn;
    REQUIRE(look_once(turn, some_time));  // the first look of all
    REQUIRE(look_once(turn, some_time + 2 * interval_of_looks - 1));
    CHECK_FALSE(turn.was_left_alone(some_time + 2 * interval_of_looks));
    const std::int64_t seen = some_time + 4 * interval_of_looks;
    REQUIRE((who == 0   ? turn.note_if_left_alone(seen)
             : who == 1 ? turn.take_if_due(seen, interval_of_looks)
                        : look_once(turn, seen)));
    CHECK(turn.was_left_alone(seen + second - 1));
    CHECK_FALSE(turn.was_left_alone(seen + second));
  }
}
