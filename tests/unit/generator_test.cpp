// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/generator.hpp>

#include "support/test.hpp"

using thrum::generator;

IN_RUNTIME("a loop goes over the values that a function yields, in their order") {
  generator<int> squares([](auto& yield) {
    for (int i = 0; i != 5; ++i) {
      yield(i * i);
    }
  });
  std::vector<int> seen;
  for (int& square : squares) {
    seen.push_back(square);
  }
  CHECK(seen == std::vector<int>{0, 1, 4, 9, 16});
  CHECK_FALSE(squares.next().has_value());
  CHECK_FALSE(squares.next().has_value());
}

IN_RUNTIME("the function runs only while a value is asked for") {
  std::atomic<int> steps{0};
  generator<int> numbers([&](auto& yield) {
    for (;;) {
      yield(++steps);
    }
  });
  thrum::this_goroutine::yield();
  CHECK(steps == 0);
  CHECK(numbers.next() == 1);
  thrum::this_goroutine::yield();
  CHECK(steps == 1);
  CHECK(numbers.next() == 2);
}

IN_RUNTIME("destroying a generator unwinds its function where it yields") {
  std::atomic<int> unwound{0};
  struct at_end {
    std::atomic<int>& n;
    ~at_end() { ++n; }
  };
  {
    generator<int> numbers([&](auto& yield) {
      const at_end scope{unwound};
      for (;;) {
        yield(1);
      }
    });
    for (const int number : numbers) {
      CHECK(number == 1);
      break;
    }
    CHECK(unwound == 0);
  }
  CHECK(unwound == 1);
  bool called = false;
  {
    const generator<int> never_asked([&](auto& /*yield*/) { called = true; });
  }
  CHECK_FALSE(called);
}

IN_RUNTIME("an exception leaves the function through the loop, once") {
  generator<int> numbers([](auto& yield) {
    yield(1);
    throw std::runtime_error("no more");
  });
  CHECK(numbers.next() == 1);
  CHECK_THROWS_AS(numbers.next(), std::runtime_error);
  CHECK_FALSE(numbers.next().has_value());
  generator<int> at_once([](auto&) { throw std::runtime_error("none"); });
  CHECK_THROWS_AS(at_once.begin(), std::runtime_error);
}

IN_RUNTIME("values may be move-only, and are the loop's to take") {
  generator<std::unique_ptr<int>> owners([](auto& yield) {
    for (int i = 0; i != 3; ++i) {
      yield(std::make_unique<int>(i));
    }
  });
  CHECK(**owners.next() == 0);
  std::vector<std::unique_ptr<int>> taken;
  for (auto& owner : owners) {
    taken.push_back(std::move(owner));
  }
  REQUIRE(taken.size() == 2);
  CHECK(*taken[1] == 2);
}

IN_RUNTIME("a generator can be moved, replaced and empty") {
  const auto from = [](int first) {
    return generator<int>([first](auto& yield) {
      for (int i = first;; ++i) {
        yield(i);
      }
    });
  };
  generator<int> none;
  CHECK_FALSE(none.next().has_value());
  CHECK(none.begin() == none.end());
  auto a = from(1);
  CHECK(a.next() == 1);
  auto b = std::move(a);
  CHECK(b.next() == 2);
  b = from(10);
  CHECK(b.next() == 10);
}

IN_RUNTIME("generators may be nested, and wait in between") {
  generator<int> outer([](auto& yield) {
    for (int i = 0; i != 3; ++i) {
      generator<int> inner([i](auto& pass_on) {
        for (int k = 0; k != i; ++k) {
          thrum::sleep_for(1us);
          pass_on(10 * i + k);
        }
      });
      for (const int each : inner) {
        yield(each);
      }
    }
  });
  std::vector<int> seen;
  for (const int each : outer) {
    seen.push_back(each);
  }
  CHECK(seen == std::vector<int>{10, 20, 21});
}

