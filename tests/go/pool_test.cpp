// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Go's tests of sync.Pool, re-created from their descriptions. A nil New is here a function that
// makes an empty value; a collection of garbage is a turn, by the clock of a bubble.

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/scale.hpp"
#include "support/with_runtime.hpp"

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

using namespace std::chrono_literals;
using support::scaled;
using support::with_procs;
using support::with_runtime;

namespace {

using maybe_string = std::optional<std::string>;

}  // namespace

TEST_CASE("Pool: empty at first; what is put comes back, the last one first; two turns empty it") {
  thrum::testing::bubble([] {
    thrum::pool q([] { return maybe_string(); }, 1s);
    const auto take_of = [](auto& of) {
      auto one = of.get();
      const maybe_string value = *one;
      one.discard();
      return value;
    };
    CHECK_FALSE(take_of(q).has_value());
    q.put("a");
    q.put("b");
    CHECK(take_of(q) == "b");
    CHECK(take_of(q) == "a");
    CHECK_FALSE(take_of(q).has_value());
    for (int i = 0; i != 100; ++i) {
      q.put("c");
    }
    thrum::sleep_for(1s);
    q.put("d");  // the first turn: all of them have become old
    CHECK(take_of(q) == "d");
    CHECK(take_of(q) == "c");
    q.put("e");
    thrum::sleep_for(1s);
    q.put("f");  // the second: what was old is gone
    CHECK(take_of(q) == "f");
    CHECK(take_of(q) == "e");
    CHECK_FALSE(take_of(q).has_value());
  });
}

TEST_CASE("Pool: New makes what is not there") {
  int i = 0;
  thrum::pool p([&] { return ++i; });
  auto first = p.get();
  auto second = p.get();
  CHECK(*first == 1);
  CHECK(*second == 2);
  p.put(42);
  auto third = p.get();
  CHECK(*third == 42);
  auto fourth = p.get();
  CHECK(*fourth == 3);
}

TEST_CASE("Pool: many put and get at once, and get nothing but what was put") {
  with_runtime(with_procs(4), [] {
    const int n = scaled(20'000, 500);
    thrum::pool<int> p;
    std::atomic<int> wrong{0};
    thrum::wait_group group;
    for (int i = 0; i != 10; ++i) {
      group.go([&] {
        const int value = 0;
        for (int j = 0; j != n; ++j) {
          p.put(value);
          auto one = p.get();
          wrong += *one == 0 ? 0 : 1;
          one.discard();
        }
      });
    }
    group.wait();
    CHECK(wrong == 0);
  });
}
