// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a thread outside of every runtime may start, if it says where.

#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/with_runtime.hpp"

#include <thrum.hpp>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>

using namespace std::chrono_literals;

TEST_CASE("a foreign thread starts a goroutine on the runtime that it names") {
  thrum::runtime where;
  thrum::chan<thrum::runtime*> seen(1);
  thrum::go(
      where, [seen](int) { seen.send(thrum::runtime::current()); }, 7);
  CHECK(seen.recv() == &where);
}

TEST_CASE("a foreign thread gets the result of what it has spawned on the runtime that it names") {
  thrum::runtime where;
  CHECK(thrum::spawn(
            where, [](int n) { return n + 1; }, 6)
            .join() == 7);
}

TEST_CASE("attributes in any form name a goroutine that a runtime is told to start") {
  thrum::runtime where;
  thrum::chan<std::string> seen(1);
  const auto tell = [seen](const std::string& more) {
    seen.send(std::string(thrum::this_goroutine::name()) + more);
  };
  where.go(thrum::attributes{.name = "temporary"}, tell, "!");
  CHECK(seen.recv() == "temporary!");
  thrum::attributes own{.name = "modifiable"};
  where.go(own, tell, "!");
  CHECK(seen.recv() == "modifiable!");
  where.go(std::as_const(own), tell, "?");
  CHECK(seen.recv() == "modifiable?");
  where.go({.name = "braces"}, tell, "!");
  CHECK(seen.recv() == "braces!");
  thrum::go(where, thrum::attributes{.name = "elsewhere"}, tell, "!");
  CHECK(seen.recv() == "elsewhere!");
  thrum::go(where, {.name = "elsewhere"}, tell, "?");
  CHECK(seen.recv() == "elsewhere?");
}

TEST_CASE("attributes in any form name a goroutine that a runtime is told to spawn") {
  thrum::runtime where;
  const auto name = [](const std::string& more) {
    return std::string(thrum::this_goroutine::name()) + more;
  };
  CHECK(where.spawn(thrum::attributes{.name = "temporary"}, name, "!").join() == "temporary!");
  thrum::attributes own{.name = "modifiable"};
  CHECK(where.spawn(own, name, "!").join() == "modifiable!");
  CHECK(where.spawn({.name = "braces"}, name, "!").join() == "braces!");
  CHECK(thrum::spawn(where, own, name, "!").join() == "modifiable!");
  CHECK(thrum::spawn(where, {.name = "elsewhere"}, name, "!").join() == "elsewhere!");
}

TEST_CASE("a wait_group counts goroutines that a foreign thread starts on a named runtime") {
  thrum::runtime where;
  thrum::wait_group group;
  std::atomic<int> ran{0};
  for (int i = 0; i != 10; ++i) {
    group.go(
        where, [&](int n) { ran += n; }, 2);
  }
  group.wait();
  CHECK(ran == 20);
}

TEST_CASE("a wait_group whose goroutine a stopped runtime refuses has nothing to wait for") {
  thrum::runtime where;
  where.stop();
  thrum::wait_group group;
  CHECK(support::is_usage_error("runtime::go", [&] { group.go(where, [] {}); }));
  group.wait();
}

TEST_CASE("a task_group passes the exception of a goroutine on a named runtime to its thread") {
  thrum::runtime where;
  thrum::task_group group(2);
  group.go(where, [] { throw std::runtime_error("failed there"); });
  CHECK_THROWS_AS(group.wait(), std::runtime_error);
}

TEST_CASE("a function is called later on the runtime that a foreign thread names") {
  thrum::runtime where;
  thrum::chan<thrum::runtime*> seen(1);
  const thrum::timer timer =
      thrum::after_func(where, 1ms, [seen] { seen.send(thrum::runtime::current()); });
  CHECK(seen.recv() == &where);
  CHECK_FALSE(timer.stop());
}

TEST_CASE("a function for a runtime that is stopped is refused") {
  thrum::runtime where;
  where.stop();
  CHECK(support::is_usage_error("timer::reset",
                                [&] { static_cast<void>(thrum::after_func(where, 1ms, [] {})); }));
}
