// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The steps of background priority, one by one. What comes of them: sched/run/priority_test.cpp.

#include <thrum/detail/sched/run/background.hpp>

#include <thrum/detail/sched/run/attend.hpp>
#include <thrum/detail/sched/run/find_work.hpp>
#include <thrum/detail/sched/run/ready.hpp>

#include "support/catch.hpp"
#include "support/lone_scheduler.hpp"

#include <cstdint>
#include <utility>

namespace {

using thrum::sched::attention_low;
using thrum::sched::find_work;
using thrum::sched::goroutine;
using thrum::sched::machine;
using thrum::sched::processor;
using thrum::sched::ready;

constexpr unsigned interval = thrum::sched::background_interval;

goroutine& low_g(support::lone_scheduler& scheduler) {
  goroutine& g = scheduler.g();
  g.flags = thrum::sched::g_background;
  return g;
}

bool shows_low(const processor& p) { return (p.attention.load() & attention_low) != 0; }

/// Turns of `busy`, which is ready again after each, until something else comes: that, and their number.
std::pair<goroutine*, unsigned> turns_until_another(support::lone_scheduler& scheduler, machine& m,
                                                    goroutine& busy) {
  for (unsigned turns = 0;; ++turns) {
    goroutine* const g = find_work(m);
    if (g != &busy) {
      return {g, turns};
    }
    scheduler.push(0, busy);
  }
}

}  // namespace

TEST_CASE("a goroutine of background priority goes to its own queue, whoever makes it ready") {
  support::lone_scheduler scheduler(2);
  machine& m = scheduler.holder_of(0);
  goroutine& first = low_g(scheduler);
  goroutine& second = low_g(scheduler);
  goroutine& third = low_g(scheduler);
  ready(third);
  {
    const support::on_m here(m);
    ready(first);
    ready(second, false);
  }
  CHECK(scheduler.p(0).queue.empty());
  CHECK(scheduler->global.empty());
  CHECK(scheduler->background.size() == 3);
  CHECK(scheduler->background.pop() == &third);
  CHECK(scheduler->background.pop() == &first);
  CHECK(scheduler->background.pop() == &second);
  CHECK(first.status == thrum::sched::g_status::runnable);
  scheduler->wakers.wait_until_gone();
}

TEST_CASE("making a goroutine of background priority ready wakes an idle processor") {
  support::lone_scheduler scheduler(2);
  const support::on_m here(scheduler.holder_of(0));
  ready(low_g(scheduler));
  CHECK(scheduler.started() == 1);
}

TEST_CASE("a search takes what is of background priority when it has found nothing else anywhere") {
  support::lone_scheduler scheduler(2);
  machine& m = scheduler.holder_of(0);
  scheduler.holder_of(1);
  const support::on_m here(m);
  goroutine& low = low_g(scheduler);
  goroutine& own = scheduler.g();
  goroutine& shared = scheduler.g();
  goroutine& theirs = scheduler.g();
  ready(low);
  ready(own);
  scheduler->global.push_back(shared);
  scheduler.push(1, theirs);
  CHECK(find_work(m) == &own);
  CHECK(find_work(m) == &shared);
  CHECK(find_work(m) == &theirs);
  CHECK_FALSE(shows_low(*m.p));
  CHECK(find_work(m) == &low);
  CHECK(shows_low(*m.p));
  ready(scheduler.g());
  find_work(m);
  CHECK_FALSE(shows_low(*m.p));
}

TEST_CASE(
    "background goroutines follow each other without a search, unless a spinner is asked for") {
  support::lone_scheduler scheduler(2);
  machine& m = scheduler.holder_of(0);
  scheduler.holder_of(1);
  const support::on_m here(m);
  goroutine& first = low_g(scheduler);
  goroutine& second = low_g(scheduler);
  goroutine& third = low_g(scheduler);
  goroutine& theirs = scheduler.g();
  scheduler->background.push_back(first);
  scheduler->background.push_back(second);
  scheduler->background.push_back(third);
  CHECK(find_work(m) == &first);
  scheduler.push(1, theirs);
  CHECK(find_work(m) == &second);
  support::with_idle_lock(scheduler)->idle.ask_for_spinner_locked();
  CHECK(find_work(m) == &theirs);
  CHECK(find_work(m) == &third);
}

TEST_CASE("background goroutines get one turn of 61 on a processor that always has others") {
  support::lone_scheduler scheduler(1);
  machine& m = scheduler.holder_of(0);
  const support::on_m here(m);
  goroutine& low = low_g(scheduler);
  goroutine& busy = scheduler.g();
  scheduler.push(0, busy);
  ready(low);
  const auto [first, turns] = turns_until_another(scheduler, m, busy);
  CHECK(first == &low);
  CHECK(turns <= interval);
  for (int i = 0; i != 3; ++i) {
    ready(low);
    const auto [next, others] = turns_until_another(scheduler, m, busy);
    CHECK(next == &low);
    CHECK(others == interval);
  }
}

