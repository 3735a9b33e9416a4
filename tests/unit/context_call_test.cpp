// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Functions that are called once a context is done, and who watches its deadline for them, and for how long:
// timers are counted.
#include <thrum/context.hpp>

#include "support/set_back_clock.hpp"
#include "support/test.hpp"

using thrum::context;
using thrum::context_call;

IN_RUNTIME("after_func: the function is called once, in a goroutine of its own, when all is done") {
  const context root = context::background().with_cancel();
  const context leaf = root.with_cancel();
  const thrum::chan<thrum::goroutine_id> called(4);
  std::atomic<int> early{0};
  root.after_func([&, called] {
    early += leaf.done().is_closed() ? 0 : 1;
    called.send(thrum::this_goroutine::id());
  });
  const context_call kept = leaf.after_func([called] { called.send(thrum::this_goroutine::id()); });
  thrum::this_goroutine::yield();
  CHECK(called.size() == 0);
  root.cancel();
  const auto first = called.recv();
  const auto second = called.recv();
  CHECK(first != second);
  CHECK(first != thrum::this_goroutine::id());
  CHECK(second != thrum::this_goroutine::id());
  CHECK_FALSE(kept.stop());
  root.cancel();
  CHECK_FALSE(called.recv_for(5ms));
  CHECK(early == 0);
}

IN_RUNTIME("after_func: stop says whether it kept the function from running, and destroys it") {
  const context c = context::background().with_cancel();
  const auto held = std::make_shared<int>(0);
  const context_call call = c.after_func([held] { ++*held; });
  const context_call copy = call;  // NOLINT(performance-unnecessary-copy-initialization)
  CHECK(held.use_count() == 2);
  CHECK(copy.stop());
  CHECK(held.use_count() == 1);
  CHECK_FALSE(call.stop());
  CHECK_FALSE(context_call().stop());
  c.cancel();
  thrum::sleep_for(2ms);
  CHECK(*held == 0);
  const context_call never = context::background().after_func([held] { ++*held; });
  CHECK(never.stop());
  CHECK(held.use_count() == 1);
}

IN_BUBBLE(
    "after_func: the deadline calls it, too, although no goroutine waits for or keeps the "
    "context") {
  const auto start = thrum::testing::now();
  const thrum::chan<thrum::time_point> called(2);
  const auto note = [called] { called.send(thrum::testing::now()); };
  context::background().with_timeout(1h).with_value(1).after_func(note);
  CHECK(called.recv() == start + 1h);
  const context over = context::background().with_timeout(-1s);
  CHECK_FALSE(over.after_func(note).stop());
  CHECK(called.recv() == start + 1h);
  const context limited = context::background().with_timeout(1h);
  const context_call call = limited.after_func(note);
  limited.cancel();
  thrum::testing::wait();
  CHECK(called.size() == 1);
  CHECK_FALSE(call.stop());
}

IN_RUNTIME(
    "after_func: the function of a context that has gone is called when its parent is done") {
  const thrum::chan<int> called(3);
  const context root = context::background().with_cancel();
  root.with_value(1).with_cancel().after_func([called] { called.send(1); });
  CHECK(called.size() == 0);
  root.cancel();
  CHECK(called.recv() == 1);
  root.with_value(2).after_func([called] { called.send(2); });
  CHECK(called.recv() == 2);
}

IN_RUNTIME("after_func: what can never be called is destroyed with the last context") {
  const auto held = std::make_shared<int>(0);
  {
    const context root = context::background().with_cancel();
    root.with_value(1).after_func([held] { ++*held; });
    root.without_cancel().after_func([held] { ++*held; });
    context::background().after_func([held] { ++*held; });
    root.after_func([held] { ++*held; });
    CHECK(held.use_count() == 3);
  }
  CHECK(held.use_count() == 1);
  CHECK(*held == 0);
}

TEST_CASE("after_func: a foreign thread names the runtime; without one it is an error of use") {
  const context c = context::background().with_cancel();
  CHECK(is_usage_error("context::after_func", [&] { c.after_func([] {}); }));
  std::atomic<int> calls{0};
  {
    thrum::runtime runtime(support::environment_options());
    const thrum::chan<bool> called(1);
    const context_call call =
        c.after_func(runtime, [called] { called.send(thrum::runtime::current() != nullptr); });
    c.cancel();
    CHECK(called.recv() == true);
    CHECK_FALSE(call.stop());
    const context other = context::background().with_cancel();
    other.after_func(runtime, [&] { ++calls; });
    runtime.stop();
    other.cancel();  // nothing is left that could call
  }
  CHECK(calls == 0);
}

