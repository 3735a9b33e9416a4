// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A waiter has been notified and has not run yet, and the object that it waited on is destroyed.
// Then its time runs out, or the runtime stops: neither may touch the object. (AddressSanitizer
// checks.)

#include <thrum/sched/run/wait_point.hpp>

#include <thrum.hpp>
#include <thrum/sched/life/shutdown.hpp>
#include <thrum/sched/run/wake_list.hpp>

#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/scale.hpp"
#include "support/stop_source.hpp"
#include "support/with_runtime.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

using namespace std::chrono_literals;
using support::eventually_yielding;
using support::scaled;
using support::with_procs;
using support::with_runtime;

namespace {

using default_point = thrum::sched::wait_point;

/// Every timer of the one processor is due now.
void let_all_time_pass() {
  const thrum::sched::section here;
  here.m()->p->timers.run_due(std::numeric_limits<std::int64_t>::max() - 1);
}

/// What a stop does to all waiters.
void end_all_waits() { thrum::sched::withdraw_all(*thrum::sched::section().m()->scheduler); }

/// One processor that nobody takes from the goroutine that has it: what it has made ready runs when it waits.
thrum::options undisturbed() {
  thrum::options alone = with_procs(1);
  alone.preempt = thrum::preemption::none;
  return alone;
}

/// wait(object) is called by a goroutine; when it is parked, notify(object) by another, on the one
/// processor that there is, which then destroys the object and calls `afterwards`.
template <class Object, class Make, class Wait, class Notify>
void outlive(Make make, Wait wait, Notify notify, void (*afterwards)()) {
  with_runtime(undisturbed(), [&] {
    std::unique_ptr<Object> object = make();
    bool has_returned = false;
    bool as_notified = false;
    auto waiter = thrum::spawn([&, at = object.get()] {
      as_notified = wait(*at);
      has_returned = true;
    });
    REQUIRE(eventually_yielding([] { return thrum::stats().waiting == 1; }));
    notify(*object);
    object.reset();
    afterwards();
    CHECK_FALSE(has_returned);  // else nothing was tried
    waiter.join();
    CHECK(as_notified);
  });
}

/// The mutex belongs to the waiter, which locks it again.
thrum::mutex mutex_of_waiter;

}  // namespace

TEST_CASE("a time-out does not enter a condition variable that was notified and is gone") {
  outlive<thrum::condition_variable>(
      [] { return std::make_unique<thrum::condition_variable>(); },
      [](auto& changed) {
        std::unique_lock lock(mutex_of_waiter);
        return changed.wait_for(lock, 1h) == std::cv_status::no_timeout;
      },
      [](auto& changed) { changed.notify_all(); }, &let_all_time_pass);
  outlive<thrum::condition_variable>(
      [] { return std::make_unique<thrum::condition_variable>(); },
      [](auto& changed) {
        std::unique_lock lock(mutex_of_waiter);
        return changed.wait_for(lock, 1h) == std::cv_status::no_timeout;
      },
      [](auto& changed) { changed.notify_one(); }, &let_all_time_pass);
}

TEST_CASE("a stop does not enter a condition variable that was notified and is gone") {
  outlive<thrum::condition_variable>([] { return std::make_unique<thrum::condition_variable>(); },
                                     [](auto& changed) {
                                       std::unique_lock lock(mutex_of_waiter);
                                       changed.wait(lock);
                                       return true;
                                     },
                                     [](auto& changed) { changed.notify_all(); }, &end_all_waits);
}

TEST_CASE("time-out, stop and request do not enter a condition_variable_any that is gone") {
  for (const auto afterwards : {&let_all_time_pass, &end_all_waits}) {
    outlive<thrum::condition_variable_any>(
        [] { return std::make_unique<thrum::condition_variable_any>(); },
        [](auto& changed) {
          std::unique_lock lock(mutex_of_waiter);
          return changed.wait_for(lock, 1h) == std::cv_status::no_timeout;
        },
        [](auto& changed) { changed.notify_all(); }, afterwards);
  }
  static std::stop_source source;
  source = support::new_source();
  static bool notified;
  notified = false;
  outlive<thrum::condition_variable_any>(
      [] { return std::make_unique<thrum::condition_variable_any>(); },
      [](auto& changed) {
        std::unique_lock lock(mutex_of_waiter);
        return changed.wait(lock, source.get_token(), [] { return notified; });
      },
      [](auto& changed) {
        notified = true;
        changed.notify_all();
      },
      [] { source.request_stop(); });
}

TEST_CASE("neither a time-out nor a stop enters a semaphore that gave its permit and is gone") {
  for (const auto afterwards : {&let_all_time_pass, &end_all_waits}) {
    outlive<thrum::counting_semaphore<>>(
        [] { return std::make_unique<thrum::counting_semaphore<>>(0); },
        [](auto& permits) { return permits.try_acquire_for(1h); },
        [](auto& permits) { permits.release(); }, afterwards);
  }
}

