// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The forms of receiving, how long what was received lives, and what a receive returns by value: as a
// std::optional, but for the dereference of nothing.
#include <thrum/detail/chan/receiving.hpp>
#include <thrum/detail/chan/recv_result.hpp>

#include "support/set_back_clock.hpp"
#include "support/test.hpp"

#include <any>
#include <ranges>

using support::set_back_clock;
using thrum::recv_status;

IN_RUNTIME("elements without a default are received by value: now, in a time, until a moment") {
  struct no_default {
    explicit no_default(int of) noexcept : value(of) {}
    no_default(no_default&&) noexcept = default;
    no_default& operator=(no_default&&) = delete;
    ~no_default() = default;
    int value;
  };
  const thrum::chan<no_default> c(3);
  CHECK_FALSE(c.try_recv().has_value());
  CHECK_FALSE(c.recv_for(1ms).has_value());
  CHECK_FALSE(c.recv_until(std::chrono::steady_clock::now()).has_value());
  for (int i = 1; i != 4; ++i) {
    c.send(no_default(i));
  }
  CHECK(c.try_recv().value().value == 1);
  CHECK(c.receiver().recv_for(1h).value().value == 2);
  CHECK(c.recv_until(std::chrono::system_clock::now() + 1h).value().value == 3);
  c.close();
  CHECK_FALSE(c.try_recv().has_value());
  CHECK_FALSE(c.recv_for(1h).has_value());
  CHECK_FALSE(c.recv_until(std::chrono::steady_clock::now() + 1h).has_value());
  CHECK(c.is_closed());
  CHECK_FALSE(thrum::chan<no_default>().try_recv().has_value());
}

IN_RUNTIME("recv_until gives what comes in time, timeout afterwards, and closed at the end") {
  const auto soon = [] { return std::chrono::steady_clock::now() + 1ms; };
  const auto late = [] { return std::chrono::system_clock::now() + 1h; };
  const thrum::chan<int> c(0);
  int out = 7;
  CHECK(c.recv_until(out, soon()) == recv_status::timeout);
  CHECK(out == 7);
  thrum::go([c] { c.send(8); });
  CHECK(c.recv_until(out, late()) == recv_status::ok);
  CHECK(out == 8);
  c.close();
  CHECK(c.recv_until(out, late()) == recv_status::closed);
  CHECK(thrum::chan<int>().recv_until(out, soon()) == recv_status::timeout);
  const thrum::chan<void> signals(1);
  CHECK(signals.recv_until(soon()) == recv_status::timeout);
  CHECK(signals.send_until(late()));
  CHECK_FALSE(signals.send_until(soon()));
  CHECK(signals.recv_until(late()) == recv_status::ok);
}

TEST_CASE("a receive until a moment of a clock that is set back lasts until that clock says so") {
  const auto receive = [] {
    const thrum::chan<int> c(0);
    int out = 0;
    auto when = set_back_clock::soon();
    CHECK(c.recv_until(out, when) == recv_status::timeout);
    CHECK(set_back_clock::now() >= when);
    when = set_back_clock::soon();
    CHECK_FALSE(c.recv_until(when).has_value());
    CHECK(set_back_clock::now() >= when);
    when = set_back_clock::soon();
    CHECK(thrum::chan<void>(0).recv_until(when) == recv_status::timeout);
    CHECK(set_back_clock::now() >= when);
  };
  receive();
  with_runtime(receive);
}

IN_RUNTIME("an element of a range-for is destroyed before the next is waited for") {
  const thrum::chan<std::shared_ptr<int>> c(0);
  std::atomic<int> seen{0};
  auto reader = thrum::spawn([&] {
    for (auto& element : c) {
      seen += *element;
    }
  });
  auto element = std::make_shared<int>(1);
  const std::weak_ptr<int> watch = element;
  c.send(std::move(element));
  // The reader waits for what has not been sent, and keeps nothing.
  CHECK(eventually([&] { return seen == 1 && watch.expired(); }));
  c.close();
  reader.join();
}

