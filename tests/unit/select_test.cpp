// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What each case of a select promises. Which one is chosen, blocking, stopping and the run-time
// form have files of their own in select/.
#include <thrum/detail/select/cases.hpp>
#include <thrum/select.hpp>

#include "support/test.hpp"

#include <concepts>

using thrum::on_recv;
using thrum::on_send;
using thrum::on_timeout;
using thrum::otherwise;
using thrum::select_detail::handler_takes;
using thrum::select_detail::what_handler_takes;

namespace {

/// A channel that holds these elements.
template <class T, class... Elements>
thrum::chan<T> holding(Elements... elements) {
  thrum::chan<T> c(sizeof...(elements));
  (c.send(T(std::move(elements))), ...);
  return c;
}

template <class T>
thrum::chan<T> closed() {
  thrum::chan<T> c(0);
  c.close();
  return c;
}

/// Says whether it was copied.
struct copy_counter {
  static inline int copies = 0;
  copy_counter() = default;
  copy_counter(const copy_counter&) { ++copies; }
  copy_counter(copy_counter&&) noexcept = default;
  copy_counter& operator=(const copy_counter&) = default;
  copy_counter& operator=(copy_counter&&) noexcept = default;
  ~copy_counter() = default;
};

/// Can be received and looked at, and nothing else.
struct no_default {
  explicit no_default(int v) : value(v) {}
  int value;
};

}  // namespace

// ---- the result --------------------------------------------------------------------------------

IN_RUNTIME("select returns the index among all cases that were given, nil ones included") {
  const thrum::chan<int> nil;
  const auto ready = holding<int>(1);
  CHECK(thrum::select(on_recv(ready)) == 0);
  ready.send(1);
  CHECK(thrum::select(on_recv(nil), on_send(nil, 1), on_recv(ready)) == 2);
  ready.send(1);
  CHECK(thrum::select(otherwise(), on_recv(nil), on_recv(ready), on_timeout(0s)) == 2);
  CHECK(thrum::select(on_recv(nil), otherwise(), on_recv(ready)) == 1);
  CHECK(thrum::select(on_timeout(1h), on_recv(ready), on_timeout(1ms)) == 2);
  CHECK(thrum::select(on_send(ready, 1), on_recv(nil)) == 0);
  static_assert(std::same_as<decltype(thrum::select(on_recv(ready))), std::size_t>);
}

IN_RUNTIME("exactly one case is carried out, and only its handler is called") {
  for (int i = 0; i != 100; ++i) {
    const auto a = holding<int>(1);
    const auto b = holding<int>(2);
    const thrum::chan<int> c(1);
    std::array<int, 3> called{};
    const std::size_t chosen = thrum::select(on_recv(a, [&](std::optional<int>) { ++called[0]; }),
                                             on_recv(b, [&](std::optional<int>) { ++called[1]; }),
                                             on_send(c, 3, [&] { ++called[2]; }));
    std::array<int, 3> expected{};
    expected.at(chosen) = 1;
    REQUIRE(called == expected);
    REQUIRE(a.size() == (chosen == 0 ? 0U : 1U));
    REQUIRE(b.size() == (chosen == 1 ? 0U : 1U));
    REQUIRE(c.size() == (chosen == 2 ? 1U : 0U));
  }
}

// ---- the handlers of a receive -----------------------------------------------------------------

IN_RUNTIME("a receive hands the element to its handler in each form") {
  std::string seen;
  thrum::select(on_recv(holding<std::string>("a"), [&](std::optional<std::string> v) {
    REQUIRE(v.has_value());
    seen += *v;
  }));
  thrum::select(on_recv(holding<std::string>("b"), [&](std::string&& v, bool ok) {
    REQUIRE(ok);
    seen += v;
  }));
  thrum::select(on_recv(holding<std::string>("c"), [&](std::string v, bool ok) {
    REQUIRE(ok);
    seen += v;
  }));
  thrum::select(on_recv(holding<std::string>("d"), [&](const std::string& v, bool ok) {
    REQUIRE(ok);
    seen += v;
  }));
  thrum::select(on_recv(holding<std::string>("e"), [&](auto v) { seen += v; }));
  thrum::select(on_recv(holding<std::string>("?"), [&] { seen += "f"; }));
  thrum::select(on_recv(holding<std::string>("?")));
  CHECK(seen == "abcdef");
}