TEST_CASE("neither a time-out nor a stop enters a wait_group that is done and gone") {
  for (const auto afterwards : {&let_all_time_pass, &end_all_waits}) {
    outlive<thrum::wait_group>(
        [] {
          auto group = std::make_unique<thrum::wait_group>();
          group->add();
          return group;
        },
        [](auto& group) { return group.wait_for(1h); }, [](auto& group) { group.done(); },
        afterwards);
  }
}

TEST_CASE("a stop enters neither a latch nor a barrier that has let its waiter go and is gone") {
  outlive<thrum::latch>([] { return std::make_unique<thrum::latch>(1); },
                        [](auto& latch) {
                          latch.wait();
                          return true;
                        },
                        [](auto& latch) { latch.count_down(); }, &end_all_waits);
  outlive<thrum::barrier<>>([] { return std::make_unique<thrum::barrier<>>(2); },
                            [](auto& barrier) {
                              barrier.arrive_and_wait();
                              return true;
                            },
                            [](auto& barrier) { static_cast<void>(barrier.arrive()); },
                            &end_all_waits);
}

TEST_CASE("neither a time-out nor a stop enters a channel that has served its waiter and is gone") {
  for (const auto afterwards : {&let_all_time_pass, &end_all_waits}) {
    outlive<thrum::chan<int>>([] { return std::make_unique<thrum::chan<int>>(0); },
                              [](auto& channel) {
                                int out = 0;
                                return channel.recv_for(out, 1h) == thrum::recv_status::ok &&
                                       out == 1;
                              },
                              [](auto& channel) { channel.send(1); }, afterwards);
    outlive<thrum::chan<int>>([] { return std::make_unique<thrum::chan<int>>(0); },
                              [](auto& channel) { return channel.send_for(1, 1h); },
                              [](auto& channel) { channel.recv(); }, afterwards);
    outlive<thrum::chan<int>>([] { return std::make_unique<thrum::chan<int>>(0); },
                              [](auto& channel) {
                                int out = 0;
                                return channel.recv_for(out, 1h) == thrum::recv_status::closed;
                              },
                              [](auto& channel) { channel.close(); }, afterwards);
  }
}

TEST_CASE("a select that was served is ended by nothing else, whatever becomes of its time") {
  for (const auto afterwards : {&let_all_time_pass, &end_all_waits}) {
    outlive<thrum::chan<int>>([] { return std::make_unique<thrum::chan<int>>(0); },
                              [](auto& channel) {
                                return thrum::select(thrum::on_recv(channel),
                                                     thrum::on_timeout(1h)) == 0;
                              },
                              [](auto& channel) { channel.send(1); }, afterwards);
  }
}

TEST_CASE(
    "a partner that serves a select with several cases on a channel may destroy the channel") {
  for (const auto afterwards : {&let_all_time_pass, &end_all_waits}) {
    outlive<thrum::chan<int>>([] { return std::make_unique<thrum::chan<int>>(0); },
                              [](auto& channel) {
                                return thrum::select(thrum::on_recv(channel),
                                                     thrum::on_recv(channel),
                                                     thrum::on_timeout(1h)) < 2;
                              },
                              [](auto& channel) { channel.send(1); }, afterwards);
    outlive<thrum::chan<int>>([] { return std::make_unique<thrum::chan<int>>(0); },
                              [](auto& channel) {
                                return thrum::select(thrum::on_send(channel, 1),
                                                     thrum::on_recv(channel),
                                                     thrum::on_timeout(1h)) < 2;
                              },
                              [](auto& channel) { channel.recv(); }, afterwards);
  }
}

TEST_CASE("a waiter that was given a mutex, and has not run yet, is ended by nothing else") {
  for (const auto afterwards : {&let_all_time_pass, &end_all_waits}) {
    with_runtime(undisturbed(), [&] {
      thrum::mutex mutex;
      thrum::shared_mutex shared;
      mutex.lock();
      shared.lock();
      std::atomic<int> locked{0};
      thrum::wait_group lockers;
      lockers.go([&] { locked += mutex.try_lock_for(1h) ? 1 : 0; });
      lockers.go([&] { locked += shared.try_lock_shared_for(1h) ? 1 : 0; });
      REQUIRE(eventually_yielding([] { return thrum::stats().waiting == 2; }));
      mutex.unlock();
      shared.unlock();
      afterwards();
      CHECK(locked == 0);
      lockers.wait();
      CHECK(locked == 2);
    });
  }
}

