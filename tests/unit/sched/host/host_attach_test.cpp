// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/detail/sched/host/host_attach.hpp>
#include <thrum/detail/sched/host/host_loop.hpp>

#include "support/lone_scheduler.hpp"
#include "support/test.hpp"

namespace {

using thrum::sched::attach;
using thrum::sched::goroutine;
using thrum::sched::help_while_waiting;
using thrum::sched::host_thread;
using thrum::sched::unpin;

void bind_to(host_thread& h, goroutine& g) {
  g.bound = &h.m;
  g.flags = thrum::sched::g_bound | thrum::sched::g_on_host;
}

}  // namespace

TEST_CASE("a thread that attaches again has the slot that it had") {
  support::lone_scheduler scheduler(1);
  host_thread* const first = attach(*scheduler, &help_while_waiting);
  host_thread* const again = attach(*scheduler, &help_while_waiting);
  CHECK(first == again);
  CHECK(first->pins == 2);
  CHECK(first == &scheduler->hosts[0]);
  unpin(*first);
  unpin(*first);
  detach_all_hosts(*scheduler);
}

TEST_CASE("the slot of a thread that has ended is the next thread's") {
  support::lone_scheduler scheduler(1);
  host_thread* first = nullptr;
  std::thread([&] {
    first = attach(*scheduler, &help_while_waiting);
    unpin(*first);
  }).join();
  CHECK(first->thread.load() == nullptr);
  host_thread* const second = attach(*scheduler, &help_while_waiting);
  CHECK(second == first);
  CHECK(scheduler->hosts.made() == 1);
  unpin(*second);
  detach_all_hosts(*scheduler);
}

TEST_CASE("what is bound to a host is made ready in its inbox, from anywhere") {
  support::lone_scheduler scheduler(1);
  host_thread* const h = first_host(*scheduler);
  goroutine& by_thread = scheduler.g();
  goroutine& by_goroutine = scheduler.g();
  bind_to(*h, by_thread);
  bind_to(*h, by_goroutine);
  thrum::sched::ready(by_thread);
  {
    thrum::sched::machine& m = scheduler.holder_of(0);
    const support::on_m here(m);
    thrum::sched::ready(by_goroutine);
  }
  CHECK(scheduler->global.empty());
  CHECK(scheduler.p(0).queue.empty());
  CHECK(h->inbox.pop() == &by_thread);
  CHECK(h->inbox.pop() == &by_goroutine);
}

TEST_CASE("what is bound to a host without a thread may run anywhere once the runtime stops") {
  support::lone_scheduler scheduler(1);
  host_thread* const h = first_host(*scheduler);
  goroutine& before = scheduler.g();
  goroutine& after = scheduler.g();
  bind_to(*h, before);
  bind_to(*h, after);
  thrum::sched::ready(before);
  orphan_if_nobody_comes(*scheduler);
  CHECK(h->inbox.size() == 1);  // it does not stop
  scheduler->ending.begin();
  orphan_if_nobody_comes(*scheduler);
  thrum::sched::ready(after);
  CHECK(scheduler->global.pop() == &before);
  CHECK(scheduler->global.pop() == &after);
  CHECK(before.flags == 0);
  CHECK(after.flags == 0);
}

TEST_CASE("what is bound to a host that has a thread waits for it though the runtime stops") {
  support::lone_scheduler scheduler(1);
  host_thread* const h = attach(*scheduler, &help_while_waiting);
  goroutine& g = scheduler.g();
  bind_to(*h, g);
  scheduler->ending.begin();
  orphan_if_nobody_comes(*scheduler);
  thrum::sched::ready(g);
  CHECK(h->inbox.pop() == &g);
  unpin(*h);
  detach_all_hosts(*scheduler);
}
