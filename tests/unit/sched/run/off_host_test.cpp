// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/sched/run/off_host.hpp>

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/with_runtime.hpp"

#include <atomic>
#include <thread>

namespace {

/// Leaves the host, and says so; afterwards it may come back.
bool leaves_host() {
  thrum::sched::section here;
  const bool left = thrum::sched::leave_host(here);
  if (left) {
    thrum::sched::may_be_on_host(*here.g());
  }
  return left;
}

}  // namespace

TEST_CASE("a goroutine leaves the thread of a host, and no other thread") {
  std::atomic<int> left{0}, done{0};
  std::atomic<bool> right{true};
  thrum::runtime runtime(support::with_procs(1));
  const auto host = std::this_thread::get_id();
  const int all = 100;
  for (int i = 0; i != all; ++i) {
    runtime.go([&] {
      const bool was_there = std::this_thread::get_id() == host;
      const bool has_left = leaves_host();
      left += has_left;
      right = right && has_left == was_there;
      ++done;
    });
  }
  while (done != all) {
    runtime.run_until_idle();
  }
  CHECK(right);
}

TEST_CASE("a goroutine that is bound to the host does not leave it") {
  thrum::runtime runtime(support::with_procs(1));
  runtime.poll();
  CHECK_FALSE(runtime.spawn(thrum::on_host, [] { return leaves_host(); }).join());
}
