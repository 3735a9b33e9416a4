// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/detail/sched/core/scheduler.hpp>

#include "support/test.hpp"

#include <csignal>

#include "support/bare_scheduler.hpp"
#include "support/child.hpp"

namespace {

using thrum::sched::goroutine;
using thrum::sched::machine;
using thrum::sched::processor;
using thrum::sched::searchers;

/// A scheduler whose only P the test has.
struct scheduler_and_p {
  explicit scheduler_and_p(thrum::sched::scheduler_config config = {}) : scheduler(1, config) {}
  void open() {
    REQUIRE(scheduler.open() == 0);
    scheduler.take_all_ps();
    scheduler->poll.end_sleep(1);
    p = &scheduler->ps[0];
  }
  void put_m(machine& m) {
    const thrum::sched::scoped guard(scheduler->idle.lock());
    scheduler->idle.put_m_locked(m);
  }
  machine& new_m() {
    const thrum::sched::scoped guard(scheduler->idle.lock());
    return *scheduler->new_m_locked();
  }
  void start_m(bool spinning) {
    scheduler->idle.lock().lock();
    scheduler->start_m(*p, spinning);
  }

  support::bare_scheduler scheduler;
  processor* p = nullptr;
};

/// The functions that a scheduler calls in a runtime.
thrum::sched::upcall_table real_upcalls() {
  thrum::runtime runtime(support::with_procs(1));
  return runtime.scheduler().upcalls();
}

}  // namespace

TEST_CASE("a P is given to an idle M rather than to a stopped goroutine's or a new one") {
  scheduler_and_p one;
  one.open();
  const auto idle = one.scheduler.stray_m();
  const auto stopped_on = one.scheduler.stray_m();
  goroutine stopped;
  stopped.bound = stopped_on.get();
  one.scheduler->global.push_preempted(stopped, false);
  one.put_m(*idle);
  one.start_m(false);
  CHECK(idle->next_p == one.p);
  CHECK(idle->park.is_set());
  CHECK(stopped_on->next_p == nullptr);
  CHECK(one.scheduler->ms.made() == 0);
  CHECK(one.scheduler->global.pop() == &stopped);
}

TEST_CASE("a P is given to the thread of a stopped goroutine rather than to a new one") {
  std::atomic<bool> spare_is_asked_for{false};
  scheduler_and_p one;
  one.scheduler.on_spare = [&]() -> machine* {
    spare_is_asked_for = true;
    return nullptr;
  };
  one.open();
  const auto stopped_on = one.scheduler.stray_m();
  goroutine stopped;
  stopped.bound = stopped_on.get();
  one.scheduler->global.push_preempted(stopped, false);
  one.start_m(false);
  CHECK(stopped_on->next_p == one.p);
  CHECK(stopped_on->park.is_set());
  CHECK(one.scheduler->global.empty());
  CHECK(one.scheduler->ms.made() == 0);
  // Or goroutines whose calls block would wait for the stopped one time and again.
  CHECK(support::eventually([&] { return spare_is_asked_for.load(); }));
}

TEST_CASE("a P for which there is no thread waits for one that is made, and keeps its search") {
  std::atomic<processor*> given{nullptr};
  std::atomic<bool> spins{false};
  scheduler_and_p one;
  one.scheduler.on_thread = [&](machine& m) {
    spins = m.spinning;
    given = m.next_p;
  };
  one.open();
  one.start_m(true);
  {
    const thrum::sched::scoped guard(one.scheduler->idle.lock());
    CHECK(one.scheduler->ms.is_awaited_locked());
    CHECK(one.scheduler->ms[0].awaited);
  }
  CHECK(support::eventually([&] { return given == one.p; }));
  CHECK(spins);
}

TEST_CASE("an M that waits for a P returns with it, or without when the scheduler closes") {
  scheduler_and_p one;
  one.open();
  const auto m = one.scheduler.stray_m();
  one.scheduler->pass_p(*one.p, *m, false);
  CHECK(one.scheduler->wait_for_p(*m));
  CHECK(m->p == one.p);
  CHECK(m->next_p == nullptr);
  CHECK_FALSE(m->park.is_set());
  one.scheduler->release_p(*m);
  m->park.wake();
  CHECK_FALSE(one.scheduler->wait_for_p(*m));
  CHECK(m->p == nullptr);
}

