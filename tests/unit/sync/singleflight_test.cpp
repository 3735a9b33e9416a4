// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// With the tests of golang.org/x/sync/singleflight, re-created from their descriptions. They differ:
// there is no DoChan, whose callers spawn a goroutine that calls do_; an error and a panic are both
// exceptions; and where the function's goroutine exits, those that wait run their own and do not exit
// with it.

#include <thrum/sync/singleflight.hpp>

#include <thrum/testing/bubble.hpp>

#include "support/test.hpp"
#include "support/waits.hpp"

namespace {

using flights_by_name = thrum::singleflight<std::string, int>;

/// Spawns a call for "key", whose function returns `value` once it may go on.
thrum::join_handle<flights_by_name::result> ask(flights_by_name& flights,
                                                const thrum::chan<void>& go_on, int value) {
  return thrum::spawn([&flights, &go_on, value] {
    return flights.do_("key", [&] {
      go_on.recv();
      return value;
    });
  });
}

bool so_many_wait_for_a_flight(unsigned n) {
  return eventually([n] { return thrum::stats().waiting == n; });
}

}  // namespace

TEST_CASE("a call of a singleflight that is alone returns, or throws, what its function does") {
  flights_by_name flights;
  const auto result = flights.do_("a", [] { return 5; });
  CHECK(result.value == 5);
  CHECK_FALSE(result.shared);
  CHECK_THROWS_AS(flights.do_("a", []() -> int { throw std::out_of_range("error"); }),
                  std::out_of_range);
  CHECK(flights.do_("a", [] { return 1; }).value == 1);
}

IN_RUNTIME("calls for one key at the same time run one function and share its value") {
  flights_by_name flights;
  thrum::chan<void> go_on(0);
  std::atomic<int> calls{0};
  std::vector<thrum::join_handle<flights_by_name::result>> all;
  for (unsigned i = 0; i != 5; ++i) {
    all.push_back(thrum::spawn([&] {
      return flights.do_("key", [&] {
        go_on.recv();
        return ++calls;
      });
    }));
  }
  REQUIRE(so_many_wait_for_a_flight(5));
  go_on.send();
  for (auto& one : all) {
    const auto result = one.join();
    CHECK(result.value == 1);
    CHECK(result.shared);
  }
  CHECK(flights.do_("key", [&] { return ++calls; }).value == 2);
}

IN_RUNTIME("calls for different keys do not wait for each other") {
  flights_by_name flights;
  thrum::chan<void> go_on(0);
  auto first = ask(flights, go_on, 1);
  REQUIRE(so_many_wait_for_a_flight(1));
  const auto second = flights.do_("b", [] { return 2; });
  CHECK(second.value == 2);
  CHECK_FALSE(second.shared);
  go_on.send();
  CHECK_FALSE(first.join().shared);
}

IN_RUNTIME("an exception of a shared call is thrown to all that wait for it, and not kept") {
  flights_by_name flights;
  thrum::chan<void> go_on(0);
  std::atomic<int> thrown{0};
  thrum::wait_group group;
  for (int i = 0; i != 4; ++i) {
    group.go([&] {
      try {
        flights.do_("key", [&]() -> int {
          go_on.recv();
          throw std::runtime_error("no answer");
        });
      } catch (const std::runtime_error& error) {
        thrown += std::string("no answer") == error.what() ? 1 : 0;
      }
    });
  }
  REQUIRE(so_many_wait_for_a_flight(4));
  go_on.send();
  group.wait();
  CHECK(thrown == 4);
  CHECK(flights.do_("key", [] { return 3; }).value == 3);
}

IN_RUNTIME("after forget the next call runs its own function, and the old one keeps its waiters") {
  flights_by_name flights;
  thrum::chan<void> go_on(0);
  auto first = ask(flights, go_on, 1);
  REQUIRE(so_many_wait_for_a_flight(1));
  auto joined = ask(flights, go_on, 2);
  REQUIRE(so_many_wait_for_a_flight(2));
  flights.forget("key");
  flights.forget("no such key");
  auto second = ask(flights, go_on, 3);
  REQUIRE(so_many_wait_for_a_flight(3));
  go_on.send();
  CHECK(first.join().value == 1);
  CHECK(joined.join().value == 1);
  auto third = ask(flights, go_on, 4);  // the end of the first has not taken the second out
  REQUIRE(so_many_wait_for_a_flight(2));
  go_on.send();
  CHECK(second.join().value == 3);
  CHECK(third.join().value == 3);
}

