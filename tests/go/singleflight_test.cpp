// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The tests of golang.org/x/sync/singleflight, re-created from their descriptions. Where they differ:
// there is no DoChan, whose callers spawn a goroutine that calls do_; an error and a panic are both
// exceptions; and where the function's goroutine exits, those that wait run their own and do not
// exit with it.

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/with_runtime.hpp"

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>

using namespace std::chrono_literals;
using support::with_runtime;
using thrum::testing::bubble;

TEST_CASE("singleflight: Do returns what its function returns") {
  with_runtime([] {
    thrum::singleflight<std::string, std::string> flights;
    const auto got = flights.do_("key", [] { return std::string("bar"); });
    CHECK(got.value == "bar");
    CHECK_FALSE(got.shared);
  });
}

TEST_CASE("singleflight: the error of a call is its caller's, and the next call is a new one") {
  with_runtime([] {
    thrum::singleflight<std::string, int> flights;
    CHECK_THROWS_AS(flights.do_("key", []() -> int { throw std::out_of_range("error"); }),
                    std::out_of_range);
    CHECK(flights.do_("key", [] { return 1; }).value == 1);
  });
}

TEST_CASE("singleflight: ten calls at the same time make one") {
  bubble([] {
    thrum::singleflight<std::string, std::string> flights;
    std::atomic<int> calls{0};
    std::atomic<int> right{0};
    thrum::wait_group group;
    for (int i = 0; i != 10; ++i) {
      group.go([&] {
        const auto got = flights.do_("key", [&] {
          ++calls;
          thrum::sleep_for(1s);
          return std::string("bar");
        });
        right += got.value == "bar" && got.shared ? 1 : 0;
      });
    }
    group.wait();
    CHECK(calls == 1);
    CHECK(right == 10);
  });
}

TEST_CASE("singleflight: a panic in the call reaches all that share it") {
  bubble([] {
    thrum::singleflight<std::string, int> flights;
    std::atomic<int> calls{0};
    std::atomic<int> caught{0};
    thrum::wait_group group;
    for (int i = 0; i != 5; ++i) {
      group.go([&] {
        try {
          flights.do_("key", [&]() -> int {
            ++calls;
            thrum::sleep_for(1s);
            throw std::runtime_error("panics");
          });
        } catch (const std::runtime_error&) {
          ++caught;
        }
      });
    }
    group.wait();
    CHECK(calls == 1);
    CHECK(caught == 5);
  });
}

TEST_CASE("singleflight: Forget: a call after it is a new one, which later calls share") {
  bubble([] {
    thrum::singleflight<std::string, int> flights;
    const thrum::chan<void> first_may_end(0);
    auto first = thrum::spawn([&] {
      return flights.do_("key", [&] {
        first_may_end.recv();
        return 1;
      });
    });
    thrum::testing::wait();
    flights.forget("key");
    const thrum::chan<void> second_may_end(0);
    auto second = thrum::spawn([&] {
      return flights.do_("key", [&] {
        second_may_end.recv();
        return 2;
      });
    });
    thrum::testing::wait();
    first_may_end.send();
    CHECK(first.join().value == 1);
    auto third = thrum::spawn([&] { return flights.do_("key", [] { return 3; }); });
    thrum::testing::wait();
    second_may_end.send();
    CHECK(second.join().value == 2);
    CHECK(third.join().value == 2);
  });
}

TEST_CASE("singleflight: DoChan: a result that comes through a channel, or too late") {
  bubble([] {
    thrum::singleflight<std::string, std::string> flights;
    const thrum::chan<std::string> results(1);
    thrum::go([&flights, results] {
      results.send(flights
                       .do_("key",
                            [] {
                              thrum::sleep_for(1h);
                              return std::string("bar");
                            })
                       .value);
    });
    std::string got;
    CHECK(results.recv_for(got, 1min) == thrum::recv_status::timeout);
    CHECK(results.recv() == "bar");
  });
}

TEST_CASE("singleflight: DoChan: a panic reaches those that wait by it and those that call Do") {
  bubble([] {
    thrum::singleflight<std::string, int> flights;
    const auto panics = [&] {
      return flights.do_("key", []() -> int {
        thrum::sleep_for(1s);
        throw std::runtime_error("panics");
      });
    };
    auto spawned = thrum::spawn(panics);
    thrum::testing::wait();
    CHECK_THROWS_AS(panics(), std::runtime_error);
    CHECK_THROWS_AS(spawned.join(), std::runtime_error);
  });
}

TEST_CASE("singleflight: Goexit: if the function's goroutine exits, the next runs its own") {
  bubble([] {
    thrum::singleflight<std::string, int> flights;
    std::atomic<int> exits{0};
    thrum::wait_group group;
    for (int i = 0; i != 5; ++i) {
      group.go([&] {
        flights.do_("key", [&]() -> int {
          thrum::sleep_for(1s);
          ++exits;
          thrum::this_goroutine::exit();
        });
      });
    }
    group.wait();
    CHECK(exits == 5);
    CHECK(flights.do_("key", [] { return 1; }).value == 1);
  });
}
