// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/context.hpp>

#include <thrum/testing/bubble.hpp>

#include "support/test.hpp"

using thrum::context;

TEST_CASE("Background: it is never done, has no deadline and no values") {
  const context background = context::background();
  CHECK_FALSE(background.done());
  CHECK_FALSE(background.cancelled());
  CHECK_FALSE(background.error());
  CHECK_FALSE(background.deadline());
  CHECK(background.value<int>() == nullptr);
  CHECK_FALSE(background.stop_token().stop_possible());
  CHECK(is_usage_error("context::cancel", [&] { background.cancel(); }));
}

TEST_CASE(
    "WithCancel: cancelling a context cancels all that was derived from it, before it returns") {
  const context root = context::background().with_cancel();
  const context child = root.with_cancel();
  const context grandchild = child.with_value(7).with_timeout(1h);
  const context sibling = root.with_cancel();
  CHECK_FALSE(root.error());
  child.cancel();
  CHECK(child.cancelled());
  CHECK(grandchild.cancelled());
  CHECK(grandchild.error() == std::errc::operation_canceled);
  CHECK(grandchild.done().is_closed());
  CHECK_FALSE(root.cancelled());
  CHECK_FALSE(sibling.cancelled());
  root.cancel();
  CHECK(sibling.error() == std::errc::operation_canceled);
  root.cancel();
}

TEST_CASE("WithCancelCanceledParent: what is derived from a cancelled context is cancelled") {
  const context root = context::background().with_cancel();
  root.cancel();
  CHECK(root.with_cancel().error() == std::errc::operation_canceled);
  CHECK(root.with_value(1).done().is_closed());
  CHECK(root.with_timeout(-1s).error() == std::errc::operation_canceled);
}

IN_BUBBLE(
    "Deadline: a context is done at its deadline, for callers that ask and callers that wait") {
  const auto start = thrum::testing::now();
  const context limited = context::background().with_timeout(1s);
  CHECK(limited.deadline() == start + 1s);
  CHECK_FALSE(limited.cancelled());
  CHECK_FALSE(limited.done().recv());
  CHECK(thrum::testing::now() == start + 1s);
  CHECK(limited.error() == std::errc::timed_out);
  const context at = context::background().with_deadline(start + 5s);
  thrum::sleep_for(4s);
  CHECK(at.error() == std::errc::timed_out);
  CHECK(at.done().is_closed());
}

IN_BUBBLE("a context takes the earlier deadline of its parent, and not a later one") {
  const auto start = thrum::testing::now();
  const context outer = context::background().with_timeout(2s);
  const context later = outer.with_timeout(1h);
  const context earlier = outer.with_timeout(1s);
  CHECK(later.deadline() == start + 2s);
  CHECK(earlier.deadline() == start + 1s);
  CHECK_FALSE(earlier.done().recv());
  CHECK(thrum::testing::now() == start + 1s);
  CHECK_FALSE(later.done().recv());
  CHECK(thrum::testing::now() == start + 2s);
  CHECK(outer.error() == std::errc::timed_out);
}

TEST_CASE("a deadline that has passed ends a context at once") {
  const context over = context::background().with_timeout(-1s);
  CHECK(over.done().is_closed());
  CHECK(over.error() == std::errc::timed_out);
  CHECK(context::background().with_deadline(thrum::time_point::min()).cancelled());
  CHECK_FALSE(context::background().with_timeout(std::chrono::hours::max()).deadline());
}

IN_BUBBLE("CanceledTimeout: a context that is cancelled before its deadline keeps that cause") {
  const context limited = context::background().with_timeout(1s);
  limited.cancel();
  thrum::sleep_for(1h);
  CHECK(limited.error() == std::errc::operation_canceled);
  const context late = context::background().with_timeout(1s);
  thrum::sleep_for(2s);
  late.cancel();
  CHECK(late.error() == std::errc::timed_out);
}

TEST_CASE("Values: the nearest value of a type is found, from any descendant") {
  struct user {
    std::string name;
  };
  const context a = context::background().with_value(user{"ada"});
  const context b = a.with_cancel().with_value(42);
  const context c = b.with_value(user{"bob"}).with_timeout(1h);
  CHECK(a.value<user>()->name == "ada");
  CHECK(b.value<user>()->name == "ada");
  CHECK(*b.value<int>() == 42);
  CHECK(c.value<user>()->name == "bob");
  CHECK(*c.value<int>() == 42);
  CHECK(a.value<int>() == nullptr);
  CHECK(c.value<long>() == nullptr);
}

TEST_CASE("a value may be move-only, and lives as long as a context below it") {
  const auto token = std::make_shared<int>(5);
  struct owner {
    std::unique_ptr<int> number;
    std::shared_ptr<int> shared;
  };
  context inner = context::background();
  {
    const context outer = context::background().with_value(owner{std::make_unique<int>(3), token});
    inner = outer.with_cancel().with_cancel();
  }
  CHECK(*inner.value<owner>()->number == 3);
  CHECK(token.use_count() == 2);
  inner = context::background();
  CHECK(token.use_count() == 1);
}