IN_BUBBLE("if the goroutine that runs a shared call ends, one of those that wait runs its own") {
  flights_by_name flights;
  thrum::chan<void> go_on(0);
  std::atomic<int> calls{0};
  thrum::go([&] {
    flights.do_("key", [&]() -> int {
      go_on.recv();
      thrum::this_goroutine::exit();
    });
  });
  thrum::testing::wait();
  std::vector<thrum::join_handle<flights_by_name::result>> others;
  for (unsigned i = 0; i != 3; ++i) {
    others.push_back(thrum::spawn([&] {
      return flights.do_("key", [&] {
        go_on.recv();
        return ++calls;
      });
    }));
  }
  thrum::testing::wait();
  go_on.send();
  thrum::testing::wait();
  go_on.send();
  for (auto& other : others) {
    CHECK(other.join().value == 1);
  }
  CHECK(calls == 1);
}

TEST_CASE("a stop of the runtime ends a wait for a shared call that another runtime makes") {
  flights_by_name flights;
  with_runtime([&] {
    thrum::chan<void> go_on(0);
    auto flying = ask(flights, go_on, 1);
    REQUIRE(so_many_wait_for_a_flight(1));
    std::atomic<bool> own_ran{false};
    const bool unwound = thrum::blocking([&] {
      return support::is_unwound_at_stop([&] {
        flights.do_("key", [&] {
          own_ran = true;
          return 2;
        });
      });
    });
    CHECK(unwound);
    CHECK_FALSE(own_ran);
    go_on.send();
    CHECK(flying.join().value == 1);
  });
}

IN_RUNTIME("goroutines and foreign threads share calls", with_procs(4)) {
  thrum::singleflight<int, std::shared_ptr<const int>> flights;
  std::atomic<int> inside[3] = {};
  std::atomic<int> together{0};
  support::on_goroutines_and_threads(4, [&] {
    for (int i = 0; i != scaled(200); ++i) {
      const int key = i % 3;
      const auto result = flights.do_(key, [&] {
        together += ++inside[key] > 1 ? 1 : 0;
        thrum::this_goroutine::yield();
        --inside[key];
        return std::make_shared<const int>(key);
      });
      together += *result.value != key ? 1 : 0;
    }
  });
  CHECK(together == 0);
}

IN_RUNTIME("a stop ends a wait for a shared call, and the others get its value") {
  flights_by_name flights;
  thrum::chan<void> go_on(0);
  auto flier = ask(flights, go_on, 1);
  REQUIRE(so_many_wait_for_a_flight(1));
  std::stop_source stop;
  auto stopped = thrum::spawn([&] {
    return flights
        .do_(
            "key", [] { return 2; }, stop.get_token())
        .has_value();
  });
  auto waits_on = thrum::spawn([&] { return flights.do_("key", [] { return 3; }); });
  REQUIRE(so_many_wait_for_a_flight(3));
  stop.request_stop();
  CHECK_FALSE(stopped.join());
  go_on.send();
  CHECK(flier.join().value == 1);
  CHECK(waits_on.join().value == 1);
  const auto own = flights.do_(
      "key", [] { return 4; }, stop.get_token());
  REQUIRE(own);
  CHECK(own->value == 4);  // which it need not wait for
}

IN_BUBBLE("singleflight: Goexit: if the function's goroutine exits, the next runs its own") {
  flights_by_name flights;
  std::atomic<int> exits{0};
  in_goroutines(5, [&](int) {
    flights.do_("key", [&]() -> int {
      thrum::sleep_for(1s);
      ++exits;
      thrum::this_goroutine::exit();
    });
  });
  CHECK(exits == 5);
  CHECK(flights.do_("key", [] { return 1; }).value == 1);
}