IN_RUNTIME("a receive from a closed channel says so to its handler in each form") {
  int calls = 0;
  thrum::select(on_recv(closed<int>(), [&](std::optional<int> v) {
    CHECK(v == std::nullopt);
    ++calls;
  }));
  thrum::select(on_recv(closed<int>(), [&](int&& v, bool ok) {
    CHECK(v == 0);
    CHECK_FALSE(ok);
    ++calls;
  }));
  thrum::select(on_recv(closed<int>(), [&] { ++calls; }));
  thrum::select(on_recv(closed<no_default>(), [&](std::optional<no_default> v) {
    CHECK_FALSE(v.has_value());
    ++calls;
  }));
  CHECK(thrum::select(on_recv(closed<int>())) == 0);
  CHECK(calls == 4);
}

IN_RUNTIME("what is buffered is received before the close is seen") {
  const auto c = holding<int>(1, 2);
  c.close();
  std::string seen;
  for (int i = 0; i != 4; ++i) {
    thrum::select(
        on_recv(c, [&](int&& v, bool ok) { seen += std::to_string(v) + (ok ? "+" : "-"); }));
  }
  CHECK(seen == "1+2+0-0-");
}

IN_RUNTIME("a receive of a signal calls f(bool) or f()") {
  const thrum::chan<void> c(2);
  c.send();
  c.send();
  c.close();
  std::string seen;
  thrum::select(on_recv(c, [&](bool ok) { seen += ok ? "signal " : "end "; }));
  thrum::select(on_recv(c, [&] { seen += "called "; }));
  thrum::select(on_recv(c, [&](bool ok) { seen += ok ? "signal " : "end "; }));
  CHECK(seen == "signal called end ");
}

IN_RUNTIME("move-only elements go through a receive and a send") {
  const thrum::chan<std::unique_ptr<int>> c(1);
  thrum::select(on_send(c, std::make_unique<int>(7)));
  int seen = 0;
  thrum::select(on_recv(c, [&](std::optional<std::unique_ptr<int>> v) { seen = *v.value(); }));
  CHECK(seen == 7);
  thrum::select(on_send(c, std::make_unique<int>(8)));
  std::unique_ptr<int> kept;
  thrum::select(on_recv(c, [&](std::unique_ptr<int>&& v, bool) { kept = std::move(v); }));
  REQUIRE(kept != nullptr);
  CHECK(*kept == 8);
}

IN_RUNTIME("a handler may be anything that can be called") {
  static std::atomic<int> calls{0};
  struct counts {
    static void call() { ++calls; }
    void operator()(std::optional<int> v) const { calls += *v; }
  };
  thrum::select(on_recv(holding<int>(1), &counts::call));
  thrum::select(on_recv(holding<int>(10), counts()));
  const auto by_const_lvalue = [] { ++calls; };
  thrum::select(on_timeout(0s, by_const_lvalue));
  thrum::select(otherwise([owned = std::make_unique<int>(100)] { calls += *owned; }));
  thrum::select(on_timeout(0s, [n = 0]() mutable { calls += ++n; }));
  thrum::select(on_recv(holding<int>(1), [](std::optional<int> v) { return *v; }));  // ignored
  CHECK(calls == 113);
}

IN_RUNTIME("one-way views and channels that are temporaries take part") {
  const thrum::chan<int> c(1);
  int seen = 0;
  CHECK(thrum::select(on_send(c.sender(), 5)) == 0);
  CHECK(thrum::select(on_recv(c.receiver(), [&](std::optional<int> v) { seen = *v; })) == 0);
  CHECK(seen == 5);
  const thrum::send_chan<int> in = c;
  const thrum::recv_chan<int> out = c;
  CHECK(thrum::select(on_send(in, 6), on_recv(out)) == 0);
  CHECK(thrum::select(on_recv(out, [&](int&& v, bool) { seen = v; })) == 0);
  CHECK(seen == 6);
  const thrum::chan<void> signals(1);
  CHECK(thrum::select(on_send(signals.sender())) == 0);
  CHECK(thrum::select(on_recv(signals.receiver())) == 0);
}

