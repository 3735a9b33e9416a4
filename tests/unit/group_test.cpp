// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/group.hpp>

#include <thrum/testing/bubble.hpp>

#include "support/slow_to_go.hpp"
#include "support/stop_source.hpp"
#include "support/test.hpp"

using support::slow_to_go;

IN_RUNTIME("a task_group waits until all of its goroutines have ended") {
  std::atomic<int> ended{0};
  thrum::task_group group;
  for (int i = 0; i != 50; ++i) {
    group.go([&] {
      thrum::this_goroutine::yield();
      ++ended;
    });
  }
  group.wait();
  CHECK(ended == 50);
  group.wait();
}

IN_RUNTIME("a task_group hands its goroutines their arguments") {
  int sum = 0;
  thrum::task_group group;
  group.go([&](std::unique_ptr<int> a, int b) { sum = *a + b; }, std::make_unique<int>(3), 4);
  group.wait();
  CHECK(sum == 7);
}

TEMPLATE_TEST_CASE("a group starts its goroutines with attributes", "", thrum::task_group,
                   thrum::wait_group) {
  support::with_runtime([] {
    std::vector<std::string> names(3);
    TestType group;
    group.go({.name = "in braces"}, [&] { names[0] = thrum::this_goroutine::name(); });
    const thrum::attributes how{.name = "kept", .runtime = thrum::runtime::current()};
    group.go(
        how, [&](std::size_t at) { names[at] = thrum::this_goroutine::name(); }, std::size_t{1});
    group.go(thrum::attributes{}, [&] { names[2] = thrum::this_goroutine::name(); });
    group.wait();
    CHECK(names == std::vector<std::string>{"in braces", "kept", ""});
  });
}

IN_RUNTIME("when a task_group's wait returns, what its goroutines kept is destroyed") {
  for (int round = 0; round != 50; ++round) {
    std::atomic<int> alive{0};
    thrum::task_group group(4);
    group.go(slow_to_go(alive));
    group.go([](const slow_to_go&) { thrum::this_goroutine::exit(); }, slow_to_go(alive));
    group.go([](const slow_to_go&) { throw std::runtime_error("told"); }, slow_to_go(alive));
    CHECK_THROWS_AS(group.wait(), std::runtime_error);
    REQUIRE(alive == 0);
  }
}

IN_RUNTIME("the first exception asks the others to stop and leaves wait, once") {
  thrum::task_group group;
  const std::stop_token token = group.stop_token();
  std::atomic<int> stopped{0};
  for (int i = 0; i != 3; ++i) {
    group.go([&, token] {
      thrum::select(thrum::on_done(token, [&] { ++stopped; }));
      throw std::logic_error("a later one");
    });
  }
  REQUIRE(are_waiting(3));
  CHECK_FALSE(token.stop_requested());
  group.go([] { throw std::runtime_error("the first"); });
  std::string text;
  try {
    group.wait();
  } catch (const std::runtime_error& error) {
    text = error.what();
  }
  CHECK(text == "the first");
  CHECK(stopped == 3);
  group.wait();
}

IN_RUNTIME("a task_group may be used again after wait, with a new stop token") {
  thrum::task_group group;
  group.go([] { throw std::runtime_error("once"); });
  CHECK_THROWS_AS(group.wait(), std::runtime_error);
  CHECK_FALSE(group.stop_token().stop_requested());
  int ran = 0;
  group.go([&] { ++ran; });
  group.wait();
  CHECK(ran == 1);
  group.request_stop();
  CHECK(group.stop_token().stop_requested());
}

IN_BUBBLE("a task_group's limit may change while its goroutines run") {
  thrum::task_group group;
  CHECK(group.limit() == 0);
  thrum::chan<void> go_on(0);
  std::atomic<int> running{0};
  const auto work = [&] {
    ++running;
    go_on.recv();
    --running;
  };
  for (int i = 0; i != 3; ++i) {
    group.go(work);
  }
  thrum::testing::wait();
  CHECK(running == 3);
  group.limit(2);
  CHECK(group.limit() == 2);
  CHECK_FALSE(group.try_go(work));
  auto starter = thrum::spawn([&] {
    for (int i = 0; i != 3; ++i) {
      group.go(work);
    }
  });
  go_on.send();
  thrum::testing::wait();
  CHECK(running == 2);
  CHECK_FALSE(starter.done());
  group.limit(4);
  thrum::testing::wait();
  CHECK(running == 4);
  group.limit(0);
  starter.join();
  thrum::testing::wait();
  CHECK(running == 5);
  for (int i = 0; i != 5; ++i) {
    go_on.send();
  }
  group.wait();
}

IN_RUNTIME("a task_group's context is done when one of its goroutines fails") {
  thrum::task_group group;
  const thrum::context first = group.context();
  std::atomic<int> told{0};
  group.go([&, first] {
    first.done().recv();
    ++told;
  });
  CHECK_FALSE(first.cancelled());
  group.go([] { throw std::runtime_error("fails"); });
  CHECK_THROWS_AS(group.wait(), std::runtime_error);
  CHECK(told == 1);
  CHECK(first.cancelled());
  CHECK_FALSE(group.context().cancelled());
  group.request_stop();
  CHECK(group.context().cancelled());
}

