// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/sync/once_value.hpp>

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/waits.hpp"
#include "support/with_runtime.hpp"

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

using support::eventually;
using support::with_procs;
using support::with_runtime;

TEST_CASE("a once_value computes at the first call, and gives all callers the same object") {
  int calls = 0;
  const thrum::once_value number([&] { return std::string("seven") + std::to_string(++calls); });
  CHECK(calls == 0);
  const std::string& first = number.get();
  CHECK(first == "seven1");
  CHECK(&number.get() == &first);
  CHECK(&number() == &first);
  CHECK(calls == 1);
}

TEST_CASE("the value of a once_value may be move-only, a reference, or nothing") {
  const thrum::once_value owner([] { return std::make_unique<int>(5); });
  static_assert(std::is_same_v<decltype(owner.get()), const std::unique_ptr<int>&>);
  CHECK(*owner.get() == 5);
  int target = 1;
  const thrum::once_value reference([&]() -> int& { return target; });
  static_assert(std::is_same_v<decltype(reference.get()), int&>);
  reference.get() = 2;
  CHECK(target == 2);
  int calls = 0;
  const thrum::once_value nothing([&] { ++calls; });
  static_assert(std::is_void_v<decltype(nothing.get())>);
  nothing.get();
  nothing.get();
  CHECK(calls == 1);
}

TEST_CASE(
    "goroutines and threads that ask a once_value at the same time wait for one computation") {
  with_runtime(with_procs(4), [] {
    std::atomic<int> calls{0};
    std::atomic<int> wrong{0};
    const thrum::once_value number([&] {
      for (int i = 0; i != 10; ++i) {
        thrum::this_goroutine::yield();
      }
      return ++calls;
    });
    support::on_goroutines_and_threads(4, [&] { wrong += number.get() == 1 ? 0 : 1; });
    CHECK(calls == 1);
    CHECK(wrong == 0);
  });
}

TEST_CASE("an exception of a once_value's function is thrown to every caller") {
  int calls = 0;
  const thrum::once_value fails([&]() -> int {
    ++calls;
    throw std::runtime_error("no table");
  });
  for (int i = 0; i != 3; ++i) {
    std::string text;
    try {
      fails.get();
    } catch (const std::runtime_error& error) {
      text = error.what();
    }
    CHECK(text == "no table");
  }
  CHECK(calls == 1);
}

TEST_CASE("a once_value destroys its function once that has returned or thrown") {
  for (const bool throws : {false, true}) {
    const auto captured = std::make_shared<int>(3);
    const thrum::once_value number([captured, throws] {
      if (throws) {
        throw *captured;
      }
      return *captured;
    });
    CHECK(captured.use_count() == 2);
    bool thrown = false;
    try {
      number.get();
    } catch (int) {
      thrown = true;
    }
    CHECK(thrown == throws);
    CHECK(captured.use_count() == 1);
  }
}

TEST_CASE("a goroutine that ends inside a once_value's function leaves the work to the next") {
  with_runtime([] {
    std::atomic<int> calls{0};
    thrum::chan<void> go_on(0);
    const thrum::once_value number([&] {
      if (++calls == 1) {
        go_on.recv();
        thrum::this_goroutine::exit();
      }
      return calls.load();
    });
    thrum::go([&] { number.get(); });
    REQUIRE(eventually([] { return thrum::stats().waiting == 1; }));
    auto next = thrum::spawn([&] { return number.get(); });
    REQUIRE(eventually([] { return thrum::stats().waiting == 2; }));
    go_on.send();
    CHECK(next.join() == 2);
    CHECK(number.get() == 2);
    CHECK(calls == 2);
  });
}