TEST_CASE("an M that stops stands in the idle list until it is given a P") {
  scheduler_and_p one;
  std::atomic<bool> was_given{false};
  one.scheduler.on_thread = [&](machine& m) { was_given = m.scheduler->stop_m(m); };
  one.open();
  machine& m = one.new_m();
  one.scheduler->creator.request(m);
  REQUIRE(support::eventually([&] { return one.scheduler->idle.idle_ms() == 1; }));
  one.start_m(false);
  CHECK(support::eventually([&] { return one.scheduler.threads == 1; }));
  CHECK(was_given);
  CHECK(m.p == one.p);
  CHECK(one.scheduler->idle.idle_ms() == 0);
}

TEST_CASE("an M does not stop in a scheduler that closes") {
  scheduler_and_p one;
  one.open();
  const auto m = one.scheduler.stray_m();
  one.scheduler->close();
  CHECK_FALSE(one.scheduler->stop_m(*m));
  CHECK(one.scheduler->idle.idle_ms() == 0);
}

TEST_CASE("the P of an M that got no thread is held back, its goroutines are left to others") {
  scheduler_and_p one;
  one.open();
  machine& m = one.new_m();
  goroutine g;
  static_cast<void>(one.p->queue.push(&g));
  {
    const thrum::sched::scoped guard(one.scheduler->idle.lock());
    one.scheduler->ms.begin_locked(m);
    one.scheduler->idle.begin_spinning(m);
  }
  one.scheduler->pass_p(*one.p, m, true);
  one.scheduler->take_back(m);
  CHECK(one.scheduler->global.pop() == &g);
  CHECK(one.p->queue.empty());
  CHECK(m.next_p == nullptr);
  CHECK_FALSE(m.park.is_set());
  CHECK(one.scheduler->idle.spinning() == 0);
  CHECK(one.scheduler->ms.with_thread() == 0);
  const thrum::sched::scoped guard(one.scheduler->idle.lock());
  CHECK_FALSE(one.scheduler->ms.is_awaited_locked());
  CHECK(one.scheduler->ms.release_locked() == one.p);
}

TEST_CASE("a spare that got no thread holds back no P, and another may be made") {
  scheduler_and_p one;
  one.open();
  machine& m = one.new_m();
  REQUIRE(support::with_idle_lock(one.scheduler)->ms.claim_spare_locked());
  one.scheduler->take_back(m);
  const thrum::sched::scoped guard(one.scheduler->idle.lock());
  CHECK_FALSE(one.scheduler->ms.holds_back());
  CHECK(one.scheduler->ms.claim_spare_locked());
}

TEST_CASE("a P that was held back goes to an M that is idle, or to a new one when it is time") {
  scheduler_and_p one;
  one.open();
  goroutine g;
  one.scheduler->global.push_back(g);  // so that a thread is wanted
  const auto hold_back = [&] {
    const thrum::sched::scoped guard(one.scheduler->idle.lock());
    one.scheduler->ms.hold_back_locked(*one.p);
  };
  hold_back();
  one.scheduler->release_held(false);  // nobody idles
  CHECK(one.scheduler->ms.made() == 0);
  const auto idle = one.scheduler.stray_m();
  one.put_m(*idle);
  one.scheduler->release_held(false);
  CHECK(idle->next_p == one.p);
  hold_back();
  one.scheduler->release_held(true);
  CHECK(one.scheduler->ms.made() == 1);
  REQUIRE(one.scheduler->global.pop() == &g);
}

