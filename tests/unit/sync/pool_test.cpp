// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// With Go's tests of sync.Pool, re-created from their descriptions. A nil New is here a function that makes
// an empty value; a collection of garbage is a turn, by the clock of a bubble.

#include <thrum/sync/pool.hpp>

#include <thrum/testing/bubble.hpp>

#include "support/test.hpp"
#include "support/waits.hpp"

namespace {

/// Counts how many there are.
struct counted_value {
  explicit counted_value(std::atomic<int>& of) : alive(&of) { ++*alive; }
  counted_value(counted_value&& other) noexcept : alive(other.alive) { ++*alive; }
  counted_value(const counted_value&) = delete;
  counted_value& operator=(const counted_value&) = delete;
  counted_value& operator=(counted_value&&) = delete;
  ~counted_value() { --*alive; }
  std::atomic<int>* alive;
};

}  // namespace

TEST_CASE("what was put back is given to the next that asks, as it was left") {
  thrum::pool<std::string> strings;
  {
    auto first = strings.get();
    CHECK(first->empty());
    *first = "left behind";
    CHECK(strings.get()->empty());  // the first is in use
  }
  CHECK(*strings.get() == "left behind");
  strings.put("one more");
  auto a = strings.get();
  auto b = strings.get();
  CHECK(*a == "one more");
  CHECK(*b == "left behind");
}

TEST_CASE("values are made by the function, and what it throws leaves get") {
  int made = 0;
  thrum::pool numbers([&] {
    if (made == 1) {
      throw std::runtime_error("no more");
    }
    return ++made;
  });
  static_assert(std::is_same_v<decltype(numbers.get().operator*()), int&>);
  auto first = numbers.get();
  CHECK(*first == 1);
  CHECK_THROWS_AS(numbers.get(), std::runtime_error);
  first.put_back();
  CHECK_FALSE(first);
  CHECK(*numbers.get() == 1);
}

TEST_CASE("a value may be discarded, and handles may be moved") {
  std::atomic<int> alive{0};
  {
    thrum::pool values([&] { return std::make_unique<counted_value>(alive); });
    auto first = values.get();
    auto second = std::move(first);
    CHECK_FALSE(first);  // NOLINT(bugprone-use-after-move)
    second.discard();
    CHECK(alive == 0);
    first = values.get();
    first = values.get();  // the one before goes back
    CHECK(alive == 2);
    first.put_back();
    CHECK(alive == 2);
  }
  CHECK(alive == 0);
}

IN_BUBBLE("unused values of a pool are destroyed as time passes, and those in use stay") {
  std::atomic<int> alive{0};
  thrum::pool values([&] { return std::make_unique<counted_value>(alive); }, 1s);
  {
    std::vector<decltype(values)::handle> all;
    for (int i = 0; i != 10; ++i) {
      all.push_back(values.get());
    }
  }
  CHECK(alive == 10);
  for (int turn = 0; turn != 4; ++turn) {
    thrum::sleep_for(999ms);
    values.get().put_back();
    CHECK(alive == (turn < 2 ? 10 : 1));
    thrum::sleep_for(1ms);
    values.get().put_back();
    CHECK(alive == (turn < 1 ? 10 : 1));
  }
}

TEST_CASE("values that a bubble has put back go outside of it, too") {
  std::atomic<int> alive{0};
  thrum::pool values([&] { return std::make_unique<counted_value>(alive); }, 1ms);
  thrum::testing::bubble([&] {
    thrum::sleep_for(100h);
    std::vector<decltype(values.get())> taken;
    for (int i = 0; i != 10; ++i) {
      taken.push_back(values.get());
    }
  });
  CHECK(alive == 10);
  CHECK(support::eventually([&] {
    static_cast<void>(values.get());  // the one that comes back makes the turn
    return alive == 1;
  }));
}

TEST_CASE("values may be kept for longer than can be counted") {
  std::atomic<int> alive{0};
  thrum::pool values([&] { return std::make_unique<counted_value>(alive); },
                     std::chrono::hours::max());
  values.get().put_back();
  values.get().put_back();
  CHECK(alive == 1);
}

IN_RUNTIME("what one processor has put back another one gets", with_procs(4)) {
  thrum::pool<std::string> strings;
  strings.put("x");
  std::string found;
  thrum::blocking([&] { found = *strings.get(); });  // counts as a thread
  CHECK(found == "x");
  auto handle = thrum::spawn([&] { return *strings.get(); });
  CHECK(handle.join() == "x");
}

IN_RUNTIME("goroutines and foreign threads share a pool, and no value is in two hands") {
  std::atomic<int> alive{0};
  {
    struct used {
      explicit used(std::atomic<int>& of) : count(of) {}
      counted_value count;
      std::atomic<bool> taken{false};
    };
    thrum::pool values([&] { return std::make_unique<used>(alive); }, 0s);
    std::atomic<int> twice{0};
    support::on_goroutines_and_threads(4, [&] {
      for (int i = 0; i != scaled(2'000, 200); ++i) {
        auto held = values.get();
        twice += (*held)->taken.exchange(true) ? 1 : 0;
        if (i % 16 == 0) {
          thrum::this_goroutine::yield();
        }
        (*held)->taken = false;
      }
    });
    CHECK(twice == 0);
  }
  CHECK(alive == 0);
}

IN_BUBBLE("Pool: empty at first; what is put comes back, the last one first; two turns empty it") {
  thrum::pool q([] { return std::optional<std::string>(); }, 1s);
  const auto take_of = [](auto& of) {
    auto one = of.get();
    const std::optional<std::string> value = *one;
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
}

IN_RUNTIME("Pool: many put and get at once, and get nothing but what was put", with_procs(4)) {
  const int n = scaled(20'000, 500);
  thrum::pool<int> p;
  std::atomic<int> wrong{0};
  in_goroutines(10, [&](int) {
    const int value = 0;
    for (int j = 0; j != n; ++j) {
      p.put(value);
      auto one = p.get();
      wrong += *one == 0 ? 0 : 1;
      one.discard();
    }
  });
  CHECK(wrong == 0);
}
