// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/detail/sched/run/park.hpp>
#include <thrum/detail/sched/run/yield.hpp>

#include "support/lone_scheduler.hpp"
#include "support/test.hpp"

namespace {

/// Waits at the end of its scope, and tells what came of it.
struct receives_at_end {
  const thrum::chan<int>& channel;
  std::optional<int>& received;
  std::atomic<bool>& was_cancelled;

  ~receives_at_end() {
    try {
      received = channel.recv();
    } catch (...) {
      was_cancelled = true;  // here and now: to leave a destructor would end the process
    }
  }
};

}  // namespace

TEST_CASE("a wait in a destructor that an exception runs is not cancelled by a stop") {
  const thrum::chan<int> channel(1);
  std::optional<int> received;
  std::atomic<bool> was_cancelled{false};
  std::atomic<int> others_unwound{0};
  bool arrived = false;
  thrum::runtime runtime(support::environment_options());
  const auto park_another = [&] {
    runtime.go([&] {
      struct at_end {
        std::atomic<int>& n;
        ~at_end() { ++n; }
      } const scope{others_unwound};
      thrum::sleep_for(1h);
    });
  };
  park_another();
  runtime.go([&] {
    try {
      const receives_at_end scope{channel, received, was_cancelled};
      throw std::runtime_error("on its way");
    } catch (const std::runtime_error&) {
      arrived = true;
    }
  });
  park_another();
  REQUIRE(support::eventually([&] { return runtime.stats().waiting == 3; }));
  std::thread stopper([&] { runtime.stop(); });
  // Whichever it visits first, it has seen all three by then.
  CHECK(support::eventually([&] { return others_unwound == 2; }));
  CHECK_FALSE(was_cancelled);
  channel.send(7);
  stopper.join();
  CHECK(received == 7);
  CHECK(arrived);
}

TEST_CASE("a wait that begins during a stop is cancelled, unless an exception unwinds the stack") {
  const thrum::chan<int> channel(1);
  std::optional<int> received;
  std::atomic<bool> was_cancelled{false};
  std::atomic<bool> sleep_was_cancelled{false};
  std::atomic<bool> is_stopping{false};
  std::atomic<bool> runs{false};
  thrum::runtime runtime(support::environment_options());
  runtime.go([&] {
    runs = true;
    while (!is_stopping) {
      thrum::this_goroutine::yield();
    }
    try {
      const receives_at_end scope{channel, received, was_cancelled};
      throw std::runtime_error("on its way");
    } catch (const std::runtime_error&) {
      struct at_end {
        std::atomic<bool>& flag;
        ~at_end() { flag = true; }
      } const scope{sleep_was_cancelled};
      thrum::sleep_for(1h);
    }
  });
  runtime.go([&] {
    struct at_end {
      std::atomic<bool>& flag;
      ~at_end() { flag = true; }
    } const scope{is_stopping};
    thrum::sleep_for(1h);
  });
  REQUIRE(support::eventually([&] { return runs && runtime.stats().waiting == 1; }));
  std::thread stopper([&] { runtime.stop(); });
  CHECK(support::eventually([&] { return is_stopping && runtime.stats().waiting == 1; }));
  CHECK_FALSE(was_cancelled);
  channel.send(7);
  stopper.join();
  CHECK(received == 7);
  CHECK(sleep_was_cancelled);
}

TEST_CASE("a wait that a stop ends before it begins leaves nothing that the stop could look at") {
  support::lone_scheduler scheduler(1);
  thrum::sched::machine& m = scheduler.holder_of(0);
  thrum::sched::goroutine& g = scheduler.g();
  m.g = &g;
  m.exceptions = thrum::os::thread_exception_state();
  thrum::sched::wake_cause cause{};
  {
    const support::on_m here(m);
    scheduler->ending.begin();
    cause = thrum::sched::sleep_until(thrum::sched::no_deadline);
  }
  CHECK(cause == thrum::sched::wake_cause::cancelled);
  CHECK(g.withdrawable.load() == nullptr);
  CHECK(g.exiting);
}

TEST_CASE("an idle processor is woken for a goroutine that gives its own one up") {
  support::lone_scheduler scheduler(2);
  thrum::sched::machine& m = scheduler.holder_of(0);
  thrum::sched::goroutine& yields = scheduler.g();
  CHECK(commit_to_global(m, yields, nullptr));
  CHECK(scheduler.started() == 1);
  CHECK(yields.status == thrum::sched::g_status::runnable);
  CHECK(scheduler->global.pop() == &yields);
  scheduler.end_search();
  thrum::sched::goroutine& gives_way = scheduler.g();
  CHECK(commit_behind(m, gives_way, nullptr));
  CHECK(scheduler.started() == 2);
  CHECK(gives_way.status == thrum::sched::g_status::runnable);
  CHECK(scheduler->global.pop() == &gives_way);
  scheduler.end_search();
  m.p->yielded.lock().lock();
  CHECK(commit_unlock_and_wake(m, scheduler.g(), nullptr));
  CHECK(scheduler.started() == 3);
  scheduler.end_search();
  m.p->yielded.lock().lock();
  CHECK(commit_unlock_yielded(m, scheduler.g(), nullptr));  // as many wait as before
  CHECK(scheduler.started() == 3);
}