TEST_CASE("a P that was held back goes to the thread of a goroutine that is bound to it") {
  scheduler_and_p one;
  one.open();
  const auto own = one.scheduler.stray_m();
  goroutine bound;
  bound.flags = thrum::sched::g_bound;
  bound.bound = own.get();
  one.scheduler->global.push_back(bound);
  support::with_idle_lock(one.scheduler)->ms.hold_back_locked(*one.p);
  one.scheduler->release_held(true);
  CHECK(own->next_p == one.p);
  CHECK(own->park.is_set());
  CHECK(one.scheduler->ms.made() == 0);
}

TEST_CASE("a P is handed to an M if there is work for it, and otherwise becomes idle") {
  scheduler_and_p one;
  one.open();
  const auto searcher = one.scheduler.stray_m();
  one.scheduler->idle.begin_spinning(*searcher);  // so that none is needed for searching
  one.scheduler->hand_off(*one.p);
  CHECK(one.scheduler->idle.idle_ps() == 1);
  CHECK(one.scheduler->ms.made() == 0);
  one.scheduler.take_all_ps();
  goroutine g;
  one.scheduler->global.push_back(g);
  const auto idle = one.scheduler.stray_m();
  one.put_m(*idle);
  one.scheduler->hand_off(*one.p);
  CHECK(idle->next_p == one.p);
  CHECK_FALSE(idle->spinning);
  CHECK(one.scheduler->idle.idle_ps() == 0);
  REQUIRE(one.scheduler->global.pop() == &g);
  static_cast<void>(one.p->queue.push(&g));
  one.put_m(*idle);
  idle->next_p = nullptr;
  one.scheduler->hand_off(*one.p);
  CHECK(idle->next_p == one.p);
  one.scheduler->idle.end_spinning(*searcher);
}

TEST_CASE("the last busy P that is handed off waits for the timers of those that idle") {
  support::bare_scheduler scheduler(2);
  REQUIRE(scheduler.open() == 0);
  scheduler.take_all_ps();
  scheduler->poll.end_sleep(1);  // nobody does
  const bool is_surplus = GENERATE(false, true);
  thrum::sched::basic_timer<thrum::sched::traits> timer;
  processor& idle = scheduler->ps[0];
  idle.timers.add(timer, INT64_MAX / 2);
  support::with_idle_lock(scheduler)->put_idle_locked(idle);
  if (is_surplus) {
    REQUIRE(scheduler->set_procs(1) == 0);
  }
  const auto taker = scheduler.stray_m();
  support::with_idle_lock(scheduler)->idle.put_m_locked(*taker);
  scheduler->hand_off(scheduler->ps[1]);
  CHECK(taker->next_p == &scheduler->ps[1]);
  CHECK(thrum::sched::timer_heap<thrum::sched::traits>::remove(timer));
}

TEST_CASE("a call for Ms only wakes no host as a searcher, but nudges it to look at the request") {
  const thrum::sched::upcall_table real = real_upcalls();
  scheduler_and_p one;
  one.open();
  auto& host =
      *new thrum::sched::host_thread(*one.scheduler, real, 0, 0, 1, nullptr);  // the scheduler's
  thrum::os::note note;
  {
    const thrum::sched::scoped guard(one.scheduler->idle.lock());
    one.scheduler->hosts.add_locked(host);
    one.scheduler->hosts.begin_wait_locked(host, note, true, false);
  }
  REQUIRE(one.scheduler->idle.claim_wake());
  CHECK_FALSE(real.start_spinner(*one.scheduler, searchers::ms));
  CHECK_FALSE(host.m.spinning);
  CHECK(note.sleep_or_nudge(0) == thrum::os::note::wakening::nudge);
  support::with_idle_lock(one.scheduler)->idle.take_request();
  REQUIRE(one.scheduler->idle.claim_wake());
  CHECK(real.start_spinner(*one.scheduler, searchers::all));
  CHECK(host.m.spinning);
  one.scheduler->idle.end_spinning(host.m);
}

TEST_CASE("a P that is handed off while no M searches goes to an M as a searcher") {
  scheduler_and_p one;
  one.open();
  const auto idle = one.scheduler.stray_m();
  one.put_m(*idle);
  one.scheduler->hand_off(*one.p);
  CHECK(idle->next_p == one.p);
  CHECK(idle->spinning);
  CHECK(one.scheduler->idle.spinning() == 1);
  one.scheduler->idle.end_spinning(*idle);
}

