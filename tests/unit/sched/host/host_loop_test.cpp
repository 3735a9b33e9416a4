// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The steps of a host, one by one. What they are together: tests/unit/attached_host_test.cpp.
#include <thrum/detail/sched/host/host_loop.hpp>

#include <thrum/detail/sched/host/host_leave.hpp>

#include "support/lone_scheduler.hpp"
#include "support/test.hpp"
#include "support/writable_socket.hpp"

namespace {

using thrum::os::note;
using thrum::sched::attach;
using thrum::sched::find_for_host;
using thrum::sched::goroutine;
using thrum::sched::help_while_waiting;
using thrum::sched::host_call;
using thrum::sched::host_rest;
using thrum::sched::host_search;
using thrum::sched::host_thread;
using thrum::sched::unpin;

/// A scheduler without threads, of which this thread is the host.
struct scheduler_of_a_host {
  explicit scheduler_of_a_host(unsigned procs)
      : scheduler(procs), h(*attach(*scheduler, &help_while_waiting)) {}
  ~scheduler_of_a_host() {
    unpin(h);
    detach_all_hosts(*scheduler);
  }
  scheduler_of_a_host(const scheduler_of_a_host&) = delete;
  scheduler_of_a_host& operator=(const scheduler_of_a_host&) = delete;

  goroutine& g_of(int flags, thrum::sched::machine* bound = nullptr) {
    goroutine& g = scheduler.g();
    g.flags = static_cast<std::uint8_t>(flags);
    g.bound = bound;
    return g;
  }
  goroutine& bound_g() { return g_of(thrum::sched::g_bound | thrum::sched::g_on_host, &h.m); }

  support::lone_scheduler scheduler;
  host_thread& h;
};

}  // namespace

TEST_CASE("a host takes what is bound to it first, then its own queue, then the global queue") {
  scheduler_of_a_host a(1);
  goroutine& global = a.g_of(0);
  goroutine& own = a.g_of(0);
  goroutine& bound = a.bound_g();
  const host_call call(a.h);
  a.scheduler->global.push_back(global);
  static_cast<void>(a.h.p.queue.push(&own));
  thrum::sched::ready(bound);
  CHECK(find_for_host(a.h, host_search::anything) == &bound);
  CHECK(find_for_host(a.h, host_search::anything) == &own);
  CHECK(find_for_host(a.h, host_search::anything) == &global);
  CHECK(find_for_host(a.h, host_search::anything) == nullptr);
}

TEST_CASE("a host steals from a processor that runs") {
  scheduler_of_a_host a(1);
  a.scheduler.holder_of(0);
  goroutine& g = a.g_of(0);
  a.scheduler.push(0, g);
  const host_call call(a.h);
  CHECK(find_for_host(a.h, host_search::bound) == nullptr);
  CHECK(find_for_host(a.h, host_search::unbound) == &g);
}

TEST_CASE("a host leaves in the global queue what may not run on its thread") {
  scheduler_of_a_host a(1);
  thrum::sched::machine& other = a.scheduler.m();
  goroutine& locked = a.g_of(thrum::sched::g_bound, &other);
  goroutine& off = a.g_of(thrum::sched::g_off_host);
  goroutine& last = a.g_of(0);
  const host_call call(a.h);
  a.scheduler->global.push_back(locked);
  a.scheduler->global.push_back(off);
  a.scheduler->global.push_back(last);
  CHECK(find_for_host(a.h, host_search::anything) == &last);
  CHECK(find_for_host(a.h, host_search::anything) == nullptr);
  CHECK(a.scheduler->global.pop() == &locked);
  CHECK(a.scheduler->global.pop() == &off);
}

TEST_CASE("a host that has stolen what may not run on its thread puts it into the global queue") {
  scheduler_of_a_host a(1);
  a.scheduler.holder_of(0);
  goroutine& off = a.g_of(thrum::sched::g_off_host);
  a.scheduler.push(0, off);
  const host_call call(a.h);
  CHECK(find_for_host(a.h, host_search::anything) == nullptr);
  CHECK(a.scheduler->global.pop() == &off);
}

