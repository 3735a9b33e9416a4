// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/detail/sched/host/host.hpp>

#include "support/lone_scheduler.hpp"
#include "support/test.hpp"

namespace {

using thrum::os::note;
using thrum::sched::goroutine;
using thrum::sched::host_inbox;
using thrum::sched::host_thread;

host_thread* fresh_host(support::lone_scheduler& scheduler, unsigned number) {
  auto* const h = new host_thread(*scheduler, scheduler->upcalls(), 1'000 + number,
                                  thrum::sched::traits::max_procs + number, 1, nullptr);
  const thrum::sched::scoped guard(scheduler->idle.lock());
  scheduler->ps.add_host_locked(h->p);
  scheduler->hosts.add_locked(*h);
  return h;
}

}  // namespace

TEST_CASE("an inbox gives its goroutines in the order in which they came, none once it is closed") {
  support::lone_scheduler scheduler(1);
  host_inbox inbox;
  CHECK(inbox.pop() == nullptr);
  goroutine& first = scheduler.g();
  goroutine& second = scheduler.g();
  CHECK(inbox.push(first));
  CHECK(inbox.push(second));
  CHECK(inbox.size() == 2);
  CHECK(inbox.pop() == &first);
  CHECK(inbox.size() == 1);
  auto left = inbox.close();
  CHECK(left.pop_front() == &second);
  CHECK(left.empty());
  CHECK(inbox.size() == 0);
  CHECK(inbox.pop() == nullptr);
  CHECK_FALSE(inbox.push(first));
}

TEST_CASE(
    "an inbox nudges the note in which its host sleeps, which it may not while there is "
    "something") {
  support::lone_scheduler scheduler(1);
  host_inbox inbox;
  note sleeps;
  CHECK(inbox.begin_sleep(sleeps));
  CHECK(inbox.push(scheduler.g()));
  CHECK(sleeps.sleep_or_nudge(0) == note::wakening::nudge);
  inbox.end_sleep();
  CHECK(inbox.push(scheduler.g()));
  CHECK(sleeps.sleep_or_nudge(0) == note::wakening::timeout);
  CHECK_FALSE(inbox.begin_sleep(sleeps));
}

TEST_CASE("one of the hosts that wait for work is woken as a searcher") {
  support::lone_scheduler scheduler(1);
  host_thread* const h = fresh_host(scheduler, 0);
  note sleeps;
  const thrum::sched::scoped guard(scheduler->idle.lock());
  CHECK_FALSE(scheduler->hosts.wake_one_locked());
  scheduler->hosts.begin_wait_locked(*h, sleeps, false, false);  // for what is bound to it
  CHECK_FALSE(scheduler->hosts.wake_one_locked());
  scheduler->hosts.end_wait_locked(*h);
  scheduler->hosts.begin_wait_locked(*h, sleeps, true, false);
  CHECK(scheduler->hosts.wake_one_locked());
  CHECK(h->m.spinning);
  CHECK(sleeps.sleep_or_nudge(0) == note::wakening::nudge);
  CHECK_FALSE(scheduler->hosts.wake_one_locked());
}

TEST_CASE(
    "a pending request nudges the hosts that wait for work and would not look by themselves") {
  support::lone_scheduler scheduler(1);
  note sleeps[3];
  const auto is_nudged = [&](int i) {
    return sleeps[i].sleep_or_nudge(0) == note::wakening::nudge;
  };
  host_thread* const hosts[] = {fresh_host(scheduler, 0), fresh_host(scheduler, 1),
                                fresh_host(scheduler, 2)};
  const thrum::sched::scoped guard(scheduler->idle.lock());
  scheduler->hosts.begin_wait_locked(*hosts[0], sleeps[0], true, false);
  scheduler->hosts.begin_wait_locked(*hosts[1], sleeps[1], true, true);
  scheduler->hosts.begin_wait_locked(*hosts[2], sleeps[2], false, false);
  scheduler->hosts.nudge_impatient_locked();
  CHECK(is_nudged(0));
  CHECK_FALSE(is_nudged(1));
  CHECK_FALSE(is_nudged(2));
  CHECK(scheduler->hosts.wake_one_locked());  // it waits on, and is none that searches
}