TEST_CASE("a P for which no thread may be made waits for one that idles, and searches no more") {
  scheduler_and_p one({.max_threads = 1});
  one.open();
  machine& busy = one.new_m();
  goroutine g;
  g.status = thrum::sched::g_status::runnable;
  REQUIRE(one.p->queue.push(&g).empty());
  REQUIRE(one.scheduler->idle.claim_first_spinner());
  one.start_m(true);
  CHECK(support::eventually([&] { return one.scheduler->ms.holds_back(); }));
  CHECK(one.scheduler->idle.spinning() == 0);
  CHECK(one.p->queue.empty());
  one.put_m(busy);
  one.scheduler->creator.offer_idle();
  CHECK(support::eventually([&] { return busy.park.is_set(); }));
  CHECK(busy.next_p == one.p);
  CHECK_FALSE(one.scheduler->ms.holds_back());
  CHECK(one.scheduler->global.pop() == &g);
}

TEST_CASE(
    "a P for which no thread may be made goes to the thread of a goroutine that is bound to it") {
  scheduler_and_p one({.max_threads = 1});
  one.open();
  machine& owner = one.new_m();
  one.scheduler->locked_asleep = 1;
  goroutine bound;
  bound.bound = &owner;
  bound.flags = thrum::sched::g_bound;
  one.scheduler->global.push_back(bound);
  one.start_m(false);
  CHECK(owner.next_p == one.p);
  CHECK(owner.park.is_set());
}

TEST_CASE("a P with nothing to run waits though each thread is in a call that blocks") {
  scheduler_and_p one({.max_threads = 1});
  one.open();
  one.new_m();
  one.scheduler->taken.blocked = 1;
  one.start_m(false);
  CHECK(support::eventually([&] { return one.scheduler->ms.holds_back(); }));
}

TEST_CASE("a runtime that needs more threads than it may have ends with what to do") {
  const support::child_result end = support::run_in_child([] {
    support::bare_scheduler scheduler(1, {.max_threads = 0});
    goroutine g;
    scheduler->global.push_back(g);
    processor p{0};
    scheduler->idle.lock().lock();
    scheduler->start_m(p, false);
  });
  CHECK(end.signal == SIGABRT);
  CHECK(end.errors.find("more than 0 threads") != std::string::npos);
  CHECK(end.errors.find("options::max_threads") != std::string::npos);
}

TEST_CASE("a spare is made unless there is one, one is on its way, or no more may be") {
  const thrum::sched::upcall_table real = real_upcalls();
  scheduler_and_p one({.max_threads = 2});
  one.open();
  machine* const spare = real.make_spare(*one.scheduler);
  REQUIRE(spare != nullptr);
  CHECK(real.make_spare(*one.scheduler) == nullptr);  // it is on its way
  support::with_idle_lock(one.scheduler)->ms.end_spare_locked();
  CHECK(real.make_spare(*one.scheduler) != nullptr);
  support::with_idle_lock(one.scheduler)->ms.end_spare_locked();
  CHECK(real.make_spare(*one.scheduler) == nullptr);  // there are two
  one.scheduler->vacate(*spare);
  const auto first = one.scheduler.stray_m();
  const auto second = one.scheduler.stray_m();
  one.put_m(*first);
  one.put_m(*second);
  CHECK(real.make_spare(*one.scheduler) == nullptr);  // one idles
  one.scheduler->close();
  CHECK(real.make_spare(*one.scheduler) == nullptr);
}