TEST_CASE("a host that was to search wakes another for what may not run on its thread") {
  const auto search = GENERATE(0, 1);
  scheduler_of_a_host a(1);
  a.scheduler->global.push_back(a.g_of(thrum::sched::g_bound, &a.scheduler.m()));
  a.scheduler->idle.begin_spinning(a.h.m);  // whoever has published work leaves it to the host
  if (search == 0) {
    CHECK(run_host_until_idle(a.h) == 0);
  } else {
    CHECK(run_host_until(a.h, thrum::sched::traits::now() + 1'000'000) == 0);
  }
  CHECK(a.scheduler.started() == 1);
  CHECK(a.scheduler.asked() == thrum::sched::searchers::ms);
  a.scheduler.end_search();
}

TEST_CASE("a host that has run something wakes whichever thread may run the next") {
  scheduler_of_a_host a(1);
  a.scheduler->global.push_back(a.g_of(thrum::sched::g_bound, &a.scheduler.m()));
  {
    const host_call call(a.h);
    a.scheduler->idle.begin_spinning(a.h.m);
    end_search(a.h.m);
  }
  CHECK(a.scheduler.started() == 1);
  CHECK(a.scheduler.asked() == thrum::sched::searchers::all);
  a.scheduler.end_search();
}

TEST_CASE("two hosts that have nothing to do let each other rest while all processors are busy") {
  scheduler_of_a_host a(1);
  a.scheduler.holder_of(0);
  const support::writable_socket socket;
  REQUIRE(socket.is_open());
  REQUIRE(socket.add_to(a.scheduler->poller, (std::uint64_t{7} << 32) + 1));
  { const host_call call(a.h); }  // nobody is in the poller
  CHECK(a.scheduler.asked() == thrum::sched::searchers::ms);
  socket.remove_from(a.scheduler->poller);
}

TEST_CASE("a host that looks for what is bound to it gives the rest of its queue to others") {
  scheduler_of_a_host a(1);
  goroutine& own = a.g_of(0);
  const host_call call(a.h);
  static_cast<void>(a.h.p.queue.push(&own));
  CHECK(find_for_host(a.h, host_search::bound) == nullptr);
  CHECK(a.scheduler->global.pop() == &own);
}

TEST_CASE("a host that goes leaves neither goroutines nor timers on its processor") {
  scheduler_of_a_host a(1);
  goroutine& own = a.g_of(0);
  goroutine& bound = a.bound_g();
  thrum::sched::basic_timer<thrum::sched::traits> timer;
  constexpr std::int64_t far = INT64_MAX / 2;
  {
    const host_call call(a.h);
    static_cast<void>(a.h.p.queue.push(&own));
    static_cast<void>(a.h.p.queue.push(&bound));
    a.h.p.timers.add(timer, far);
    CHECK(thrum::sched::current_m() == &a.h.m);
  }
  CHECK(thrum::sched::current_m() == nullptr);
  CHECK(a.h.p.queue.empty());
  CHECK(a.h.p.timers.size() == 0);
  CHECK(a.scheduler.p(0).timers.earliest() == far);
  CHECK(a.scheduler->global.pop() == &own);
  CHECK(a.h.inbox.pop() == &bound);
  CHECK(a.scheduler.started() == 1);  // somebody looks for them
  thrum::sched::timer_heap<thrum::sched::traits>::remove(timer);
}

TEST_CASE("a host that is asked for help does not go to rest before it has looked") {
  scheduler_of_a_host a(1);
  note sleeps;
  {
    const thrum::sched::scoped guard(a.scheduler->idle.lock());
    a.scheduler->idle.take_p_locked();  // ID4
    a.scheduler->idle.ask_for_spinner_locked();
  }
  CHECK_FALSE(host_rest::begin(a.h, sleeps, true, false));
  CHECK(a.h.m.spinning);
  CHECK(host_rest::begin(a.h, sleeps, true, false));  // the request is its own now
  host_rest::end(a.h);
  a.scheduler->idle.end_spinning(a.h.m);
}