TEST_CASE("a value whose move throws leaves nothing behind in the parent") {
  struct throws_when_moved_twice {
    throws_when_moved_twice() = default;
    throws_when_moved_twice(throws_when_moved_twice&& other) : moves(other.moves + 1) {
      if (moves == 2) {
        throw std::runtime_error("moved twice");
      }
    }
    int moves = 0;
  };
  const auto token = std::make_shared<int>(5);
  {
    const context parent = context::background().with_value(token);
    throws_when_moved_twice value;
    CHECK_THROWS_AS(parent.with_value(std::move(value)), std::runtime_error);
    CHECK(token.use_count() == 2);
  }
  CHECK(token.use_count() == 1);
}

TEST_CASE("ChildFinishesFirst: children that go leave nothing behind in a parent that stays") {
  const context root = context::background().with_cancel();
  for (int i = 0; i != 100; ++i) {
    const context child = root.with_timeout(1h);
    if (i % 2 == 0) {
      child.cancel();
    }
  }
  const context last = root.with_cancel();
  root.cancel();
  CHECK(last.cancelled());
}

IN_BUBBLE("a select ends when its context is done, by cancel or by time") {
  const thrum::chan<int> never(0);
  const context limited = context::background().with_timeout(1s);
  bool told = false;
  CHECK(thrum::select(thrum::on_recv(never), thrum::on_done(limited, [&] { told = true; })) == 1);
  CHECK(told);
  const context cancelled = context::background().with_cancel();
  thrum::go([cancelled] {
    thrum::sleep_for(1s);
    cancelled.cancel();
  });
  CHECK(thrum::select(thrum::on_recv(never), thrum::on_done(cancelled)) == 1);
  CHECK(thrum::select(thrum::on_done(context::background()), thrum::on_timeout(1s)) == 1);
}

IN_BUBBLE("the stop_token of a context is requested when the context is done") {
  const context a = context::background().with_cancel();
  const context b = a.with_cancel();
  const std::stop_token token = b.stop_token();
  CHECK(token.stop_possible());
  CHECK_FALSE(token.stop_requested());
  CHECK(b.stop_token() == token);
  a.cancel();
  CHECK(token.stop_requested());
  CHECK(b.with_cancel().stop_token().stop_requested());

  const context limited = context::background().with_timeout(1s);
  const std::stop_token timed = limited.stop_token();
  thrum::sleep_for(999ms);
  thrum::testing::wait();
  CHECK_FALSE(timed.stop_requested());
  thrum::sleep_for(1ms);
  thrum::testing::wait();
  CHECK(timed.stop_requested());
  CHECK(limited.error() == std::errc::timed_out);
}

TEST_CASE("a context follows a stop_token that it is given, requested before or after") {
  std::stop_source source;
  const context follows = context::background().with_stop_token(source.get_token());
  const context below = follows.with_cancel();
  CHECK_FALSE(below.cancelled());
  source.request_stop();
  CHECK(follows.error() == std::errc::operation_canceled);
  CHECK(below.cancelled());
  CHECK(context::background().with_stop_token(source.get_token()).cancelled());
}

IN_RUNTIME("a context and a stop_token that are bridged both ways do not chase each other") {
  const context root = context::background().with_cancel();
  const context again = context::background().with_stop_token(root.stop_token());
  const std::stop_token token = again.stop_token();
  root.cancel();
  CHECK(again.cancelled());
  CHECK(token.stop_requested());
}