TEST_CASE("a searcher is started on an idle P; where none idles the next idler searches") {
  const thrum::sched::upcall_table real = real_upcalls();
  scheduler_and_p one;
  one.open();
  REQUIRE(one.scheduler->idle.claim_wake());
  CHECK_FALSE(real.start_spinner(*one.scheduler, searchers::all));
  CHECK(one.scheduler->idle.spinning() == 0);
  const auto idle = one.scheduler.stray_m();
  one.put_m(*idle);
  {
    const thrum::sched::scoped guard(one.scheduler->idle.lock());
    CHECK(one.scheduler->idle.spinner_wanted_locked());
    one.scheduler->idle.take_request();
    one.scheduler->put_idle_locked(*one.p);
  }
  REQUIRE(one.scheduler->idle.claim_wake());
  CHECK(real.start_spinner(*one.scheduler, searchers::all));
  CHECK(idle->next_p == one.p);
  CHECK(idle->spinning);
  one.scheduler->idle.end_spinning(*idle);
}

TEST_CASE("a goroutine that is new runs beside a loop though the last thread waits for events") {
  if (thrum::base::signals_are_deferred) {
    return;  // a loop that calls nothing cannot be stopped
  }
  thrum::options options = support::with_procs(1);
  options.max_threads = 2;
  options.time_slice = 1ms;
  thrum::run(options, [] {
    thrum::io::pipe p;
    auto reader = thrum::spawn([&p] {
      char c = 0;
      return p.read(std::span(&c, 1));
    });
    const auto& poll = thrum::sched::current_m()->scheduler->poll;
    const auto end = std::chrono::steady_clock::now() + support::long_time;
    while (!poll.somebody_sleeps() && std::chrono::steady_clock::now() < end) {
      // No sleep of the goroutine, which would take its own thread to the poller.
      thrum::blocking([] { std::this_thread::sleep_for(1ms); });
    }
    std::atomic<bool> has_run{false};
    thrum::go([&] { has_run = true; });
    while (!has_run.load(std::memory_order_relaxed) && std::chrono::steady_clock::now() < end) {
    }
    CHECK(has_run);
    p.writer().close();
    CHECK(reader.join() == 0);
  });
}

TEST_CASE("a program in which nothing blocks runs with fewer threads than processors") {
  for (const auto& [procs, threads] : {std::pair(2U, 1U), std::pair(4U, 2U)}) {
    thrum::options options = support::with_procs(procs);
    options.max_threads = threads;
    std::atomic<int> ran{0};
    thrum::run(options, [&ran] {
      thrum::task_group group;
      for (int i = 0; i != 300; ++i) {
        group.go([&ran] {
          thrum::sleep_for(100us);
          thrum::this_goroutine::yield();
          ++ran;
        });
        thrum::this_goroutine::yield();
      }
      group.wait();
    });
    CHECK(ran == 300);
  }
}

TEST_CASE("calls that block one after the other need no more threads than two") {
  thrum::options options = support::with_procs(2);
  options.max_threads = 2;
  int calls = 0;
  thrum::run(options, [&calls] {
    thrum::io::pipe p;
    auto reader = thrum::spawn([&p] {
      char c = 0;
      return p.read(std::span(&c, 1));
    });
    for (; calls != 30; ++calls) {
      thrum::blocking([] { std::this_thread::sleep_for(200us); });
    }
    p.writer().close();
    CHECK(reader.join() == 0);
  });
  CHECK(calls == 30);
}

TEST_CASE("goroutines that loops on every thread keep waiting run when the loops end") {
  if (thrum::base::signals_are_deferred) {
    return;  // a loop that calls nothing cannot be stopped
  }
  thrum::options options = support::with_procs(2);
  options.max_threads = 4;
  options.time_slice = 1ms;
  std::atomic<bool> stop{false};  // these outlive the runtime, which waits for the loops
  std::atomic<int> begun{0};
  std::atomic<int> ended{0};
  thrum::runtime runtime(options);
  for (int i = 0; i != 12; ++i) {
    runtime.go([&] {
      ++begun;
      while (!stop.load(std::memory_order_relaxed)) {
      }
      ++ended;
    });
  }
  CHECK(eventually([&] { return begun == 4; }));
  for (int i = 0; i != 20; ++i) {
    runtime.go([&] { ++ended; });
  }
  stop = true;
  CHECK(eventually([&] { return ended == 32; }));
}
