// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a point is told of a descriptor. As a case of select: io/on_ready_test.cpp.

#include <thrum/detail/sched/io/poll_watch.hpp>

#include "support/net.hpp"
#include "support/test.hpp"

using support::tcp_pair;
using thrum::sched::io_side;
using thrum::sched::poll_watch;
using outcome = thrum::sched::poll_watch::outcome;

namespace {

struct counting_point : thrum::sched::foreign_point {
  counting_point() noexcept
      : foreign_point([](thrum::sched::callback_point& self) noexcept {
          ++static_cast<counting_point&>(self).n;
        }) {}
  std::atomic<int> n{0};
};

}  // namespace

IN_RUNTIME("a watch point hears one event, and is then removed") {
  auto pair = tcp_pair();
  auto& desc = *pair.server.waits_on().waited_on();
  counting_point point;
  REQUIRE(poll_watch::begin(desc, io_side::read, point) == outcome::told);
  CHECK(point.is_linked);
  CHECK(point.n == 0);
  pair.client.write(std::string_view("x"));
  REQUIRE(eventually([&] { return point.n == 1; }));
  CHECK_FALSE(poll_watch::end(desc, io_side::read, point));
  CHECK(poll_watch::begin(desc, io_side::read, point) == outcome::ready);
  // A poller that is asked each time may answer before it is taken out.
  CHECK((poll_watch::end(desc, io_side::read, point) || eventually([&] { return point.n == 2; })));
  CHECK_FALSE(poll_watch::end(desc, io_side::read, point));
}

IN_RUNTIME("a removed watch point hears nothing, and one of a closed descriptor hears at once") {
  auto pair = tcp_pair();
  auto& desc = *pair.server.waits_on().waited_on();
  counting_point taken_out;
  counting_point left_in;
  REQUIRE(poll_watch::begin(desc, io_side::read, taken_out) == outcome::told);
  REQUIRE(poll_watch::begin(desc, io_side::read, left_in) == outcome::told);
  CHECK(poll_watch::end(desc, io_side::read, taken_out));
  pair.server.close();
  CHECK(left_in.n == 1);
  CHECK(taken_out.n == 0);
  CHECK_FALSE(poll_watch::end(desc, io_side::read, left_in));
}

TEST_CASE(
    "a watch point hears when its side is ready or its deadline moves, not of the other side") {
  using thrum::sched::no_deadline;
  using thrum::sched::poll_wait;
  constexpr std::int64_t past = 1;
  with_runtime([] {
    auto pair = tcp_pair();
    auto& desc = *pair.server.waits_on().waited_on();
    counting_point point;
    REQUIRE(poll_watch::begin(desc, io_side::read, point) == outcome::told);
    CHECK(point.deadline == no_deadline);
    poll_wait::make_ready(desc, io_side::write);
    poll_wait::set_deadline(desc, io_side::write, past);
    CHECK(point.n == 0);
    poll_wait::make_ready(desc, io_side::read);
    CHECK(point.n == 1);
    CHECK_FALSE(poll_watch::end(desc, io_side::read, point));

    REQUIRE(poll_watch::begin(desc, io_side::read, point) == outcome::told);
    poll_wait::set_deadline(desc, io_side::read, no_deadline - 10);
    CHECK(point.n == 2);
    REQUIRE(poll_watch::begin(desc, io_side::read, point) == outcome::told);
    CHECK(point.deadline == no_deadline - 10);
    poll_wait::set_deadline(desc, io_side::read, past);
    CHECK(point.n == 3);
    CHECK(poll_watch::begin(desc, io_side::read, point) == outcome::ready);
  });
}