TEST_CASE("the turn of the global queue comes after that of the background, and is not lost") {
  support::lone_scheduler scheduler(1);
  machine& m = scheduler.holder_of(0);
  const support::on_m here(m);
  goroutine& first = low_g(scheduler);
  goroutine& second = low_g(scheduler);
  goroutine& busy = scheduler.g();
  goroutine& shared = scheduler.g();
  scheduler.push(0, busy);
  ready(first);
  ready(second);
  scheduler->global.push_back(shared);
  CHECK(turns_until_another(scheduler, m, busy).first == &first);
  CHECK(find_work(m) == &shared);
  CHECK(turns_until_another(scheduler, m, busy).first == &second);
}

TEST_CASE("a processor that is asked for a turn of the background gives it at once, if one waits") {
  support::lone_scheduler scheduler(1);
  machine& m = scheduler.holder_of(0);
  const support::on_m here(m);
  goroutine& low = low_g(scheduler);
  goroutine& own = scheduler.g();
  ready(low);
  ready(own);
  m.p->attention.fetch_or(thrum::sched::attention_share);
  CHECK(find_work(m) == &low);
  CHECK(shows_low(*m.p));
  m.p->attention.fetch_or(thrum::sched::attention_share);
  CHECK(find_work(m) == &own);
}

TEST_CASE("goroutines that a signal interrupted get seven of eight background turns") {
  support::lone_scheduler scheduler(1);
  machine& m = scheduler.holder_of(0);
  const support::on_m here(m);
  goroutine& other = low_g(scheduler);
  goroutine& interrupted = low_g(scheduler);
  auto& queue = scheduler->background;
  CHECK(thrum::sched::slices_between_shares(*scheduler) == interval);
  ready(other);
  CHECK(thrum::sched::slices_between_shares(*scheduler) == interval);
  for (int turn = 1; turn != 9; ++turn) {
    queue.push_preempted(interrupted, false);
    CHECK(thrum::sched::slices_between_shares(*scheduler) == 1);
    m.p->attention.fetch_or(thrum::sched::attention_share);
    goroutine* const expected = turn == 8 ? &other : &interrupted;
    CHECK(find_work(m) == expected);
    CHECK(shows_low(*m.p));
  }
  CHECK(queue.pop() == &interrupted);
  CHECK(queue.empty());
}

TEST_CASE("a processor shows the priority of the goroutine that goes on with it") {
  support::lone_scheduler scheduler(1);
  processor& p = scheduler.p(0);
  goroutine& low = low_g(scheduler);
  goroutine& other = scheduler.g();
  p.attention = thrum::sched::attention_timers;
  thrum::sched::show_priority(p, low);
  CHECK(shows_low(p));
  thrum::sched::show_priority(p, low);
  CHECK(shows_low(p));
  thrum::sched::show_priority(p, other);
  CHECK(p.attention == thrum::sched::attention_timers);
}

TEST_CASE("a processor that is handed on while background goroutines wait does not idle") {
  support::lone_scheduler scheduler(1);
  machine& m = scheduler.holder_of(0);
  machine& other = scheduler.idle_m();
  scheduler->background.push_back(low_g(scheduler));
  thrum::sched::show_priority(*m.p, low_g(scheduler));
  processor& p = scheduler->release_p(m);
  scheduler->hand_off(p);
  CHECK(other.next_p == &p);
  CHECK_FALSE(shows_low(p));
}

TEST_CASE("a scheduler is not at rest while a background goroutine waits") {
  support::lone_scheduler scheduler(1);
  const auto is_quiet = [&] {
    const thrum::sched::scoped guard(scheduler->idle.lock());
    return scheduler->is_quiet_locked();
  };
  CHECK(is_quiet());
  scheduler->background.push_back(low_g(scheduler));
  CHECK_FALSE(is_quiet());
  CHECK(scheduler->has_queued_work());
}

TEST_CASE("goroutines that were held back go to the queues of their kind") {
  support::lone_scheduler scheduler(1);
  goroutine& low = low_g(scheduler);
  goroutine& other = scheduler.g();
  thrum::base::intrusive_queue<goroutine> all;
  all.push_back(&low);
  all.push_back(&other);
  thrum::sched::queue_all(*scheduler, std::move(all));
  CHECK(scheduler->background.pop() == &low);
  CHECK(scheduler->global.pop() == &other);
}

TEST_CASE("a host takes the first background goroutine that it may run") {
  support::lone_scheduler scheduler(1);
  machine& m = scheduler.holder_of(0);
  goroutine& first = low_g(scheduler);
  goroutine& second = low_g(scheduler);
  scheduler->background.push_back(first);
  scheduler->background.push_back(second);
  const auto is_second = [&](const goroutine& g) { return &g == &second; };
  CHECK(thrum::sched::take_background_for_host(m, is_second) == &second);
  CHECK(shows_low(*m.p));
  CHECK(thrum::sched::take_background_for_host(m, is_second) == nullptr);
}
