// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Who watches the deadline of a context, and for how long: timers are counted.

#include <thrum/context.hpp>

#include <thrum.hpp>
#include <thrum/testing/bubble.hpp>

#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/with_runtime.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <stop_token>
#include <utility>

using namespace std::chrono_literals;
using support::with_runtime;
using thrum::context;
using thrum::testing::bubble;

namespace {

/// Has a goroutine wait with a context, releases it, and drops the context, long before its deadline.
template <class Wait, class Release>
void leaves_nothing(Wait wait, Release release) {
  std::weak_ptr<int> kept;
  {
    auto held = std::make_shared<int>(1);
    kept = held;
    const context limited = context::background().with_value(std::move(held)).with_timeout(1h);
    auto waiter = thrum::spawn([&] { wait(limited); });
    thrum::testing::wait();
    release();
    waiter.join();
  }
  CHECK(kept.expired());
  CHECK(thrum::stats().timers == 0);
}

template <class Condition>
void wait_for_change() {
  thrum::mutex m;
  Condition changed;
  bool done = false;
  leaves_nothing(
      [&](const context& until) {
        std::unique_lock lock(m);
        CHECK(changed.wait(lock, until, [&] { return done; }));
      },
      [&] {
        const std::lock_guard guard(m);
        done = true;
        changed.notify_all();
      });
}

}  // namespace

TEST_CASE("a context that a wait was given goes with its last handle, and leaves no timer") {
  bubble([] {
    SECTION("recv") {
      const thrum::chan<int> c(0);
      leaves_nothing([&](const context& until) { c.recv(until); }, [&] { c.send(1); });
    }
    SECTION("lock") {
      thrum::mutex m;
      m.lock();
      leaves_nothing(
          [&](const context& until) {
            if (m.lock(until)) {
              m.unlock();
            }
          },
          [&] { m.unlock(); });
    }
    SECTION("acquire") {
      thrum::counting_semaphore<> permits(0);
      leaves_nothing([&](const context& until) { CHECK(permits.acquire(until)); },
                     [&] { permits.release(); });
    }
    SECTION("wait of a condition_variable") { wait_for_change<thrum::condition_variable>(); }
    SECTION("wait of a condition_variable_any") {
      wait_for_change<thrum::condition_variable_any>();
    }
    SECTION("wait of a wait_group") {
      thrum::wait_group group;
      group.add(1);
      leaves_nothing([&](const context& until) { CHECK(group.wait(until)); },
                     [&] { group.done(); });
    }
    SECTION("sleep_for") {
      leaves_nothing([](const context& until) { CHECK(thrum::sleep_for(1s, until)); }, [] {});
    }
    SECTION("select") {
      const thrum::chan<int> c(0);
      leaves_nothing(
          [&](const context& until) { thrum::select(thrum::on_recv(c), thrum::on_done(until)); },
          [&] { c.send(1); });
    }
    SECTION("read of a stream") {
      thrum::io::memory_pipe pipe;
      leaves_nothing(
          [&](const context& until) {
            char one[1];
            CHECK(pipe.first.read(one, until) == 1);
          },
          [&] { pipe.second.write("x"); });
    }
    SECTION("task_group") {
      leaves_nothing(
          [](const context& above) {
            thrum::task_group group(above);
            const std::stop_token token = group.stop_token();
            CHECK(token.stop_possible());
            group.go([] { thrum::sleep_for(1s); });
            group.wait();
          },
          [] {});
    }
    SECTION("a group whose member throws") {
      leaves_nothing(
          [](const context& above) {
            thrum::task_group group(above);
            const std::stop_token token = group.stop_token();
            group.go([] { throw 1; });
            CHECK_THROWS_AS(group.wait(), int);
          },
          [] {});
    }
    SECTION("a function that is stopped") {
      leaves_nothing(
          [](const context& of) {
            const thrum::context_call call = of.after_func([] {});
            CHECK(thrum::stats().timers == 1);
            CHECK(call.stop());
          },
          [] {});
    }
  });
}

TEST_CASE("a group below a context is told of its deadline, though nobody else looks") {
  bubble([] {
    const auto begin = thrum::testing::now();
    thrum::task_group group(context::background().with_timeout(1h));
    group.go([&] {
      thrum::mutex m;
      thrum::condition_variable_any changed;
      std::unique_lock lock(m);
      CHECK(!changed.wait(lock, group.stop_token(), [] { return false; }));
    });
    group.wait();
    CHECK(thrum::testing::now() == begin + 1h);
  });
}

TEST_CASE(
    "a token that a program asked for is watched until the deadline, and not beyond a cancel") {
  bubble([] {
    const std::stop_token alone = context::background().with_timeout(1h).stop_token();
    CHECK(thrum::stats().timers == 1);
    thrum::sleep_for(2h);
    CHECK(alone.stop_requested());
    const context cancelled = context::background().with_timeout(1h);
    const std::stop_token token = cancelled.stop_token();
    const thrum::context_call call = cancelled.after_func([] {});
    CHECK(call.stop());
    CHECK(thrum::stats().timers == 1);  // for the token
    cancelled.cancel();
    CHECK(thrum::stats().timers == 0);
  });
}

TEST_CASE("the deadline of a context is watched on when the runtime that has watched it stops") {
  const context limited = context::background().with_timeout(1h);
  thrum::runtime other(support::environment_options());
  thrum::context_call call;
  SECTION("for a function") {
    with_runtime([&] {
      call = limited.after_func([] {});
      static_cast<void>(limited.after_func(other, [] {}));
      CHECK(other.stats().timers == 0);
    });
  }
  SECTION("for a token") {
    with_runtime([&] {
      static_cast<void>(limited.stop_token());
      CHECK(other.stats().timers == 0);
    });
  }
  CHECK(other.stats().timers == 1);
  limited.cancel();
  CHECK(support::eventually([&] { return other.stats().timers == 0; }));  // one calls the function
}

TEST_CASE("a function is called at the deadline, though the runtime asked first has stopped") {
  thrum::runtime other(support::environment_options());
  const context limited = context::background().with_timeout(30ms);
  std::atomic<bool> called{false};
  std::atomic<bool> requested{false};
  std::stop_token token;
  with_runtime([&] {
    token = limited.stop_token();
    static_cast<void>(limited.after_func(other, [&] { called = true; }));
  });
  const std::stop_callback callback(token, [&] { requested = true; });
  CHECK(support::eventually([&] { return called.load() && requested.load(); }));
}