IN_RUNTIME("the elements of a range-for end with the loop, however it is left") {
  const thrum::chan<std::shared_ptr<int>> c(2);
  const auto kept = std::make_shared<int>(1);
  c.send(kept);
  c.send(kept);
  for (auto& element : c) {
    CHECK(element == kept);
    break;
  }
  CHECK(kept.use_count() == 2);  // ours, and the one in the channel
  c.close();
  for (const auto& element : c) {
    CHECK(element == kept);
  }
  CHECK(kept.use_count() == 1);
}

static_assert(std::ranges::input_range<thrum::chan<int>>);
static_assert(std::ranges::input_range<thrum::chan<void>> &&
              std::ranges::input_range<const thrum::recv_chan<void>>);

IN_RUNTIME("a range-for over a channel of signals runs once for each, until it is closed") {
  const thrum::chan<void> c(3);
  c.send();
  c.send();
  int first = 0;
  for ([[maybe_unused]] const auto signal : c) {
    ++first;
    break;
  }
  CHECK(first == 1);
  CHECK(c.size() == 1);  // what was not waited for is still there
  auto reader = thrum::spawn([view = c.receiver()] {
    int n = 0;
    for ([[maybe_unused]] const auto& signal : view) {
      ++n;
    }
    return n;
  });
  for (int i = 0; i != 5; ++i) {
    c.send();
  }
  c.close();
  CHECK(reader.join() == 6);
  for ([[maybe_unused]] const auto signal : c) {
    FAIL("a closed channel has no more");
  }
}

TEST_CASE("a loop over a channel of signals keeps the channel, and foreign threads run it too") {
  int n = 0;
  const auto two = [] {
    const thrum::chan<void> c(2);
    c.send();
    c.send();
    c.close();
    return c;
  };
  auto next = two().begin();  // nobody else has the channel
  for (; next != std::default_sentinel; ++next) {
    ++n;
  }
  CHECK(n == 2);
}

TEST_CASE("a goroutine that ranges over signals is unwound when its runtime stops") {
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> watch = held;
  thrum::runtime runtime(support::environment_options());
  const thrum::chan<void> c(0);
  runtime.go([c, own = std::move(held)] {
    for ([[maybe_unused]] const auto signal : c) {
    }
  });
  c.send();
  CHECK_FALSE(watch.expired());
  runtime.stop();
  CHECK(watch.expired());
}

IN_RUNTIME("what came of a receive of a signal is a bool in every form, and says why not") {
  const thrum::chan<void> c(2);
  c.send();
  c.send();
  CHECK(static_cast<bool>(c.recv_for(1h)));
  CHECK(c.try_recv() == recv_status::ok);
  CHECK_FALSE(static_cast<bool>(c.try_recv()));
  CHECK(c.recv_for(1ns) == recv_status::timeout);
  c.close();
  switch (c.recv_until(thrum::time_point())) {
    case recv_status::closed: break;
    default: FAIL("the channel is closed");
  }
  CHECK_FALSE(c.recv());
}

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

IN_RUNTIME(
    "the dereference of a receive that got nothing is a usage_error that says what to test") {
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
}

IN_RUNTIME(
    "the error of a receive that got nothing names the channel by the type of its elements") {
  thrum::chan<int> numbers(1);
  numbers.close();
  CHECK_THROWS_WITH(*numbers.recv(),
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
}

IN_RUNTIME("what was received is used as a std::optional is, and becomes one") {
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
}

IN_RUNTIME("receives that got nothing are equal, to each other and to an empty optional") {
  const thrum::chan<int> closed = ends_after(1);
  closed.recv();
  CHECK(closed.recv() == closed.recv());
  CHECK(closed.recv() == std::optional<int>());
  CHECK(std::optional<int>() == closed.recv());
  CHECK_FALSE(closed.recv() != closed.recv());
  CHECK(closed.recv() < 1);
  CHECK(ends_after(2).recv() == ends_after(2).recv());
  CHECK(ends_after(2).recv() != 3);
}
