// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/detail/sched/run/wake_list.hpp>

#include "support/catch.hpp"
#include "support/lone_scheduler.hpp"

#include <cstddef>
#include <vector>

namespace {

using thrum::sched::g_status;
using thrum::sched::goroutine;
using thrum::sched::wait_point;
using thrum::sched::wake_list;

/// Goroutines of a scheduler, each with the point that it waits at.
class waiters_of {
 public:
  waiters_of(support::lone_scheduler& scheduler, std::size_t n) : points(n) {
    for (wait_point& each : points) {
      each.g = &scheduler.g();
    }
  }
  std::vector<wait_point> points;
};

}  // namespace

TEST_CASE("goroutines that are woken together run in their order, the first of them next") {
  support::lone_scheduler scheduler(1);
  const support::on_m here(scheduler.holder_of(0));
  goroutine& kicked = scheduler.g();
  scheduler.set_runnext(0, kicked);
  waiters_of some(scheduler, 3);
  wake_list released;
  for (wait_point& each : some.points) {
    released.push_back(&each);
  }
  released.wake_all();
  auto& queue = scheduler.p(0).queue;
  CHECK(queue.take_runnext() == some.points[0].g);
  CHECK(queue.pop() == &kicked);
  CHECK(queue.pop() == some.points[1].g);
  CHECK(queue.pop() == some.points[2].g);
  CHECK(queue.empty());
  CHECK(some.points[2].g->status == g_status::runnable);
}

TEST_CASE("goroutines that are woken together overflow from the ring to the global queue") {
  support::lone_scheduler scheduler(2);
  const support::on_m here(scheduler.holder_of(0));
  constexpr std::size_t ring = thrum::sched::traits::run_queue_capacity;
  waiters_of some(scheduler, ring + 3);
  wake_list released;
  for (wait_point& each : some.points) {
    released.push_back(&each);
  }
  released.wake_all();
  CHECK(scheduler.p(0).queue.size() == ring);
  CHECK(scheduler->global.size() == 2);
  CHECK(scheduler->global.pop() == some.points[ring + 1].g);
  CHECK(scheduler->global.pop() == some.points[ring + 2].g);
  CHECK(scheduler.started() == 1);
}

TEST_CASE("goroutines that a thread without a processor wakes together go to the global queue") {
  support::lone_scheduler scheduler(1);
  waiters_of some(scheduler, 2);
  wake_list released;
  released.push_back(&some.points[0]);
  released.push_back(&some.points[1]);
  released.wake_all();
  CHECK(scheduler->global.pop() == some.points[0].g);
  CHECK(scheduler->global.pop() == some.points[1].g);
  CHECK(scheduler.started() == 1);
  scheduler->wakers.wait_until_gone();
}

TEST_CASE("goroutines of two runtimes that are woken together go each to its own") {
  support::lone_scheduler one(1);
  support::lone_scheduler other(1);
  const support::on_m here(one.holder_of(0));
  waiters_of ours(one, 2);
  waiters_of theirs(other, 2);
  wake_list released;
  wake_list behind;
  released.push_back(&ours.points[0]);
  SECTION("when they were added to one list") {
    released.push_back(&theirs.points[0]);
    released.push_back(&theirs.points[1]);
    released.push_back(&ours.points[1]);
  }
  SECTION("when two lists of both were joined") {
    released.push_back(&theirs.points[0]);
    behind.push_back(&ours.points[1]);
    behind.push_front(theirs.points[1]);
    released.append(static_cast<wake_list&&>(behind));
  }
  SECTION("when two lists of one each were joined") {
    released.push_back(&ours.points[1]);
    behind.push_back(&theirs.points[0]);
    behind.push_back(&theirs.points[1]);
    released.append(static_cast<wake_list&&>(behind));
  }
  released.wake_all();
  CHECK(one.p(0).queue.size() == 1);
  CHECK(one.p(0).queue.peek_runnext() != nullptr);
  CHECK(other->global.size() == 2);
  other->wakers.wait_until_gone();
}

TEST_CASE(
    "threads and goroutines that are woken together are all woken, from either half of a list") {
  support::lone_scheduler scheduler(1);
  const support::on_m here(scheduler.holder_of(0));
  waiters_of some(scheduler, 3);
  std::vector<wait_point> threads(3);
  wake_list released;
  released.push_back(&threads[0]);
  released.push_back(&some.points[0]);
  wake_list behind;
  behind.push_front(threads[2]);
  behind.push_front(some.points[2]);
  behind.push_front(threads[1]);
  behind.push_front(some.points[1]);
  released.append(static_cast<wake_list&&>(behind));
  CHECK(behind.empty());
  released.wake_all();
  for (wait_point& each : threads) {
    CHECK(each.note.sleep_for(0));
  }
  auto& queue = scheduler.p(0).queue;
  CHECK(queue.take_runnext() == some.points[0].g);
  CHECK(queue.pop() == some.points[1].g);
  CHECK(queue.pop() == some.points[2].g);
}
