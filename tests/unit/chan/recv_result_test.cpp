// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a receive returns by value: as a std::optional, but for the dereference of nothing.

#include <thrum/chan/recv_result.hpp>

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/error_of.hpp"
#include "support/with_runtime.hpp"

#include <any>
#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using support::with_runtime;

namespace {

template <class T>
using received = decltype(thrum::chan<T>().recv());

// An optional that is made of what was received is empty if that is, whatever T can be made of.
static_assert(std::is_same_v<received<int>, thrum::recv_result<int>>);
static_assert(std::is_same_v<received<std::optional<int>>, thrum::recv_result<std::optional<int>>>);
static_assert(std::is_same_v<received<bool>, std::optional<bool>>);
static_assert(std::is_same_v<received<std::any>, std::optional<std::any>>);

static_assert(sizeof(thrum::recv_result<int>) == sizeof(std::optional<int>));
static_assert(std::is_trivially_copyable_v<thrum::recv_result<int>>);
static_assert(std::is_nothrow_move_constructible_v<thrum::recv_result<std::string>>);

template <class T>
T deduces(std::optional<T> of) {
  return of.value();
}

template <class T>
thrum::chan<T> ends_after(T value) {
  thrum::chan<T> c(1);
  c.send(std::move(value));
  c.close();
  return c;
}

struct incomparable {
  int value;
};

}  // namespace

TEST_CASE("the dereference of a receive that got nothing is a usage_error that says what to test") {
  with_runtime([] {
    thrum::chan<std::string> c(1);
    CHECK_THROWS_AS(*c.try_recv(), thrum::usage_error);
    CHECK_THROWS_AS(*c.recv_for(1ns), thrum::usage_error);
    CHECK_THROWS_AS(*c.recv_until(thrum::time_point()), thrum::usage_error);
    std::stop_source stopped;
    stopped.request_stop();
    CHECK_THROWS_AS(*c.recv(stopped.get_token()), thrum::usage_error);
    c.close();
    CHECK_THROWS_AS(*c.recv(), thrum::usage_error);
    CHECK_THROWS_AS(c.recv()->size(), thrum::usage_error);
    const auto constant = c.recv();
    CHECK_THROWS_AS(*constant, thrum::usage_error);
    CHECK_THROWS_AS(constant->size(), thrum::usage_error);
    auto variable = c.recv();
    CHECK_THROWS_AS(variable->size(), thrum::usage_error);
    CHECK_THROWS_AS(variable.value(), std::bad_optional_access);
    CHECK_THROWS_AS(*thrum::make_chan<int>(1).receiver().try_recv(), thrum::usage_error);
  });
}

TEST_CASE("the error of a receive that got nothing names the channel by the type of its elements") {
  with_runtime([] {
    thrum::chan<int> numbers(1);
    numbers.close();
    CHECK_THROWS_WITH(
        *numbers.recv(),
        "chan<int>::recv: `*` or `->` of a receive that got no element: the channel is "
        "closed, or nothing came in time; test the result first, as in `if (auto v = "
        "c.recv())`");
    thrum::chan<std::vector<incomparable*>> lists(1);
    std::string text;
    try {
      (void)*lists.try_recv();
    } catch (const thrum::usage_error& error) {
      text = error.what();
    }
    INFO(text);
    CHECK(text.starts_with("chan<std::"));
    CHECK(text.find("incomparable") < text.find("::recv: `*`"));
  });
}

TEST_CASE("what was received is used as a std::optional is, and becomes one") {
  with_runtime([] {
    CHECK(*ends_after(5).recv() == 5);
    CHECK(ends_after(std::string("five")).recv()->size() == 4);
    CHECK(deduces(ends_after(5).recv()) == 5);
    CHECK(ends_after(5).recv().value_or(6) == 5);

    const thrum::chan<int> c = ends_after(5);
    std::optional<int> copied = c.recv();
    CHECK(copied == 5);
    copied = c.recv();
    CHECK(!copied);
    std::optional<long> wider = c.recv();
    CHECK(!wider);
    const auto chosen = copied ? c.recv() : std::nullopt;
    CHECK(chosen == std::nullopt);
    const auto either = copied ? std::optional<int>(1) : c.recv();
    CHECK(!either.has_value());
    std::vector<std::optional<int>> all{c.recv(), ends_after(7).recv()};
    all.push_back(c.recv());
    CHECK(all[1] == 7);

    auto again = c.recv();
    again = c.try_recv();
    again = 8;
    CHECK(again == 8);
    again = std::optional<int>(9);
    CHECK(*again == 9);
    again = std::nullopt;
    CHECK(again == std::nullopt);
    again.emplace(10);
    std::swap(again, *std::make_unique<thrum::recv_result<int>>(std::in_place, 11));
    CHECK(again.value() == 11);
    again = {};
    CHECK(!again);

    std::unique_ptr<int> owner = *ends_after(std::make_unique<int>(12)).recv();
    CHECK(*owner == 12);
    CHECK(ends_after(incomparable{13}).recv()->value == 13);
  });
}

TEST_CASE("receives that got nothing are equal, to each other and to an empty optional") {
  with_runtime([] {
    const thrum::chan<int> closed = ends_after(1);
    closed.recv();
    CHECK(closed.recv() == closed.recv());
    CHECK(closed.recv() == std::optional<int>());
    CHECK(std::optional<int>() == closed.recv());
    CHECK_FALSE(closed.recv() != closed.recv());
    CHECK(closed.recv() < 1);
    CHECK(ends_after(2).recv() == ends_after(2).recv());
    CHECK(ends_after(2).recv() != 3);
  });
}
