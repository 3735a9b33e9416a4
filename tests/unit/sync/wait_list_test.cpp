// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/detail/sync/wait_list.hpp>

#include "support/catch.hpp"

using thrum::sched::wait_point;
using thrum::sched::wake_cause;
using thrum::sched::withdrawal;
using thrum::sync_detail::wait_list;

TEST_CASE("points that were taken as a whole can no longer be withdrawn") {
  thrum::sched::spin_lock lock{thrum::sched::lock_rank::waiters};
  wait_list list(lock);
  wait_point points[3];
  for (auto& p : points) {
    p.object = &list;
    list.points.push_back(p);
  }
  lock.lock();
  thrum::sched::wake_list released;
  list.take_all(wake_cause::closed, released);
  lock.unlock();
  for (auto& p : points) {
    CHECK(wait_list::withdraw(p, false) == withdrawal::refused);
    CHECK(p.cause == wake_cause::closed);
  }
  CHECK(list.empty());
  released.wake_all();
  for (auto& p : points) {
    CHECK(p.note.sleep_for(0));
  }
}

TEST_CASE("a point is withdrawn once, and the others stay in their order") {
  thrum::sched::spin_lock lock{thrum::sched::lock_rank::waiters};
  wait_list list(lock);
  wait_point points[3];
  for (auto& p : points) {
    p.object = &list;
    list.points.push_back(p);
  }
  CHECK(wait_list::withdraw(points[1], false) == withdrawal::done);
  CHECK(wait_list::withdraw(points[1], false) == withdrawal::refused);
  CHECK(list.pop(wake_cause::notified) == &points[0]);
  CHECK(list.pop(wake_cause::notified) == &points[2]);
  CHECK(list.pop(wake_cause::notified) == nullptr);
}
