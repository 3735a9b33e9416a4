// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What on_recv calls its handler with.

#include <thrum/select/cases.hpp>

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/with_runtime.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

using support::with_runtime;
using thrum::on_recv;
using thrum::select_detail::handler_takes;
using thrum::select_detail::what_handler_takes;

namespace {

struct greeting {
  std::string text;
  void shout() { text += "!"; }
};

/// A channel with one element, closed.
template <class T>
thrum::chan<T> last_of(T value) {
  thrum::chan<T> c(1);
  c.send(std::move(value));
  c.close();
  return c;
}

template <class T, class F>
constexpr handler_takes of(const F& /*handler*/) {
  return what_handler_takes<F, T>();
}

void takes_int(int /*value*/) {}

struct takes_either {
  void operator()(int /*value*/) const {}
  void operator()(std::optional<int> /*value*/) const {}
};

// Which form a handler has does not depend on what its body makes of another.
static_assert(of<int>(takes_int) == handler_takes::element);
static_assert(of<int>([](bool) {}) == handler_takes::element);
static_assert(of<bool>([](bool) {}) == handler_takes::element);
static_assert(of<int>([](auto v) { return v + 1; }) == handler_takes::element);
static_assert(of<int>([](auto... v) { return (v + ...); }) == handler_takes::element);
static_assert(of<int>(takes_either()) == handler_takes::optional);
static_assert(of<int>([](std::optional<int>) {}) == handler_takes::optional);
static_assert(of<int>([]<class U>(std::optional<U>) {}) == handler_takes::optional);
static_assert(of<std::optional<int>>([](std::optional<int>) {}) == handler_takes::element);
static_assert(of<int>([](auto v, bool) { return v + 1; }) == handler_takes::element_and_ok);
static_assert(of<int>([](int&&, bool) {}) == handler_takes::element_and_ok);
static_assert(of<int>([] {}) == handler_takes::nothing);

}  // namespace

TEST_CASE("a handler of one element is called with what was received, and not when the end is") {
  with_runtime([] {
    const thrum::chan<int> c = last_of(5);
    int sum = 0;
    int calls = 0;
    const auto add = [&](int v) {
      sum += v;
      ++calls;
    };
    CHECK(thrum::select(on_recv(c, add), thrum::on_timeout(std::chrono::hours(1))) == 0);
    CHECK(thrum::select(on_recv(c, add), thrum::on_timeout(std::chrono::hours(1))) == 0);
    CHECK(sum == 5);
    CHECK(calls == 1);
    CHECK(c.is_closed());
  });
}

TEST_CASE("a generic handler gets the element, whatever its body asks of it") {
  with_runtime([] {
    int sum = 0;
    const auto add = [&](auto v) { sum += v; };
    const thrum::chan<int> numbers = last_of(5);
    thrum::select(on_recv(numbers, add));
    thrum::select(on_recv(numbers, add));
    thrum::select(on_recv(last_of(6), [&](auto&& v) { sum += v; }));
    thrum::select(on_recv(last_of(7), [&](const auto& v) { sum += v; }));
    CHECK(sum == 18);

    std::unique_ptr<int> owner;
    thrum::select(
        on_recv(last_of(std::make_unique<int>(8)), [&](auto v) { owner = std::move(v); }));
    CHECK(*owner == 8);
  });
}

TEST_CASE("a handler of an element may take what it converts to, or own what is move-only") {
  with_runtime([] {
    long sum = 0;
    thrum::select(on_recv(last_of(5), [&](long v) { sum += v; }));
    thrum::select(on_recv(last_of(6), [&](const int& v) { sum += v; }));
    thrum::select(on_recv(last_of(7), [&](int&& v) { sum += v; }));
    thrum::select(
        on_recv(last_of(std::make_unique<int>(8)), [&](std::unique_ptr<int> v) { sum += *v; }));
    CHECK(sum == 26);
  });
}

TEST_CASE("a pointer to a member as a handler is called on the element, and not on nothing") {
  with_runtime([] {
    const thrum::chan<greeting*> c(1);
    greeting hello{"hello"};
    c.send(&hello);
    c.close();
    thrum::select(on_recv(c, &greeting::shout));
    thrum::select(on_recv(c, &greeting::shout));
    CHECK(hello.text == "hello!");
  });
}

TEST_CASE("handlers of an optional, or of an element and a bool, hear of the end as before") {
  with_runtime([] {
    const thrum::chan<int> c = last_of(5);
    c.recv();
    int ends = 0;
    thrum::select(on_recv(c, [&](std::optional<int> v) { ends += v ? 0 : 1; }));
    thrum::select(on_recv(c, [&](const std::optional<int>& v) { ends += v ? 0 : 1; }));
    thrum::select(on_recv(c, std::function<void(std::optional<int>)>(
                                 [&](auto v) { ends += v.has_value() ? 0 : 1; })));
    thrum::select(on_recv(c, [&](int v, bool ok) { ends += v == 0 && !ok ? 1 : 0; }));
    thrum::select(on_recv(c, [&](auto v, auto ok) { ends += v == 0 && !ok ? 1 : 0; }));
    thrum::select(on_recv(c, [&] { ++ends; }));
    CHECK(ends == 6);
  });
}
