// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/detail/sched/run/poll_sink.hpp>

#include "support/catch.hpp"
#include "support/lone_scheduler.hpp"
#include "support/writable_socket.hpp"

#include <cstdint>
#include <utility>

namespace {

using thrum::sched::goroutine;
using thrum::sched::poll_sink;

/// A scheduler whose poller has one event to tell.
struct scheduler_with_event : support::lone_scheduler {
  explicit scheduler_with_event(unsigned procs) : support::lone_scheduler(procs) {
    REQUIRE(is_open());
    REQUIRE(socket.is_open());
    constexpr std::uint64_t some_tag = (std::uint64_t{7} << 32) + 1;
    REQUIRE(socket.add_to((*this)->poller, some_tag));
  }
  ~scheduler_with_event() { socket.remove_from((*this)->poller); }

  support::writable_socket socket;
};

/// A goroutine that had moved much before it waited.
goroutine& mover(support::lone_scheduler& scheduler) {
  goroutine& g = scheduler.g();
  g.moved_much = true;
  return g;
}

}  // namespace

TEST_CASE("goroutines that a poll found ready run before those that only gave way") {
  support::lone_scheduler scheduler(1);
  goroutine& gave_way = scheduler.g();
  scheduler->global.push_back(gave_way);
  goroutine& first = scheduler.g();
  goroutine& second = scheduler.g();
  poll_sink sink(*scheduler);
  sink.ready.push_back(first);
  sink.ready.push_back(second);
  inject(sink);
  CHECK(scheduler->global.pop() == &first);
  CHECK(scheduler->global.pop() == &second);
  CHECK(scheduler->global.pop() == &gave_way);
  CHECK(first.status == thrum::sched::g_status::runnable);
}

TEST_CASE(
    "a goroutine that moved much data gets no precedence from a poll, and its count begins anew") {
  support::lone_scheduler scheduler(1);
  goroutine& waits = scheduler.g();
  scheduler->global.push_back(waits);
  goroutine& returned = mover(scheduler);
  poll_sink sink(*scheduler);
  sink.ready.push_back(returned);
  inject(sink);
  CHECK_FALSE(returned.moved_much);
  CHECK(scheduler->global.pop() == &waits);
  CHECK(scheduler->global.pop() == &returned);
}

TEST_CASE("a poll wakes a processor if it found something, and only then") {
  support::lone_scheduler scheduler(1);
  poll_sink sink(*scheduler);
  inject(sink);
  CHECK(scheduler.started() == 0);
  sink.ready.push_back(scheduler.g());
  inject(sink);
  CHECK(scheduler.started() == 1);
}

TEST_CASE("no thread polls while no goroutine waits for a descriptor") {
  support::lone_scheduler scheduler(1);
  REQUIRE(scheduler.is_open());
  poll_sink sink(*scheduler);
  CHECK_FALSE(poll_once(*scheduler, sink));
}

TEST_CASE(
    "a poll gives each event to the scheduler, and collects the goroutines that it makes ready") {
  scheduler_with_event scheduler(1);
  goroutine& g = scheduler.g();
  scheduler.ready_by_event = {&g};
  poll_sink sink(*scheduler);
  REQUIRE(poll_once(*scheduler, sink));
  CHECK(sink.ready.size == 1);
  CHECK(sink.ready.pop_front() == &g);
}

TEST_CASE("no other thread polls while one sleeps in the poller") {
  scheduler_with_event scheduler(1);
  REQUIRE(scheduler->poll.begin_sleep(1));
  poll_sink sink(*scheduler);
  CHECK_FALSE(poll_once(*scheduler, sink));
}

TEST_CASE("a busy processor alternates between goroutines that a poll found and its own") {
  scheduler_with_event scheduler(1);
  thrum::sched::machine& m = scheduler.holder_of(0);
  goroutine* const old[] = {&scheduler.g(), &scheduler.g(), &scheduler.g()};
  for (goroutine* const each : old) {
    scheduler.push(0, *each);
  }
  goroutine& gave_way = scheduler.g();
  scheduler->global.push_back(gave_way);
  goroutine& first = scheduler.g();
  goroutine& second = scheduler.g();
  goroutine& returned = mover(scheduler);
  scheduler.ready_by_event = {&first, &returned, &second};
  poll_in_turn(m);
  for (goroutine* const expected : {&first, old[0], &second, old[1], old[2]}) {
    CHECK(scheduler.p(0).queue.pop() == expected);
  }
  CHECK(scheduler.p(0).queue.empty());
  CHECK(scheduler->global.pop() == &gave_way);
  CHECK(scheduler->global.pop() == &returned);
}

TEST_CASE(
    "goroutines that a poll found, and that the ring has no room for, come first in the global "
    "queue") {
  scheduler_with_event scheduler(2);
  thrum::sched::machine& m = scheduler.holder_of(0);
  goroutine* last = nullptr;
  for (std::uint32_t i = 0; i != thrum::sched::traits::run_queue_capacity; ++i) {
    last = &scheduler.g();
    scheduler.push(0, *last);
  }
  goroutine& gave_way = scheduler.g();
  scheduler->global.push_back(gave_way);
  scheduler.ready_by_event = {&scheduler.g()};
  poll_in_turn(m);
  CHECK(scheduler.p(0).queue.ring_size() == thrum::sched::traits::run_queue_capacity);
  CHECK(scheduler->global.pop() == last);
  CHECK(scheduler->global.pop() == &gave_way);
  CHECK(scheduler.started() == 1);
}