TEST_CASE("a thread whose time is over does not enter an object that has released it") {
  struct object {
    thrum::sched::spin_lock lock{thrum::sched::lock_rank::waiters};
    thrum::sync_detail::wait_list waiters{lock};
  };
  default_point point;
  point.gate.open();
  {
    const auto waited_on = std::make_unique<object>();
    point.object = &waited_on->waiters;
    point.withdraw = &thrum::sync_detail::wait_list::withdraw;
    waited_on->lock.lock();
    waited_on->waiters.points.push_back(point);
    CHECK(waited_on->waiters.pop(thrum::sched::wake_cause::notified) == &point);
    waited_on->lock.unlock();
  }
  CHECK_FALSE(thrum::sched::withdraw_in_time(point));
  CHECK(point.cause == thrum::sched::wake_cause::notified);
}

TEST_CASE("condition variables that go with their notification meet time-outs of the same moment") {
  with_runtime(with_procs(2), [] {
    for (int round = 0; round != scaled(300, 20); ++round) {
      auto changed = std::make_unique<thrum::condition_variable>();
      thrum::mutex mutex;
      int inside = 0;
      thrum::wait_group group;
      const auto deadline = std::chrono::steady_clock::now() + 100us;
      for (int i = 0; i != 3; ++i) {
        group.go([&, &at = *changed] {
          std::unique_lock lock(mutex);
          ++inside;
          at.wait_until(lock, deadline);
        });
      }
      while (std::chrono::steady_clock::now() < deadline) {
        thrum::this_goroutine::yield();
      }
      REQUIRE(eventually_yielding([&] {
        const std::lock_guard lock(mutex);
        return inside == 3;
      }));
      changed->notify_all();
      changed.reset();
      group.wait();
    }
  });
}

TEST_CASE("condition variables that go with their notification meet a stop of the same moment") {
  for (int round = 0; round != scaled(60, 5); ++round) {
    std::atomic<bool> begun{false};
    thrum::runtime runtime(with_procs(2));
    runtime.go([&] {
      begun = true;
      for (;;) {
        auto changed = std::make_unique<thrum::condition_variable>();
        thrum::mutex mutex;
        int inside = 0;
        thrum::wait_group group;
        bool all = false;
        // Also when the exception of a stop ends the round: the waiters end before it.
        struct at_end {
          const bool& all;
          std::unique_ptr<thrum::condition_variable>& changed;
          thrum::wait_group& group;
          ~at_end() {
            const thrum::sched::uncancellable to_the_end;
            if (all) {
              changed->notify_all();
              changed.reset();
            }
            group.wait();
          }
        } const scope{all, changed, group};
        for (int i = 0; i != 2; ++i) {
          group.go([&, &at = *changed] {
            std::unique_lock lock(mutex);
            ++inside;
            at.wait(lock);
          });
        }
        while (!all) {
          thrum::sleep_for(1us);
          const std::lock_guard lock(mutex);
          all = inside == 2;
        }
      }
    });
    REQUIRE(support::eventually([&] { return begun.load(); }));
    std::this_thread::sleep_for(std::chrono::microseconds(10 * round));
    runtime.stop();
    CHECK(runtime.stats().goroutines == 0);
  }
}

TEST_CASE("a selection is not withdrawn before its waiter has left its stack, nor once it is won") {
  using thrum::sched::spin_lock;
  using thrum::sched::withdrawal;
  constexpr auto withdraw = &thrum::sched::selection_state::withdraw<spin_lock>;
  spin_lock held_by_waiter{thrum::sched::lock_rank::channel};
  thrum::sched::selection_state selection;
  selection.self.object = &held_by_waiter;
  selection.self.selection = &selection;
  held_by_waiter.lock();
  CHECK(withdraw(selection.self, false) == withdrawal::busy);
  CHECK_FALSE(selection.is_won());
  held_by_waiter.unlock();
  CHECK(withdraw(selection.self, false) == withdrawal::done);
  CHECK(selection.winner == &selection.self);
  CHECK_FALSE(held_by_waiter.is_locked());
  CHECK(withdraw(selection.self, false) == withdrawal::refused);
  CHECK_FALSE(held_by_waiter.is_locked());
}

TEST_CASE("a waiter withdraws its own selection with the lock that it holds") {
  using thrum::sched::spin_lock;
  spin_lock held_by_waiter{thrum::sched::lock_rank::channel};
  thrum::sched::selection_state selection;
  selection.self.object = &held_by_waiter;
  selection.self.selection = &selection;
  held_by_waiter.lock();
  CHECK(thrum::sched::selection_state::withdraw<spin_lock>(selection.self, true) ==
        thrum::sched::withdrawal::done);
  CHECK(held_by_waiter.is_locked());
  held_by_waiter.unlock();
}

TEST_CASE(
    "what is told has its function called where a waiter would be woken, alone and in a list") {
  struct told : thrum::sched::told_point {
    told() noexcept : told_point([](told_point& self) noexcept { ++static_cast<told&>(self).n; }) {}
    int n = 0;
  };
  told one;
  told two;
  wake(static_cast<default_point&>(one));
  thrum::sched::wake_list list;
  list.push_back(&one);
  list.push_front(two);
  list.wake_all();
  CHECK(one.n == 2);
  CHECK(two.n == 1);
}