IN_RUNTIME("a tree a hundred thousand deep is cancelled and freed without deep recursion") {
  const context top = context::background().with_cancel();
  context deep = top;
  for (int i = 0; i != scaled(100'000); ++i) {
    deep = deep.with_cancel();
  }
  top.cancel();
  CHECK(deep.cancelled());
}

IN_RUNTIME(
    "SimultaneousCancels: a tree that is cancelled everywhere at once is cancelled everywhere",
    with_procs(4)) {
  for (int round = 0; round != scaled(50); ++round) {
    std::vector<context> tree{context::background().with_cancel()};
    for (std::size_t i = 1; i != 100; ++i) {
      tree.push_back(tree[(i - 1) / 3].with_cancel());
    }
    std::atomic<std::size_t> told{0};
    thrum::wait_group group;
    for (std::size_t i = 0; i != tree.size(); ++i) {
      group.go([c = tree[(i * 37) % tree.size()]] { c.cancel(); });
      group.go([&told, c = tree[i]] { told += c.done().recv() ? 0 : 1; });
    }
    group.wait();
    REQUIRE(told == tree.size());
    for (const context& c : tree) {
      REQUIRE(c.error() == std::errc::operation_canceled);
    }
  }
}

IN_RUNTIME("InterlockedCancels: a goroutine that sees a parent done may cancel its child",
           with_procs(4)) {
  const context parent = context::background().with_cancel();
  const context child = parent.with_cancel();
  auto watcher = thrum::spawn([=] {
    parent.done().recv();
    child.cancel();
  });
  parent.cancel();
  CHECK_FALSE(child.done().recv());
  watcher.join();
}

IN_RUNTIME("ContextErrDoneRace: a context with an error has done closed, and the other way round",
           with_procs(4)) {
  for (int i = 0; i != scaled(2'000); ++i) {
    const context c = context::background().with_cancel();
    auto canceller = thrum::spawn([c] { c.cancel(); });
    while (!c.error()) {
      if (c.done().is_closed()) {
        CHECK(c.error());
        break;
      }
      thrum::this_goroutine::preemption_point();
    }
    CHECK(c.done().is_closed());
    canceller.join();
  }
}

IN_RUNTIME("contexts that are derived, dropped and cancelled at the same time stay sound",
           with_procs(4)) {
  for (int round = 0; round != scaled(200); ++round) {
    const context root = context::background().with_cancel();
    thrum::wait_group group;
    for (int k = 0; k != 4; ++k) {
      group.go([root, k] {
        for (int i = 0; i != 20; ++i) {
          context child = root.with_cancel();
          const context below = child.with_timeout(std::chrono::microseconds(i));
          if (k == 0) {
            child.cancel();
          }
          child = context::background();
          (void)below.cancelled();
        }
      });
    }
    group.go([root] { root.cancel(); });
    group.wait();
    CHECK(root.cancelled());
  }
}

IN_BUBBLE("ParentFinishesChild: a parent that is cancelled ends all kinds of children, once") {
  const context parent = context::background().with_cancel();
  const context plain = parent.with_cancel();
  const context value = parent.with_value(1);
  const context timed = value.with_timeout(1h);
  parent.cancel();
  for (const context& child : {plain, value, timed}) {
    CHECK_FALSE(child.done().recv());
    CHECK(child.error() == std::errc::operation_canceled);
  }
  thrum::sleep_for(2h);
  CHECK(timed.error() == std::errc::operation_canceled);
  CHECK(parent.with_cancel().error() == std::errc::operation_canceled);
}

IN_RUNTIME(
    "WithCancelSimultaneouslyCanceledParent: a child that is made meanwhile is cancelled too",
    with_procs(4)) {
  std::atomic<int> left{0};
  for (int round = 0; round != scaled(500); ++round) {
    const context parent = context::background().with_cancel();
    auto canceller = thrum::spawn([parent] { parent.cancel(); });
    const context child = parent.with_cancel();
    canceller.join();
    left += child.cancelled() ? 0 : 1;
  }
  CHECK(left == 0);
}

TEST_CASE("LayersCancel: random stacks of contexts end all together when one is cancelled") {
  thrum::base::random random(5);
  for (int round = 0; round != scaled(50); ++round) {
    std::vector<context> layers{context::background().with_cancel()};
    for (int layer = 0; layer != 30; ++layer) {
      const context& below = layers.back();
      switch (random.below(3)) {
        case 0: layers.push_back(below.with_cancel()); break;
        case 1: layers.push_back(below.with_value(layer)); break;
        default: layers.push_back(below.with_timeout(1h));
      }
    }
    const std::size_t cut = random.below(31);
    layers[cut].cancel();
    for (std::size_t i = 0; i != layers.size(); ++i) {
      REQUIRE(layers[i].cancelled() == (i >= cut));
    }
  }
}

IN_BUBBLE("LayersTimeout: random stacks of contexts end all together, at the earliest deadline") {
  thrum::base::random random(11);
  for (int round = 0; round != scaled(20); ++round) {
    const auto start = thrum::testing::now();
    context c = context::background();
    std::chrono::milliseconds earliest = 24h;
    int values = 0;
    for (int layer = 0; layer != 30; ++layer) {
      switch (random.below(3)) {
        case 0: c = c.with_cancel(); break;
        case 1: c = c.with_value(++values); break;
        default: {
          const std::chrono::milliseconds time(1 + random.below(1000));
          earliest = std::min(earliest, time);
          c = c.with_timeout(time);
        }
      }
    }
    c = c.with_timeout(24h);
    CHECK_FALSE(c.cancelled());
    CHECK((values == 0 || *c.value<int>() == values));
    CHECK_FALSE(c.done().recv());
    CHECK(thrum::testing::now() - start == earliest);
    CHECK(c.error() == std::errc::timed_out);
  }
}

TEST_CASE("foreign threads make, wait for and cancel contexts without a runtime") {
  const context c = context::background().with_cancel();
  std::thread canceller([c] {
    std::this_thread::sleep_for(2ms);
    c.cancel();
  });
  CHECK_FALSE(c.done().recv());
  canceller.join();
  const context limited = context::background().with_timeout(2ms);
  CHECK_FALSE(limited.done().recv());
  CHECK(limited.error() == std::errc::timed_out);
}