IN_BUBBLE("a context that is done asks the task_group below it to stop") {
  const auto above = thrum::context::background().with_value(7).with_timeout(1min);
  thrum::task_group group(above, 2);
  CHECK(group.limit() == 2);
  CHECK(*group.context().value<int>() == 7);
  std::atomic<int> told{0};
  std::error_code why;
  group.go(
      [&, token = group.stop_token()] { thrum::select(thrum::on_done(token, [&] { ++told; })); });
  group.go([&, own = group.context()] {
    own.done().recv();
    why = own.error();
    ++told;
  });
  const auto begin = thrum::testing::now();
  group.wait();
  CHECK(told == 2);
  CHECK(why == thrum::errc::deadline_exceeded);
  CHECK(thrum::testing::now() - begin == 1min);
}

IN_RUNTIME("the destructor of a task_group waits for its goroutines and drops unread exceptions") {
  std::atomic<int> ended{0};
  {
    thrum::task_group group;
    group.go([&] {
      thrum::sleep_for(1ms);
      ++ended;
      throw std::runtime_error("nobody asks");
    });
  }
  CHECK(ended == 1);
}

IN_RUNTIME(
    "a task_group that goes asks those that still run to stop, after an exception and without") {
  std::atomic<int> asked{0};
  const auto until_asked = [&](const std::stop_token& token) {
    while (!token.stop_requested()) {
      thrum::this_goroutine::yield();
    }
    ++asked;
  };
  try {
    thrum::task_group group;
    group.go(until_asked, group.stop_token());
    group.go([&, token = group.stop_token()] {
      thrum::select(thrum::on_done(token, [&] { ++asked; }));
    });
    throw std::runtime_error("before wait");
  } catch (const std::runtime_error&) {
    CHECK(asked == 2);
  }
  {
    thrum::task_group group(1);
    group.go(until_asked, group.stop_token());
  }
  CHECK(asked == 3);
}

IN_RUNTIME("the destructor of a task_group without running goroutines requests no stop") {
  std::stop_token token;
  {
    thrum::task_group group;
    token = group.stop_token();
    group.go([] {});
    group.wait();
  }
  CHECK_FALSE(token.stop_requested());
}

IN_RUNTIME("goroutines of a task_group start others in it") {
  std::atomic<int> ended{0};
  thrum::task_group group;
  group.go([&] {
    group.go([&] {
      group.go([&] { ++ended; });
      ++ended;
    });
    ++ended;
  });
  group.wait();
  CHECK(ended == 3);
}

TEST_CASE(
    "a stop of the runtime unwinds a task_group, waited for or not, with all its goroutines") {
  const bool waits = GENERATE(false, true);
  std::atomic<int> unwound{0};
  std::atomic<bool> went_on{false};
  struct slow_end {
    std::atomic<int>& to;
    ~slow_end() {
      thrum::sleep_for(5ms);
      ++to;
    }
  };
  with_runtime([&] {
    thrum::go([&] {
      thrum::task_group group;
      for (int i = 0; i != 3; ++i) {
        group.go([&] {
          const slow_end scope{unwound};
          thrum::sleep_for(1h);
        });
      }
      if (waits) {
        group.wait();
        went_on = true;
      }
    });
    REQUIRE(are_waiting(4));
  });
  CHECK(unwound == 3);
  CHECK_FALSE(went_on);
}

TEST_CASE("callbacks of a task_group's stop may wait, also while the runtime stops") {
  std::atomic<int> called{0};
  with_runtime([&] {
    thrum::go([&] {
      thrum::task_group group;
      const auto answer = [&] {
        thrum::sleep_for(5ms);
        ++called;
      };
      // Held by the goroutine that asks, as the others may have been unwound by then.
      auto callback =
          std::make_shared<std::stop_callback<decltype(answer)>>(group.stop_token(), answer);
      group.go([&group, own = std::move(callback)] {
        try {
          thrum::sleep_for(1h);
        } catch (const thrum::goroutine_exit&) {
          group.request_stop();
          throw;
        }
      });
      group.wait();
    });
    REQUIRE(are_waiting(2));
  });
  CHECK(called == 1);
}

IN_RUNTIME(
    "a wait for a task_group is stopped, and its goroutines run on until it is waited for again") {
  const thrum::chan<void> go_on(0);
  thrum::task_group group;
  group.go([&] {
    go_on.recv();
    throw std::runtime_error("late");
  });
  CHECK_FALSE(group.wait(thrum::context().with_timeout(1ms)));
  std::stop_source source = support::new_source();
  auto requester = thrum::spawn([&] { source.request_stop(); });
  CHECK_FALSE(group.wait(source.get_token()));
  requester.join();
  CHECK_FALSE(group.stop_token().stop_requested());
  go_on.close();
  CHECK_THROWS_WITH(static_cast<void>(group.wait(thrum::context().with_timeout(1h))), "late");
  CHECK(group.wait(source.get_token()));
}