// ---- the value of a send -----------------------------------------------------------------------

IN_RUNTIME("an rvalue to send is moved from only if its case is chosen") {
  const thrum::chan<std::string> c(1);
  std::string value = "a string that does not fit into its own object";
  const std::string before = value;
  CHECK(thrum::select(on_send(thrum::chan<std::string>(), std::move(value)), otherwise()) == 1);
  CHECK(value == before);
  CHECK(thrum::select(on_send(c, std::move(value))) == 0);
  CHECK(value.empty());
  value = before;
  CHECK(thrum::select(on_send(c, std::move(value)), otherwise()) == 1);
  CHECK(value == before);
  CHECK(thrum::select(on_send(c, std::move(value)), on_timeout(1ms)) == 1);
  CHECK(value == before);
  CHECK(c.recv() == before);
}

IN_RUNTIME("an lvalue to send is copied") {
  const thrum::chan<std::string> c(2);
  std::string value = "a string that does not fit into its own object";
  const std::string constant = value;
  CHECK(thrum::select(on_send(c, value)) == 0);
  CHECK(value == constant);
  CHECK(thrum::select(on_send(c, constant)) == 0);
  CHECK(c.recv() == constant);
  CHECK(c.recv() == constant);
}

IN_RUNTIME("an lvalue that cannot be copied is moved from only if its case is chosen") {
  const thrum::chan<std::unique_ptr<int>> c(1);
  auto value = std::make_unique<int>(7);
  CHECK(thrum::select(on_send(thrum::chan<std::unique_ptr<int>>(), value), otherwise()) == 1);
  REQUIRE(value != nullptr);
  CHECK(thrum::select(on_send(c, value)) == 0);
  CHECK(value == nullptr);
  CHECK(**c.recv() == 7);
}

IN_RUNTIME("an rvalue is never copied on its way") {
  const thrum::chan<copy_counter> c(1);
  copy_counter value;
  copy_counter::copies = 0;
  thrum::select(on_send(c, std::move(value)), on_timeout(1h));
  thrum::select(on_recv(c, [](std::optional<copy_counter>) {}), on_timeout(1h));
  CHECK(copy_counter::copies == 0);
}

IN_RUNTIME("a value of another type is converted") {
  const thrum::chan<std::string> c(1);
  thrum::select(on_send(c, "literal"));
  CHECK(c.recv() == "literal");
  const thrum::chan<long> longs(1);
  thrum::select(on_send(longs, 7));
  CHECK(longs.recv() == 7);
}

IN_RUNTIME("sending to a closed channel is an error of use, and the value stays") {
  const auto c = closed<std::unique_ptr<int>>();
  auto value = std::make_unique<int>(7);
  bool called = false;
  CHECK(is_usage_error("select", [&] {
    thrum::select(on_send(c, std::move(value), [&] { called = true; }), otherwise());
  }));
  CHECK_FALSE(called);
  REQUIRE(value != nullptr);
  CHECK(is_usage_error("select", [] { thrum::select(on_send(closed<void>())); }));
}

IN_RUNTIME("a send to a closed channel is an error only if its case is chosen") {
  const auto c = closed<int>();
  int errors = 0;
  int received = 0;
  for (int i = 0; i != 200; ++i) {
    const auto ready = holding<int>(1);
    if (is_usage_error(
            "select", [&] { thrum::select(on_send(c, 1), on_recv(ready, [&] { ++received; })); })) {
      ++errors;
      REQUIRE(ready.size() == 1);
    }
  }
  CHECK(errors + received == 200);
  CHECK(errors > 0);
  CHECK(received > 0);
}

// ---- handlers that do more ---------------------------------------------------------------------

IN_RUNTIME("an exception of a handler leaves select after the operation was done") {
  const auto c = holding<int>(1, 2);
  std::string value = "a string that does not fit into its own object";
  const std::string before = value;
  const thrum::chan<std::string> nobody(0);
  CHECK_THROWS_AS(thrum::select(on_recv(c, [] { throw std::runtime_error("handler"); }),
                                on_send(nobody, std::move(value))),
                  std::runtime_error);
  CHECK(c.size() == 1);
  CHECK(value == before);
  CHECK_THROWS_AS(thrum::select(on_timeout(0s, [] { throw 7; })), int);
  CHECK_THROWS_AS(thrum::select(on_recv(nobody), otherwise([] { throw 7; })), int);
  CHECK_FALSE(nobody.try_send(value));  // no case was left behind
}