TEST_CASE("a request that a host took is pending again if the host may not run the goroutine") {
  const auto kind = GENERATE(thrum::sched::g_off_host, thrum::sched::g_background);
  scheduler_of_a_host a(1);
  a.scheduler.holder_of(0);
  goroutine& g = a.g_of(kind);
  a.scheduler->queue_for(g).push_back(g);
  support::with_idle_lock(a.scheduler)->ask_for_spinner_locked();
  note sleeps;
  REQUIRE_FALSE(host_rest::begin(a.h, sleeps, true, false));
  CHECK_FALSE(help_some(a.h, sleeps));
  CHECK_FALSE(a.h.m.spinning);
  CHECK(a.scheduler->idle.spinner_wanted());
}

TEST_CASE("a thread that waits searches for the host that has taken a request before it goes on") {
  scheduler_of_a_host a(1);
  a.scheduler.holder_of(0);
  a.scheduler->background.push_back(a.g_of(thrum::sched::g_background));
  support::with_idle_lock(a.scheduler)->ask_for_spinner_locked();
  note sleeps;
  CHECK_FALSE(rest_together(*thrum::sched::own_attachments(), sleeps, 0, false));
  CHECK_FALSE(a.h.m.spinning);
  CHECK(a.scheduler->idle.spinner_wanted());
}

TEST_CASE("a host that was woken to search is searched next, or searches no longer") {
  const bool another_is_next = GENERATE(false, true);
  scheduler_of_a_host a(1);
  a.scheduler.holder_of(0);
  const auto& own = *thrum::sched::own_attachments();
  note sleeps;
  REQUIRE(pin_next(own, nullptr) == &a.h);
  REQUIRE(host_rest::begin(a.h, sleeps, true, false));
  a.h.rests = true;
  support::with_idle_lock(a.scheduler)->ask_for_spinner_locked();
  REQUIRE(a.h.m.spinning);
  host_thread other(*a.scheduler, a.scheduler->upcalls(), 1'000, 1'000, 1, nullptr);
  host_thread* next = another_is_next ? &other : nullptr;
  CHECK(end_one_rest(own, next));
  CHECK(next == (another_is_next ? &other : &a.h));
  CHECK(a.h.m.spinning == !another_is_next);
  CHECK_FALSE(end_one_rest(own, next));
  if (!another_is_next) {
    a.scheduler->idle.end_spinning(a.h.m);
    unpin(a.h);
  }
  CHECK(a.scheduler->idle.spinning() == 0);
}

TEST_CASE("a host that rests is nudged for what is bound to it, and when no processor idles") {
  scheduler_of_a_host a(1);
  note sleeps;
  CHECK(host_rest::begin(a.h, sleeps, true, false));
  thrum::sched::ready(a.bound_g());
  CHECK(sleeps.sleep_or_nudge(0) == note::wakening::nudge);
  host_rest::end(a.h);
  CHECK_FALSE(host_rest::begin(a.h, sleeps, true, false));  // it has not run that
  CHECK(a.h.inbox.pop() != nullptr);

  CHECK(host_rest::begin(a.h, sleeps, true, false));
  {
    const thrum::sched::scoped guard(a.scheduler->idle.lock());
    a.scheduler->idle.take_p_locked();
    a.scheduler->ask_for_spinner_locked();
  }
  CHECK(sleeps.sleep_or_nudge(0) == note::wakening::nudge);
  host_rest::end(a.h);
  CHECK(a.h.m.spinning);
  CHECK(a.scheduler->idle.spinning() == 1);
  a.scheduler->idle.end_spinning(a.h.m);
}

TEST_CASE("a host does not rest once its runtime has stopped") {
  scheduler_of_a_host a(1);
  note sleeps;
  support::with_idle_lock(a.scheduler)->hosts.stop_locked();
  CHECK_FALSE(host_rest::begin(a.h, sleeps, true, false));
  CHECK(help_while_waiting(sleeps, 0) == thrum::sched::help_end::none);
}

TEST_CASE("a thread that is no host does not help") {
  note sleeps;
  sleeps.wake();
  std::thread([&] {
    CHECK(help_while_waiting(sleeps, thrum::sched::no_deadline) == thrum::sched::help_end::none);
  }).join();
}

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