TEST_CASE("a foreign thread loops over what a goroutine yields") {
  thrum::runtime runtime(support::environment_options());
  int sum = 0;
  {
    generator<int> numbers(runtime, [](auto& yield) {
      for (int i = 0; i != scaled(1'000, 100); ++i) {
        yield(i);
      }
    });
    for (const int number : numbers) {
      sum += number;
    }
    generator<int> endless(runtime, [](auto& yield) {
      for (;;) {
        yield(1);
      }
    });
    CHECK(endless.next() == 1);
  }
  const int n = scaled(1'000, 100);
  CHECK(sum == n * (n - 1) / 2);
  CHECK(runtime.stats().goroutines == 0);
  CHECK(support::is_usage_error("spawn", [] { const generator<int> g([](auto&) {}); }));
}

IN_RUNTIME("many loops at once, on all processors") {
  std::atomic<long> sum{0};
  const int n = scaled(2'000, 100);
  in_goroutines(8, [&](int) {
    generator<int> numbers([&](auto& yield) {
      for (int i = 0; i != n; ++i) {
        yield(i);
      }
    });
    for (const int number : numbers) {
      sum += number;
    }
  });
  CHECK(sum == 8L * n * (n - 1) / 2);
}

TEST_CASE("the stop of a runtime ends a loop and the function that it waits for") {
  std::atomic<int> unwound{0};
  struct at_end {
    std::atomic<int>& n;
    ~at_end() { ++n; }
  };
  with_runtime([&] {
    thrum::go([&] {
      const at_end scope{unwound};
      generator<int> numbers([&](auto& yield) {
        const at_end inner{unwound};
        yield(1);
        thrum::chan<int>().recv();
      });
      for (const int number : numbers) {
        static_cast<void>(number);
      }
      unwound = 100;  // not reached
    });
    REQUIRE(are_waiting(2));
  });
  CHECK(unwound == 2);
}

TEST_CASE(
    "a generator whose function a stop of its runtime has ended says so once, and then has ended") {
  const auto endless = [](auto& yield) {
    for (;;) {
      yield(1);
    }
  };
  generator<int> for_thread;
  generator<int> for_goroutine;
  generator<int> not_begun;
  {
    thrum::runtime where(support::environment_options());
    for_thread = generator<int>(where, endless);
    for_goroutine = generator<int>(where, endless);
    not_begun = generator<int>(where, endless);
    CHECK(for_thread.next() == 1);
    CHECK(for_goroutine.next() == 1);
  }
  CHECK_THROWS_AS(for_thread.next(), thrum::usage_error);
  CHECK_FALSE(for_thread.next().has_value());
  CHECK_THROWS_AS(not_begun.next(), thrum::usage_error);
  with_runtime([&] {
    bool is_exited = true;
    thrum::spawn([&] {
      static_cast<void>(for_goroutine.next());
      is_exited = false;
    }).detach();
    CHECK(eventually([] { return thrum::stats().goroutines == 1; }));
    CHECK(is_exited);
    CHECK_FALSE(for_goroutine.next().has_value());
  });
}

TEST_CASE("a destructor may go over a generator while its runtime stops, inside uncancellable") {
  struct last_words {
    std::vector<int>& seen;
    generator<int> of_before;

    ~last_words() {
      const thrum::uncancellable until_all_is_said;
      generator<int> numbers([](auto& yield) {
        for (int i = 0; i != 3; ++i) {
          yield(i);
        }
      });
      for (const int each : numbers) {
        seen.push_back(each);
      }
      // One that waits for something else is cut short, and ends.
      generator<int> cut([](auto& yield) {
        yield(3);
        thrum::chan<int>().recv();
        yield(4);
      });
      for (const int each : cut) {
        seen.push_back(each);
      }
      while (const auto each = of_before.next()) {
        seen.push_back(*each);
      }
    }
  };
  std::vector<int> seen;
  with_runtime([&] {
    thrum::go([&] {
      last_words at_end{seen, generator<int>([](auto& yield) { yield(5); })};
      thrum::chan<int>().recv();
    });
    REQUIRE(are_waiting(2));
  });
  if (!seen.empty() &&
      seen.back() == 5) {  // the function of before may be ended first, or asked first
    seen.pop_back();
  }
  CHECK(seen == std::vector<int>{0, 1, 2, 3});
}
