// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/detail/sync/kept_result.hpp>
#include <thrum/sync/once.hpp>
#include <thrum/sync/once_value.hpp>

#include "support/test.hpp"
#include "support/waits.hpp"

using thrum::sync_detail::keep_outcome;
using thrum::sync_detail::rethrow_kept;

IN_RUNTIME("Once: one of ten goroutines makes the call, and all return after it", with_procs(4)) {
  for (int round = 0; round != scaled(200); ++round) {
    thrum::once_flag flag;
    int done = 0;
    std::atomic<bool> early{false};
    in_goroutines(10, [&](int) {
      thrum::call_once(flag, [&] {
        thrum::this_goroutine::yield();
        ++done;
      });
      early = early || done != 1;
    });
    CHECK(done == 1);
    CHECK_FALSE(early);
  }
}

TEST_CASE("call_once hands on its arguments") {
  thrum::once_flag flag;
  int sum = 0;
  thrum::call_once(
      flag, [&](std::unique_ptr<int> a, int b) { sum = *a + b; }, std::make_unique<int>(3), 4);
  CHECK(sum == 7);
}

IN_RUNTIME("an attempt that throws does not count, and the next caller tries") {
  thrum::once_flag flag;
  int attempts = 0;
  CHECK_THROWS_AS(thrum::call_once(flag,
                                   [&] {
                                     ++attempts;
                                     throw std::runtime_error("not yet");
                                   }),
                  std::runtime_error);
  thrum::call_once(flag, [&] { ++attempts; });
  thrum::call_once(flag, [&] { ++attempts; });
  CHECK(attempts == 2);
}

IN_RUNTIME("when an attempt fails, one of its waiters makes the next one") {
  thrum::once_flag flag;
  const thrum::chan<void> fail(0);
  std::atomic<int> done{0};
  auto first = thrum::spawn([&] {
    thrum::call_once(flag, [&] {
      fail.recv();
      throw std::runtime_error("not yet");
    });
  });
  REQUIRE(are_waiting(1));
  thrum::wait_group group;
  for (int i = 0; i != 3; ++i) {
    group.go([&] { thrum::call_once(flag, [&] { ++done; }); });
  }
  REQUIRE(are_waiting(4));
  CHECK(done == 0);
  fail.send();
  CHECK_THROWS_AS(first.join(), std::runtime_error);
  group.wait();
  CHECK(done == 1);
}

TEST_CASE("an attempt that the stop of its runtime ends does not count") {
  thrum::once_flag flag;
  int done = 0;
  with_runtime([&] {
    thrum::go([&] { thrum::call_once(flag, [] { thrum::chan<int>(0).recv(); }); });
    REQUIRE(are_waiting(1));
  });
  thrum::call_once(flag, [&] { ++done; });
  CHECK(done == 1);
}

IN_RUNTIME("goroutines and foreign threads share a once_flag") {
  thrum::once_flag flag;
  std::atomic<int> done{0};
  const auto work = [&] { thrum::call_once(flag, [&] { ++done; }); };
  support::on_goroutines_and_threads(4, work);
  CHECK(done == 1);
}

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

IN_RUNTIME("goroutines and threads that ask a once_value at the same time wait for one computation",
           with_procs(4)) {
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

IN_RUNTIME("a goroutine that ends inside a once_value's function leaves the work to the next") {
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
  REQUIRE(are_waiting(1));
  auto next = thrum::spawn([&] { return number.get(); });
  REQUIRE(are_waiting(2));
  go_on.send();
  CHECK(next.join() == 2);
  CHECK(number.get() == 2);
  CHECK(calls == 2);
}

TEST_CASE("the outcome of a function is kept: a value, a reference, nothing, or an exception") {
  thrum::go_detail::result_slot<std::unique_ptr<int>> owner;
  keep_outcome(
      owner, [](int n) { return std::make_unique<int>(n); }, 3);
  REQUIRE(owner.value.has_value());
  CHECK(**owner.value == 3);
  rethrow_kept(owner);

  int target = 0;
  thrum::go_detail::result_slot<int&> reference;
  keep_outcome(reference, [&]() -> int& { return target; });
  CHECK(reference.value == &target);

  thrum::go_detail::result_slot<void> nothing;
  keep_outcome(nothing, [] {});
  CHECK(nothing.value.has_value());

  thrum::go_detail::result_slot<int> failed;
  keep_outcome(failed, []() -> int { throw std::runtime_error("why"); });
  CHECK_FALSE(failed.value.has_value());
  CHECK_THROWS_AS(rethrow_kept(failed), std::runtime_error);
  CHECK_THROWS_AS(rethrow_kept(failed), std::runtime_error);
}

TEST_CASE("the end of a goroutine is not kept as the outcome of a function") {
  thrum::go_detail::result_slot<int> none;
  CHECK_THROWS_AS(keep_outcome(none, []() -> int { throw thrum::goroutine_exit(); }),
                  thrum::goroutine_exit);
  CHECK_FALSE(none.value.has_value());
  CHECK_FALSE(none.error);
}