IN_RUNTIME("after_func: of a stop and a cancel at the same time one decides, and it is true",
           with_procs(4)) {
  int wrong = 0;
  for (int round = 0; round != scaled(500); ++round) {
    const context root = context::background().with_cancel();
    std::optional<context> child = root.with_cancel();
    const thrum::chan<void> called(1);
    const context_call call = child->after_func([called] { called.send(); });
    bool stopped = false;
    thrum::wait_group group;
    group.go([&] { stopped = call.stop(); });
    group.go([&] { (round % 2 == 0 ? root : *child).cancel(); });
    group.wait();
    if (stopped) {
      wrong += call.stop() || called.size() != 0 ? 1 : 0;
    } else {
      wrong += called.recv() ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
}

IN_RUNTIME("after_func: of contexts that are dropped while their parent is cancelled none is lost",
           with_procs(4)) {
  const int rounds = scaled(300);
  std::atomic<int> calls{0};
  for (int round = 0; round != rounds; ++round) {
    const context root = context::background().with_cancel();
    std::vector<context> children;
    for (int i = 0; i != 10; ++i) {
      children.push_back(root.with_value(i));
      children.back().after_func([&calls] { ++calls; });
    }
    thrum::wait_group group;
    group.go([&] { children.clear(); });
    group.go([&] { root.cancel(); });
    group.wait();
  }
  CHECK(eventually([&] { return calls == rounds * 10; }));
}

IN_RUNTIME("after_func: a function that holds its context lets go of it once it has run") {
  const auto held = std::make_shared<int>(0);
  {
    const context c = context::background().with_value(held).with_timeout(1ms);
    c.after_func([c] {});
  }
  CHECK(eventually([&] { return held.use_count() == 1; }));
}

IN_RUNTIME("after_func: a clock that is set back holds the call up") {
  const auto when = support::set_back_clock::soon();
  const thrum::chan<bool> called(1);
  context::background().with_deadline(when).after_func(
      [called, when] { called.send(support::set_back_clock::now() >= when); });
  CHECK(called.recv() == true);
}

TEST_CASE("a token that a foreign thread asked for first is requested at the deadline") {
  thrum::runtime runtime(support::environment_options());
  const context limited = context::background().with_timeout(20ms);
  const std::stop_token token = limited.stop_token();
  CHECK(eventually([&] { return token.stop_requested(); }));
}

TEST_CASE("a token that was first asked for without any runtime is watched by the next that asks") {
  const context limited = context::background().with_timeout(30ms);
  const std::stop_token token = limited.stop_token();
  with_runtime([&] {
    CHECK(limited.stop_token() == token);
    CHECK(eventually([&] { return token.stop_requested(); }));
  });
  const context other = context::background().with_timeout(1ms);
  const std::stop_token alone = other.stop_token();
  std::this_thread::sleep_for(2ms);
  CHECK(other.cancelled());
  CHECK(alone.stop_requested());
}

TEST_CASE("another runtime watches a deadline when the runtime that watched it is gone") {
  const context limited = context::background().with_timeout(1h);
  std::stop_token token;
  with_runtime([&] { token = limited.stop_token(); });
  std::weak_ptr<int> watch;
  {
    auto held = std::make_shared<int>(1);
    watch = held;
    const context c = context::background().with_value(std::move(held)).with_timeout(200ms);
    std::stop_token first;
    with_runtime([&] { first = c.stop_token(); });
    with_runtime([&] {
      CHECK(c.stop_token() == first);
      CHECK(eventually([&] { return first.stop_requested(); }));
    });
  }
  CHECK(watch.expired());
  CHECK_FALSE(token.stop_requested());
}

TEST_CASE("foreign threads ask for tokens while runtimes come and go") {
  std::atomic<bool> over{false};
  std::thread asker([&] {
    while (!over) {
      const context c = context::background().with_timeout(1h);
      const std::stop_token token = c.stop_token();
      c.cancel();
      if (!token.stop_requested()) {
        over = true;
      }
    }
  });
  for (int i = 0; i != scaled(100); ++i) {
    with_runtime([] { thrum::this_goroutine::yield(); });
  }
  CHECK_FALSE(over);
  over = true;
  asker.join();
}

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

IN_BUBBLE("a context that a wait was given goes with its last handle, and leaves no timer") {
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
  SECTION("wait of a condition_variable_any") { wait_for_change<thrum::condition_variable_any>(); }
  SECTION("wait of a wait_group") {
    thrum::wait_group group;
    group.add(1);
    leaves_nothing([&](const context& until) { CHECK(group.wait(until)); }, [&] { group.done(); });
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
}

IN_BUBBLE("the deadline of a context stops a group below it without another look at the context") {
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
}

IN_BUBBLE(
    "a token that a program asked for is watched until the deadline, and not beyond a cancel") {
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
