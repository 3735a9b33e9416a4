// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A waiter has been notified and has not run yet, and the object that it waited on is destroyed.
// Then its time runs out, or the runtime stops: neither may touch the object. (AddressSanitizer
// checks.)

#include <thrum/detail/sched/run/wait_point.hpp>

#include <thrum/detail/sched/life/shutdown.hpp>
#include <thrum/detail/sched/run/wake_list.hpp>

#include "support/stop_source.hpp"
#include "support/test.hpp"

#include <condition_variable>
#include <initializer_list>

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

using things_after = std::initializer_list<void (*)()>;
constexpr things_after both_after = {&let_all_time_pass, &end_all_waits};

/// wait() is called by a goroutine; when it is parked, notify() and destroy() by another, on the one
/// processor that there is, which then calls `afterwards`.
void check_outlived(const std::function<void()>& make, const std::function<bool()>& wait,
                    const std::function<void()>& notify, const std::function<void()>& destroy,
                    things_after all_after) {
  for (void (*const afterwards)() : all_after) {
    with_runtime(undisturbed(), [&] {
      make();
      bool has_returned = false;
      bool as_notified = false;
      auto waiter = thrum::spawn([&] {
        as_notified = wait();
        has_returned = true;
      });
      REQUIRE(eventually_yielding([] { return thrum::stats().waiting == 1; }));
      notify();
      destroy();
      afterwards();
      CHECK_FALSE(has_returned);  // else nothing was tried
      waiter.join();
      CHECK(as_notified);
    });
  }
}

/// check_outlived() with an object that is made of this number.
template <class Object, class... Number>
void outlive(const std::function<bool(Object&)>& wait, const std::function<void(Object&)>& notify,
             things_after all_after, Number... number) {
  std::unique_ptr<Object> object;
  check_outlived([&] { object = std::make_unique<Object>(number...); },
                 [&] { return wait(*object); }, [&] { notify(*object); }, [&] { object.reset(); },
                 all_after);
}

/// The mutex belongs to the waiter, which locks it again.
thrum::mutex mutex_of_waiter;

}  // namespace

TEST_CASE(
    "neither a time-out nor a stop enters a condition variable that was notified and is gone") {
  const auto waits = [](auto& changed) {
    std::unique_lock lock(mutex_of_waiter);
    return changed.wait_for(lock, 1h) == std::cv_status::no_timeout;
  };
  using thrum::condition_variable;
  using thrum::condition_variable_any;
  outlive<condition_variable>(waits, &condition_variable::notify_all, {&let_all_time_pass});
  outlive<condition_variable>(waits, &condition_variable::notify_one, {&let_all_time_pass});
  outlive<condition_variable>(
      [](auto& changed) {
        std::unique_lock lock(mutex_of_waiter);
        changed.wait(lock);
        return true;
      },
      &condition_variable::notify_all, {&end_all_waits});
  outlive<condition_variable_any>(waits, &condition_variable_any::notify_all, both_after);
  static std::stop_source source;
  source = support::new_source();
  bool notified = false;
  outlive<condition_variable_any>(
      [&](auto& changed) {
        std::unique_lock lock(mutex_of_waiter);
        return changed.wait(lock, source.get_token(), [&] { return notified; });
      },
      [&](auto& changed) {
        notified = true;
        changed.notify_all();
      },
      {[] { source.request_stop(); }});
}

TEST_CASE(
    "neither a time-out nor a stop enters an object that released its waiter and was destroyed") {
  using permits = thrum::counting_semaphore<>;
  outlive<permits>([](auto& own) { return own.try_acquire_for(1h); },
                   [](auto& own) { own.release(); }, both_after, 0);
  outlive<thrum::wait_group>(
      [](auto& group) {
        group.add();
        return group.wait_for(1h);
      },
      [](auto& group) { group.done(); }, both_after);
  outlive<thrum::latch>(
      [](auto& latch) {
        latch.wait();
        return true;
      },
      [](auto& latch) { latch.count_down(); }, {&end_all_waits}, 1);
  outlive<thrum::barrier<>>(
      [](auto& barrier) {
        barrier.arrive_and_wait();
        return true;
      },
      [](auto& barrier) { static_cast<void>(barrier.arrive()); }, {&end_all_waits}, 2);
}

TEST_CASE("neither a time-out nor a stop enters a channel that has served its waiter and is gone") {
  using channel = thrum::chan<int>;
  const auto sends = [](channel& c) { c.send(1); };
  const auto receives = [](channel& c) { c.recv(); };
  outlive<channel>(
      [](channel& c) {
        int out = 0;
        return c.recv_for(out, 1h) == thrum::recv_status::ok && out == 1;
      },
      sends, both_after, 0);
  outlive<channel>([](channel& c) { return c.send_for(1, 1h); }, receives, both_after, 0);
  outlive<channel>(
      [](channel& c) {
        int out = 0;
        return c.recv_for(out, 1h) == thrum::recv_status::closed;
      },
      [](channel& c) { c.close(); }, both_after, 0);
  // Nor a select, whose partner may destroy the channel also when that stands in several cases.
  outlive<channel>(
      [](channel& c) { return thrum::select(thrum::on_recv(c), thrum::on_timeout(1h)) == 0; },
      sends, both_after, 0);
  outlive<channel>(
      [](channel& c) {
        return thrum::select(thrum::on_recv(c), thrum::on_recv(c), thrum::on_timeout(1h)) < 2;
      },
      sends, both_after, 0);
  outlive<channel>(
      [](channel& c) {
        return thrum::select(thrum::on_send(c, 1), thrum::on_recv(c), thrum::on_timeout(1h)) < 2;
      },
      receives, both_after, 0);
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

IN_RUNTIME("condition variables that go with their notification meet time-outs of the same moment",
           with_procs(2)) {
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
    "a callback_point's function is called where a waiter would be woken, alone and in a list") {
  struct told : thrum::sched::callback_point {
    told() noexcept
        : callback_point([](callback_point& self) noexcept { ++static_cast<told&>(self).n; }) {}
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
