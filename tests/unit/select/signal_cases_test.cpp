// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// on_join: a select that ends when a goroutine does. For on_done see done_test.cpp.

#include <thrum/select.hpp>

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/scale.hpp"
#include "support/with_runtime.hpp"

#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using support::eventually;
using support::scaled;
using support::with_runtime;
using thrum::on_join;
using thrum::on_recv;
using thrum::on_timeout;
using thrum::otherwise;

TEST_CASE("a goroutine that has ended makes its case ready, and is still to be joined") {
  with_runtime([] {
    auto ended = thrum::spawn([] { return 7; });
    REQUIRE(eventually([&] { return ended.done(); }));
    const thrum::chan<int> c(0);
    int calls = 0;
    CHECK(thrum::select(on_recv(c), on_join(ended, [&] { ++calls; })) == 1);
    CHECK(thrum::select(on_join(ended, [&] { ++calls; }), otherwise()) == 0);
    CHECK(thrum::select(on_recv(c), on_timeout(1h), on_join(ended)) == 2);
    CHECK(calls == 2);
    CHECK(ended.join() == 7);
  });
}

TEST_CASE("a select waits for the end of a goroutine, and for that of the first of several") {
  with_runtime([] {
    const thrum::chan<void> go_on(0);
    const thrum::chan<void> never(0);
    auto first = thrum::spawn([&] {
      go_on.recv();
      return 1;
    });
    auto second = thrum::spawn([&] {
      never.recv();
      return 2;
    });
    CHECK(thrum::select(on_join(first), on_join(second), otherwise()) == 2);
    CHECK(thrum::select(on_join(first), on_join(second), on_timeout(1ms)) == 2);
    thrum::go([&] { go_on.send(); });
    int result = 0;
    CHECK(thrum::select(on_join(second), on_join(first, [&] { result = first.join(); })) == 1);
    CHECK(result == 1);
    CHECK_FALSE(first.joinable());
    never.close();
    CHECK(thrum::select(on_join(second), on_join(first)) == 0);
    CHECK(second.join() == 2);
  });
}

TEST_CASE("the case of an empty handle is never ready") {
  with_runtime([] {
    const thrum::join_handle<int> empty;
    CHECK(thrum::select(on_join(empty), otherwise()) == 1);
    CHECK(thrum::select(on_join(empty), on_timeout(1ms)) == 1);
  });
}

TEST_CASE("what left the goroutine is thrown by join, not by select") {
  with_runtime([] {
    auto failing = thrum::spawn([]() -> int { throw std::runtime_error("failed"); });
    CHECK(thrum::select(on_join(failing)) == 0);
    CHECK_THROWS_AS(failing.join(), std::runtime_error);
  });
}

TEST_CASE("two cases may have the same handle") {
  with_runtime([] {
    const thrum::chan<void> go_on(0);
    auto handle = thrum::spawn([&] { go_on.recv(); });
    CHECK(thrum::select(on_join(handle), on_join(handle), on_timeout(1ms)) == 2);
    thrum::go([&] { go_on.send(); });
    CHECK(thrum::select(on_join(handle), on_join(handle), on_join(handle)) < 3);
    handle.join();
  });
}

TEST_CASE("a foreign thread selects on the end of a goroutine") {
  thrum::runtime runtime(support::environment_options());
  const thrum::chan<void> go_on(0);
  auto handle = runtime.spawn([&] {
    go_on.recv();
    return 3;
  });
  CHECK(thrum::select(on_join(handle), on_timeout(1ms)) == 1);
  std::thread sender([&] { go_on.send(); });
  CHECK(thrum::select(on_join(handle), on_timeout(1h)) == 0);
  CHECK(handle.join() == 3);
  sender.join();
}

TEST_CASE("kept cases for the ends of many goroutines are chosen one after the other") {
  with_runtime([] {
    constexpr std::size_t n = 20;
    std::vector<thrum::join_handle<std::size_t>> handles;
    std::vector<thrum::select_case> cases;
    for (std::size_t i = 0; i != n; ++i) {
      handles.push_back(thrum::spawn([i] { return i; }));
    }
    std::size_t sum = 0;
    for (std::size_t left = n; left != 0; --left) {
      cases.clear();
      for (const auto& handle : handles) {
        cases.emplace_back(on_join(handle));
      }
      sum += handles[thrum::select(cases)].join();
    }
    CHECK(sum == n * (n - 1) / 2);
  });
}

TEST_CASE("an end that comes while select begins or gives up does not touch what is gone") {
  with_runtime([] {
    const int rounds = scaled(3'000, 300);
    int ended = 0;
    for (int i = 0; i != rounds; ++i) {
      auto handle = thrum::spawn([i] {
        for (int k = 0; k != i % 5; ++k) {
          thrum::this_goroutine::yield();
        }
      });
      const std::size_t chosen =
          i % 2 == 0 ? thrum::select(on_join(handle), otherwise())
                     : thrum::select(on_join(handle), on_timeout(std::chrono::microseconds(i % 7)));
      ended += chosen == 0 ? 1 : 0;
      CHECK((chosen != 0 || handle.done()));
      handle.join();
      CHECK_FALSE(handle.joinable());
    }
    CHECK(ended <= rounds);
  });
}