IN_RUNTIME("a handler may use the channels of its own select, and select again") {
  const auto c = holding<int>(1);
  int depth = 0;
  thrum::select(on_recv(c,
                        [&](std::optional<int> first) {
                          c.send(*first + 1);
                          thrum::select(on_recv(c,
                                                [&](std::optional<int> second) {
                                                  depth = *second;
                                                  c.close();
                                                }),
                                        on_timeout(1h));
                        }),
                on_timeout(1h));
  CHECK(depth == 2);
  CHECK(c.is_closed());
}

IN_RUNTIME("a handler may block, and end its goroutine") {
  const thrum::chan<int> c(0);
  std::atomic<bool> unwound{false};
  std::atomic<bool> went_on{false};
  auto ends = thrum::spawn([&] {
    struct guard {
      std::atomic<bool>& to;
      ~guard() { to = true; }
    };
    const guard at_end{unwound};
    thrum::select(on_recv(c, [&](std::optional<int>) {
      c.recv();
      thrum::this_goroutine::exit();
    }));
    went_on = true;
  });
  c.send(1);
  CHECK_FALSE(ends.wait_for(1ms));
  c.send(2);
  CHECK(ends.wait_for(1h));
  ends.detach();
  CHECK(unwound);
  CHECK_FALSE(went_on);
}

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

IN_RUNTIME("a handler of one element is called with what was received, and not when the end is") {
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
}

IN_RUNTIME("a generic handler gets the element, whatever its body asks of it") {
  int sum = 0;
  const auto add = [&](auto v) { sum += v; };
  const thrum::chan<int> numbers = last_of(5);
  thrum::select(on_recv(numbers, add));
  thrum::select(on_recv(numbers, add));
  thrum::select(on_recv(last_of(6), [&](auto&& v) { sum += v; }));
  thrum::select(on_recv(last_of(7), [&](const auto& v) { sum += v; }));
  CHECK(sum == 18);

  std::unique_ptr<int> owner;
  thrum::select(on_recv(last_of(std::make_unique<int>(8)), [&](auto v) { owner = std::move(v); }));
  CHECK(*owner == 8);
}

IN_RUNTIME("a handler of an element may take what it converts to, or own what is move-only") {
  long sum = 0;
  thrum::select(on_recv(last_of(5), [&](long v) { sum += v; }));
  thrum::select(on_recv(last_of(6), [&](const int& v) { sum += v; }));
  thrum::select(on_recv(last_of(7), [&](int&& v) { sum += v; }));
  thrum::select(
      on_recv(last_of(std::make_unique<int>(8)), [&](std::unique_ptr<int> v) { sum += *v; }));
  CHECK(sum == 26);
}

IN_RUNTIME("a pointer to a member as a handler is called on the element, and not on nothing") {
  const thrum::chan<greeting*> c(1);
  greeting hello{"hello"};
  c.send(&hello);
  c.close();
  thrum::select(on_recv(c, &greeting::shout));
  thrum::select(on_recv(c, &greeting::shout));
  CHECK(hello.text == "hello!");
}

IN_RUNTIME("handlers of an optional, or of an element and a bool, hear of the end as before") {
  const thrum::chan<int> c = last_of(5);
  c.recv();
  int ends = 0;
  thrum::select(on_recv(c, [&](std::optional<int> v) { ends += v ? 0 : 1; }));
  thrum::select(on_recv(c, [&](const std::optional<int>& v) { ends += v ? 0 : 1; }));
  thrum::select(on_recv(
      c, std::function<void(std::optional<int>)>([&](auto v) { ends += v.has_value() ? 0 : 1; })));
  thrum::select(on_recv(c, [&](int v, bool ok) { ends += v == 0 && !ok ? 1 : 0; }));
  thrum::select(on_recv(c, [&](auto v, auto ok) { ends += v == 0 && !ok ? 1 : 0; }));
  thrum::select(on_recv(c, [&] { ++ends; }));
  CHECK(ends == 6);
}
