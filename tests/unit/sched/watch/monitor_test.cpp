// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The monitor's duties, each beside a scheduler whose processors stand as the test has left them.
// The taking of processors from code that computes or blocks is in retake_test.cpp.

#include <thrum/detail/sched/watch/monitor.hpp>

#include "support/descriptors.hpp"
#include "support/lone_scheduler.hpp"
#include "support/test.hpp"
#include "support/watched_errors.hpp"
#include "support/writable_socket.hpp"

namespace {

using thrum::sched::goroutine;
using thrum::sched::machine;
using timer_to_watch = thrum::sched::basic_timer<thrum::sched::traits>;

/// The monitor of a scheduler, on a thread of its own.
class monitored {
 public:
  explicit monitored(support::lone_scheduler& of)
      : scheduler_(of),
        monitor_(*of),
        thread_([this] { thrum::sched::monitor::main(&monitor_); }) {}
  ~monitored() {
    scheduler_->close();
    thread_.join();
  }
  monitored(const monitored&) = delete;
  monitored& operator=(const monitored&) = delete;

 private:
  support::lone_scheduler& scheduler_;
  thrum::sched::monitor monitor_;
  std::thread thread_;
};

/// Returns when the monitor has had a whole round.
void wait_for_round(support::lone_scheduler& scheduler) {
  for (int i = 0; i < 2; ++i) {  // the first time is noted before the look, the second after it
    const auto noted = scheduler->coarse_ms.load();
    REQUIRE(eventually([&] { return scheduler->coarse_ms != noted; }));
  }
}

std::atomic<int> lines_of_trace{0};

}  // namespace

TEST_CASE("a processor whose thread stays in a call goes to another thread if it has work") {
  support::lone_scheduler scheduler(1);
  machine& caller = scheduler.holder_of(0);
  caller.g = &scheduler.g();
  scheduler.push(0, scheduler.g());
  machine& taker = scheduler.idle_m();
  enter_syscall(caller);
  const monitored here(scheduler);
  REQUIRE(eventually([&] { return scheduler->hand_offs == 1; }));
  taker.park.sleep();
  CHECK(taker.next_p == &scheduler.p(0));
  CHECK_FALSE(take_from_syscall(caller, scheduler.p(0)));
}

TEST_CASE("a busy processor learns that one of its timers is due, and the coarse clock advances") {
  support::lone_scheduler scheduler(1);
  scheduler.holder_of(0);
  timer_to_watch due;
  scheduler.p(0).timers.add(due, 1);
  const monitored here(scheduler);
  CHECK(eventually([&] { return scheduler.p(0).attention == thrum::sched::attention_timers; }));
  CHECK(eventually([&] { return scheduler->coarse_ms != 0; }));
}

TEST_CASE("an idle processor is woken for a due timer, and for a runnext without a credit left") {
  for (const bool by_timer : {true, false}) {
    support::lone_scheduler scheduler(2);
    scheduler.holder_of(0);
    timer_to_watch due;
    if (by_timer) {  // while no thread sleeps in the poller
      scheduler.p(1).timers.add(due, 1);
    } else {
      scheduler.p(0).wake_credit = 0;
      scheduler.set_runnext(0, scheduler.g());
    }
    const monitored here(scheduler);
    CHECK(eventually([&] { return scheduler.started() == 1; }));
    CHECK(scheduler.p(0).wake_credit == thrum::sched::traits::wake_credit);
  }
}

TEST_CASE("a due timer of a busy processor wakes the thread that sleeps in the poller for longer") {
  support::lone_scheduler scheduler(2);
  REQUIRE(scheduler.is_open());
  scheduler.holder_of(0);
  timer_to_watch due;
  scheduler.p(0).timers.add(due, 1);
  REQUIRE(scheduler->poll.begin_sleep(scheduler->poll.for_ever));
  std::atomic<bool> awake{false};
  std::thread sleeper([&] {
    thrum::sched::poll_sink nothing(*scheduler);
    scheduler->poller.poll(-1, nothing);
    awake = true;
  });
  {
    const monitored here(scheduler);
    CHECK(eventually([&] { return awake.load(); }));
  }
  scheduler->poller.wake();
  sleeper.join();
  CHECK(scheduler.started() == 0);
}

TEST_CASE("descriptors are polled while every processor is busy") {
  support::lone_scheduler scheduler(1);
  REQUIRE(scheduler.is_open());
  const support::writable_socket socket;
  REQUIRE(socket.is_open());
  scheduler.holder_of(0);
  goroutine& g = scheduler.g();
  scheduler.ready_by_event = {&g};
  REQUIRE(socket.add_to(scheduler->poller, (std::uint64_t{7} << 32) + 1));
  {
    const monitored here(scheduler);
    CHECK(eventually([&] { return !scheduler->global.empty(); }));
  }
  CHECK(scheduler->global.pop() == &g);
  socket.remove_from(scheduler->poller);
}

TEST_CASE("an idle processor goes to the poller after a while without a poll") {
  support::lone_scheduler scheduler(2);
  REQUIRE(scheduler.is_open());
  const support::writable_socket socket;
  REQUIRE(socket.is_open());
  scheduler.holder_of(0);
  REQUIRE(socket.add_to(scheduler->poller, (std::uint64_t{7} << 32) + 1));
  const bool sleeps = GENERATE(false, true);
  scheduler->poll.end_sleep(thrum::sched::traits::now());
  if (sleeps) {
    REQUIRE(scheduler->poll.begin_sleep(scheduler->poll.for_ever));
  }
  // Asked of this moment: what the monitor notes is forgotten after a second.
  const auto before = thrum::sched::traits::now();
  {
    const monitored here(scheduler);
    if (sleeps) {
      wait_for_round(scheduler);
    } else {
      CHECK(eventually([&] { return scheduler.started() != 0; }));
    }
  }
  CHECK((scheduler.started() == 0) == sleeps);
  CHECK(scheduler->poll.was_left_alone(before) == !sleeps);
  socket.remove_from(scheduler->poller);
}

TEST_CASE("the monitor sleeps while all processors idle, until one of them does not") {
  support::lone_scheduler scheduler(2);
  const monitored here(scheduler);
  REQUIRE(eventually([&] { return scheduler->monitor.is_asleep(); }));
  scheduler.holder_of(0);
  scheduler->monitor.wake_if_all_idle();
  CHECK(eventually([&] { return !scheduler->monitor.is_asleep(); }));
}

TEST_CASE("the monitor does not sleep while a processor is busy that is to go out of service") {
  support::lone_scheduler scheduler(2);
  scheduler.holder_of(1);
  REQUIRE(scheduler->set_procs(1) == 0);
  timer_to_watch due;
  const monitored here(scheduler);
  constexpr std::int64_t half_a_second = 500'000'000;  // by then it would sleep without end
  scheduler.p(0).timers.add(due, thrum::sched::traits::now() + half_a_second);
  CHECK(eventually([&] { return scheduler.started() == 1; }));
}

TEST_CASE("no line of schedtrace is written while the process exits") {
  auto config = support::lone_scheduler::quiet();
  config.trace_every_ns = 1'000'000;
  config.trace = [](void*, std::int64_t) { ++lines_of_trace; };
  lines_of_trace = 0;
  support::lone_scheduler scheduler(1, config);
  thrum::sched::process_exit::hold(*scheduler);
  scheduler->freeze.release_from_exit();
  const monitored here(scheduler);
  CHECK(eventually([&] { return scheduler->coarse_ms >= 5; }));
  CHECK(lines_of_trace == 0);
}