TEST_CASE("hosts are quiet when none is busy and no inbox of one with a thread has anything") {
  support::lone_scheduler scheduler(1);
  host_thread* const h = fresh_host(scheduler, 0);
  goroutine& g = scheduler.g();
  const thrum::sched::scoped guard(scheduler->idle.lock());
  CHECK(scheduler->hosts.are_quiet_locked());
  scheduler->hosts.begin_locked();
  CHECK_FALSE(scheduler->hosts.are_quiet_locked());
  scheduler->hosts.end_locked();
  CHECK(h->inbox.push(g));
  CHECK(scheduler->hosts.are_quiet_locked());
  h->thread = reinterpret_cast<thrum::sched::attachments*>(h);  // somebody
  CHECK_FALSE(scheduler->hosts.are_quiet_locked());
  h->thread = nullptr;
}

TEST_CASE("a stop nudges each host that waits, whatever it waits for") {
  support::lone_scheduler scheduler(1);
  host_thread* const one = fresh_host(scheduler, 0);
  host_thread* const other = fresh_host(scheduler, 1);
  note sleeps[2];
  const thrum::sched::scoped guard(scheduler->idle.lock());
  scheduler->hosts.begin_wait_locked(*one, sleeps[0], true, false);
  scheduler->hosts.begin_wait_locked(*other, sleeps[1], false, false);
  CHECK_FALSE(scheduler->hosts.has_stopped());
  scheduler->hosts.stop_locked();
  CHECK(scheduler->hosts.has_stopped());
  CHECK(sleeps[0].sleep_or_nudge(0) == note::wakening::nudge);
  CHECK(sleeps[1].sleep_or_nudge(0) == note::wakening::nudge);
}

TEST_CASE("the processor of a host is searched like others, and counts in no number of them") {
  support::lone_scheduler scheduler(2);
  host_thread* const h = fresh_host(scheduler, 0);
  CHECK(scheduler->procs() == 2);
  CHECK(scheduler->ps.live() == 2);
  std::vector<const thrum::sched::processor*> seen;
  scheduler->for_each_live_p([&](const thrum::sched::processor& p) { seen.push_back(&p); });
  CHECK(seen ==
        std::vector<const thrum::sched::processor*>{&scheduler.p(0), &scheduler.p(1), &h->p});
  CHECK_FALSE(scheduler->has_queued_work());
  static_cast<void>(h->p.queue.push(&scheduler.g()));
  CHECK(scheduler->has_queued_work());
}

TEST_CASE("one processor and a host are two that may run what is made ready") {
  support::lone_scheduler scheduler(1);
  CHECK_FALSE(scheduler->has_other_ps());
  fresh_host(scheduler, 0);
  CHECK(scheduler->has_other_ps());
}

TEST_CASE("a thread is known as a host from its first poll on, and others are not") {
  auto& known = thrum::os::process_wide<thrum::sched::host_threads>::get();
  thrum::runtime runtime(support::with_procs(1));
  std::thread([&] {
    CHECK(known.key.get() == nullptr);
    runtime.poll();
    CHECK(known.key.get() != nullptr);
    CHECK(known.help.load() != nullptr);
    std::thread([&] { CHECK(known.key.get() == nullptr); }).join();
  }).join();
}

using thrum::sched::host_bell;

TEST_CASE("a bell that is rung during a call calls once more") {
  struct calls {
    host_bell* bell = nullptr;
    std::atomic<int> times{0};
  } seen;
  host_bell bell(
      [](void* own) {
        auto& all = *static_cast<calls*>(own);
        if (++all.times != 3) {
          all.bell->ring();
        }
      },
      &seen);
  seen.bell = &bell;
  REQUIRE(bell.start() == 0);
  bell.ring();
  CHECK(support::eventually([&] { return seen.times == 3; }));
}

TEST_CASE("a bell that never started, or was never rung, ends without a call") {
  std::atomic<int> calls{0};
  const auto count = [](void* own) { ++*static_cast<std::atomic<int>*>(own); };
  { const host_bell silent(count, &calls); }
  {
    host_bell bell(count, &calls);
    REQUIRE(bell.start() == 0);
  }
  CHECK(calls == 0);
}
