// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/join_handle.hpp>

#include "support/set_back_clock.hpp"
#include "support/stop_source.hpp"
#include "support/test.hpp"

IN_RUNTIME("join returns what the goroutine returned, of whatever kind") {
  CHECK(thrum::spawn([] { return 42; }).join() == 42);
  CHECK(*thrum::spawn([] { return std::make_unique<int>(7); }).join() == 7);
  int object = 0;
  int& reference = thrum::spawn([&]() -> int& { return object; }).join();
  CHECK(&reference == &object);
  thrum::spawn([] {}).join();
  CHECK(thrum::spawn(std::plus<>(), 20, 22).join() == 42);
  const std::string text = thrum::spawn([] { return std::string(1'000, 'x'); }).join();
  CHECK(text == std::string(1'000, 'x'));
}

IN_RUNTIME("join throws the exception that left the goroutine") {
  auto failing = thrum::spawn([]() -> int { throw std::runtime_error("from below"); });
  try {
    failing.join();
    CHECK(false);
  } catch (const std::runtime_error& error) {
    CHECK(std::string(error.what()) == "from below");
  }
  CHECK_FALSE(failing.joinable());
  CHECK_THROWS_AS(thrum::spawn([] { throw 7; }).join(), int);
}

IN_RUNTIME("an exception travels up through a chain of joins") {
  struct link {
    int operator()(int depth) const {
      if (depth == 0) {
        throw std::out_of_range("bottom");
      }
      return thrum::spawn(link(), depth - 1).join();
    }
  };
  CHECK_THROWS_AS(thrum::spawn(link(), 50).join(), std::out_of_range);
}

TEST_CASE("an exception is dropped with a handle that was never joined") {
  std::atomic<int> alive{0};
  struct counted {
    std::atomic<int>& alive;
    explicit counted(std::atomic<int>& n) : alive(n) { ++alive; }
    counted(const counted& other) : alive(other.alive) { ++alive; }
    ~counted() { --alive; }
  };
  with_runtime([&] {
    thrum::wait_group thrown;
    thrown.add(2);
    const auto throws = [&] {
      thrown.done();
      throw counted(alive);
    };
    { auto ignored = thrum::spawn(throws); }
    auto detached = thrum::spawn(throws);
    detached.detach();
    thrown.wait();
    CHECK(support::eventually([] { return thrum::stats().goroutines == 1; }));
    CHECK(alive == 0);
  });
}

IN_RUNTIME("the destructor of a handle waits for the goroutine") {
  for (int i = 0; i != 20; ++i) {
    bool ended = false;
    {
      auto handle = thrum::spawn([&] {
        thrum::sleep_for(std::chrono::microseconds(i * 50));
        ended = true;
      });
    }
    REQUIRE(ended);
  }
}

IN_RUNTIME("a detached goroutine runs on, and its result is destroyed") {
  auto result = std::make_shared<int>(1);
  const std::weak_ptr<int> watch = result;
  thrum::chan<void> gate(0);
  auto handle = thrum::spawn([gate, r = std::move(result)]() mutable {
    gate.recv();
    return std::move(r);
  });
  handle.detach();
  CHECK_FALSE(handle.joinable());
  gate.close();
  CHECK(support::eventually([&] { return watch.expired(); }));
}

IN_RUNTIME("detach after the end gives everything back at once") {
  auto result = std::make_shared<int>(1);
  const std::weak_ptr<int> watch = result;
  auto handle = thrum::spawn([r = std::move(result)]() mutable { return std::move(r); });
  REQUIRE(support::eventually([&] { return handle.done(); }));
  CHECK_FALSE(watch.expired());
  handle.detach();
  CHECK(watch.expired());
}

IN_RUNTIME("a handle tells whether it is done and whether it can be joined") {
  thrum::chan<void> gate(0);
  auto handle = thrum::spawn([gate]() mutable { gate.recv(); });
  CHECK(handle.joinable());
  CHECK_FALSE(handle.done());
  CHECK_FALSE(handle.wait_for(1ms));
  CHECK_FALSE(handle.wait_until(std::chrono::steady_clock::now() + 1ms));
  CHECK_FALSE(handle.wait_until(std::chrono::steady_clock::now() - 1h));
  CHECK_FALSE(handle.wait_for(0ms));
  CHECK_FALSE(handle.wait_for(-5ms));
  gate.close();
  CHECK(handle.wait_for(support::long_time));
  CHECK(handle.done());
  CHECK(handle.joinable());
  CHECK(handle.wait_for(0ms));
  handle.join();
  CHECK_FALSE(handle.joinable());
  CHECK_FALSE(handle.done());
}

IN_RUNTIME("a handle has the id of its goroutine, also after the join") {
  CHECK(thrum::join_handle<int>().id() == 0);
  auto handle = thrum::spawn([] { return thrum::this_goroutine::id(); });
  const thrum::goroutine_id id = handle.id();
  CHECK(handle.join() == id);
  CHECK(handle.id() == id);
}

IN_RUNTIME("an empty handle can do nothing but be assigned to") {
  thrum::join_handle<int> empty;
  CHECK_FALSE(empty.joinable());
  CHECK_FALSE(empty.done());
  CHECK(is_usage_error("join_handle::join", [&] { empty.join(); }));
  CHECK(is_usage_error("join_handle::detach", [&] { empty.detach(); }));
  CHECK(is_usage_error("join_handle::wait_for", [&] { static_cast<void>(empty.wait_for(1ms)); }));
  auto joined = thrum::spawn([] { return 1; });
  joined.join();
  CHECK(is_usage_error("join_handle::join", [&] { joined.join(); }));
  empty = thrum::spawn([] { return 2; });
  CHECK(empty.join() == 2);
}

IN_RUNTIME("moving a handle moves the goroutine, and assigning over one joins that") {
  bool first_ended = false;
  auto first = thrum::spawn([&] {
    thrum::sleep_for(1ms);
    first_ended = true;
    return 1;
  });
  auto second = thrum::spawn([] { return 2; });
  first = std::move(second);
  CHECK(first_ended);
  CHECK_FALSE(second.joinable());
  auto third = std::move(first);
  CHECK_FALSE(first.joinable());
  CHECK(third.join() == 2);
  std::vector<thrum::join_handle<int>> many;
  for (int i = 0; i != 100; ++i) {
    many.push_back(thrum::spawn([i] { return i; }));
  }
  for (int i = 0; i != 100; ++i) {
    CHECK(many[static_cast<std::size_t>(i)].join() == i);
  }
}

TEST_CASE("a foreign thread joins, waits with a time-out and gets the exception") {
  thrum::runtime runtime(support::environment_options());
  CHECK(runtime.spawn([] { return 42; }).join() == 42);
  CHECK_THROWS_AS(runtime.spawn([] { throw std::runtime_error(""); }).join(), std::runtime_error);
  thrum::chan<void> gate(0);
  auto slow = runtime.spawn([gate]() mutable { gate.recv(); });
  CHECK_FALSE(slow.wait_for(1ms));
  gate.close();
  CHECK(slow.wait_for(support::long_time));
  slow.join();
}

TEST_CASE("goroutines of one runtime join those of another") {
  thrum::runtime other(support::environment_options());
  with_runtime([&] {
    for (int i = 0; i != scaled(1'000); ++i) {
      REQUIRE(other.spawn([i] { return i; }).join() == i);
    }
  });
}

TEST_CASE("a handle may outlive the runtime of its goroutine") {
  std::optional<thrum::join_handle<std::string>> handle;
  std::optional<thrum::join_handle<void>> never_joined;
  {
    thrum::runtime runtime(support::environment_options());
    handle = runtime.spawn([] { return std::string(100, 'x'); });
    never_joined = runtime.spawn([] {});
    REQUIRE(support::eventually([&] { return handle->done() && never_joined->done(); }));
  }
  CHECK(handle->join() == std::string(100, 'x'));
}

TEST_CASE("a goroutine that was ended by stop has no result, and join says so") {
  std::optional<thrum::join_handle<int>> handle;
  {
    thrum::runtime runtime(support::environment_options());
    handle = runtime.spawn([] {
      thrum::chan<int>().recv();
      return 1;
    });
  }
  CHECK(handle->done());
  CHECK(is_usage_error("join_handle::join", [&] { handle->join(); }));
}

IN_RUNTIME("many pairs spawn and join at the same time, and each gets its own result") {
  const int rounds = scaled(2'000);
  std::atomic<int> mistakes{0};
  in_goroutines(16, [&](int w) {
    for (int i = 0; i != rounds; ++i) {
      auto handle = thrum::spawn([w, i] {
        if (i % 5 == 0) {
          thrum::this_goroutine::yield();
        }
        return w * 1'000'000 + i;
      });
      if (i % 3 == 0) {
        thrum::this_goroutine::yield();
      }
      mistakes += handle.join() == w * 1'000'000 + i ? 0 : 1;
    }
  });
  CHECK(mistakes == 0);
}

IN_RUNTIME("a wait that times out while the goroutine ends loses nothing") {
  for (int i = 0; i != scaled(500, 50); ++i) {
    const std::chrono::microseconds time(i % 100);
    auto handle = thrum::spawn([=] {
      thrum::sleep_for(time);
      return i;
    });
    static_cast<void>(handle.wait_for(time));
    REQUIRE(handle.join() == i);
  }
}

IN_RUNTIME("join gives the reference to an rvalue that the goroutine returned") {
  auto value = std::make_unique<int>(7);
  auto handle = thrum::spawn([&]() -> std::unique_ptr<int>&& { return std::move(value); });
  const std::unique_ptr<int> taken = handle.join();
  CHECK(*taken == 7);
  CHECK(value == nullptr);
}

IN_RUNTIME("a wait for a goroutine until a moment of a clock that is set back lasts until then") {
  thrum::latch end(1);
  auto handle = thrum::spawn([&] { end.wait(); });
  const auto when = support::set_back_clock::soon();
  CHECK_FALSE(handle.wait_until(when));
  CHECK(support::set_back_clock::now() >= when);
  end.count_down();
  CHECK(handle.wait_until(support::set_back_clock::now() + 1h));
}

// ---- a stop of its own -------------------------------------------------------------------------

IN_RUNTIME("a function that takes a stop token gets one, of which the handle requests the stop") {
  auto handle = thrum::spawn(
      [](const std::stop_token& stop, int a) {
        while (thrum::sleep_for(1h, stop)) {
        }
        return a;
      },
      7);
  CHECK(handle.get_stop_token().stop_possible());
  CHECK_FALSE(handle.get_stop_token().stop_requested());
  CHECK(handle.request_stop());
  CHECK_FALSE(handle.request_stop());
  CHECK(handle.get_stop_source().stop_requested());
  CHECK(handle.join() == 7);
  CHECK(handle.get_stop_token().stop_requested());
}

IN_RUNTIME("the destructor of a handle requests the stop before it joins, and so does assignment") {
  std::atomic<int> ended{0};
  const auto until_stopped = [&](const std::stop_token& stop) {
    CHECK_FALSE(thrum::sleep_for(1h, stop));
    ++ended;
  };
  {
    auto handle = thrum::spawn(until_stopped);
    handle = thrum::spawn(until_stopped);
    CHECK(ended == 1);
    auto moved = std::move(handle);
    CHECK_FALSE(handle.request_stop());  // NOLINT(bugprone-use-after-move)
  }
  CHECK(ended == 2);
}

IN_RUNTIME("a function that can be called without a token gets none") {
  auto plain = thrum::spawn([](auto... arguments) { return sizeof...(arguments); }, 1, 2);
  CHECK_FALSE(plain.get_stop_token().stop_possible());
  CHECK_FALSE(plain.request_stop());
  CHECK(plain.join() == 2);
  std::stop_source source = support::new_source();
  auto given = thrum::spawn([](const std::stop_token& stop) { return stop.stop_requested(); },
                            source.get_token());
  source.request_stop();
  CHECK_FALSE(given.get_stop_token().stop_possible());
  given.join();
  thrum::runtime& own = *thrum::runtime::current();
  auto named =
      thrum::spawn(own, [](const std::stop_token& stop) { return thrum::sleep_for(1h, stop); });
  named.request_stop();
  CHECK_FALSE(named.join());
  auto detached = thrum::spawn({.name = "stoppable"}, [](const std::stop_token& stop) {
    static_cast<void>(thrum::sleep_for(1h, stop));
  });
  const std::stop_source left = detached.get_stop_source();
  detached.detach();
  CHECK_FALSE(left.stop_requested());
  CHECK(detached.request_stop());
}
