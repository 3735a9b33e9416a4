// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The forms of receiving, and how long what was received lives.

#include <thrum/chan/receiving.hpp>

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/set_back_clock.hpp"
#include "support/with_runtime.hpp"

#include <atomic>
#include <chrono>
#include <iterator>
#include <memory>
#include <optional>
#include <ranges>
#include <utility>

using namespace std::chrono_literals;
using support::eventually;
using support::set_back_clock;
using support::with_runtime;
using thrum::recv_status;

TEST_CASE("elements without a default are received by value: now, in a time, until a moment") {
  with_runtime([] {
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
  });
}

TEST_CASE("recv_until gives what comes in time, timeout afterwards, and closed at the end") {
  with_runtime([] {
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
  });
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

TEST_CASE("an element of a range-for is destroyed before the next is waited for") {
  with_runtime([] {
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
  });
}

TEST_CASE("the elements of a range-for end with the loop, however it is left") {
  with_runtime([] {
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
  });
}

static_assert(std::ranges::input_range<thrum::chan<int>>);
static_assert(std::ranges::input_range<thrum::chan<void>> &&
              std::ranges::input_range<const thrum::recv_chan<void>>);

TEST_CASE("a range-for over a channel of signals runs once for each, until it is closed") {
  with_runtime([] {
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
  });
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

TEST_CASE("what came of a receive of a signal is a bool in every form, and says why not") {
  with_runtime([] {
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
  });
}
