// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/sync/wait_group.hpp>

#include "support/slow_to_go.hpp"
#include "support/test.hpp"

using support::slow_to_go;

static_assert(!std::is_copy_constructible_v<thrum::wait_group>);

TEST_CASE("wait returns at once while nothing is to be done") {
  thrum::wait_group untouched;
  untouched.wait();
  CHECK(untouched.wait_for(0ms));
  with_runtime([&] {
    untouched.wait();
    untouched.add(3);
    untouched.add(-3);
    untouched.wait();
    CHECK(untouched.wait_for(-1s));
  });
}

IN_RUNTIME("wait blocks until the last done") {
  thrum::wait_group group;
  group.add(2);
  std::atomic<bool> passed{false};
  auto waiter = thrum::spawn([&] {
    group.wait();
    passed = true;
  });
  group.done();
  thrum::sleep_for(1ms);
  CHECK_FALSE(passed);
  CHECK_FALSE(group.wait_for(1ms));
  group.done();
  waiter.join();
  CHECK(passed);
  CHECK(group.wait_for(0ms));
}

IN_RUNTIME("a group can be used again once wait has returned") {
  thrum::wait_group group;
  int ran = 0;
  for (int i = 0; i != scaled(1'000); ++i) {
    group.go([&] { ++ran; });
    group.wait();
    REQUIRE(ran == i + 1);
  }
}

IN_RUNTIME("go of a group counts the goroutine until it has ended, also by exit") {
  thrum::wait_group group;
  std::atomic<int> ran{0};
  group.go([&](int n, const std::string& text) { ran += n + static_cast<int>(text.size()); }, 2,
           "four");
  group.go([&] {
    ++ran;
    thrum::this_goroutine::exit();
  });
  group.go([&](std::unique_ptr<int> value) { ran += *value; }, std::make_unique<int>(10));
  group.wait();
  CHECK(ran == 17);
}

IN_RUNTIME("when wait returns, the functions and arguments that go of a group kept are destroyed") {
  for (int round = 0; round != scaled(50); ++round) {
    std::atomic<int> alive{0};
    thrum::wait_group group;
    group.go(slow_to_go(alive));
    group.go([](const slow_to_go&) {}, slow_to_go(alive));
    group.go([](const slow_to_go&) { thrum::this_goroutine::exit(); }, slow_to_go(alive));
    group.go(*thrum::runtime::current(), slow_to_go(alive));
    group.wait();
    REQUIRE(alive == 0);
  }
}

TEST_CASE("what go of a group could not keep counts nothing, also in a goroutine that ends") {
  struct not_kept {
    not_kept() = default;
    not_kept(const not_kept&) { throw std::runtime_error("not kept"); }
    void operator()() const {}
  };
  with_runtime([] {
    thrum::wait_group group(1);
    thrum::wait_group others;
    others.go([&] {
      struct at_end {
        thrum::wait_group& to;
        ~at_end() {
          const not_kept function;
          try {
            to.go(function);
          } catch (const std::runtime_error&) {
            to.done();
          }
        }
      } const scope{group};
      thrum::this_goroutine::exit();
    });
    others.wait();
    CHECK(group.wait_for(0ms));
  });
}

TEST_CASE("go of a group outside of a runtime is an error of use and counts nothing") {
  thrum::wait_group group;
  CHECK(is_usage_error("go:", [&] { group.go([] {}); }));
  CHECK(group.wait_for(0ms));
}

TEST_CASE(
    "a goroutine, an OS thread and one with a deadline wait for the same group, and all return") {
  with_runtime([&] {
    for (int round = 0; round != scaled(200); ++round) {
      thrum::wait_group group(2);
      std::atomic<int> returned{0};
      const auto wait_all = [&] {
        group.wait();
        ++returned;
      };
      std::thread foreign(wait_all);
      thrum::wait_group waiters;
      waiters.go(wait_all);
      waiters.go([&] {
        static_cast<void>(group.wait_for(round % 2 == 0 ? 1ms : 1h));
        ++returned;
      });
      group.done();
      group.done();
      waiters.wait();
      thrum::blocking([&] { foreign.join(); });
      CHECK(returned == 3);
    }
  });
}

TEST_CASE("waiters of a group give up one after another, and one that comes later is woken") {
  with_runtime([&] {
    thrum::wait_group group(1);
    for (int round = 0; round != scaled(300); ++round) {
      CHECK_FALSE(group.wait_for(10us));
    }
    std::atomic<bool> has_returned{false};
    thrum::wait_group waiters;
    waiters.go([&] {
      group.wait();
      has_returned = true;
    });
    CHECK_FALSE(group.wait_for(1ms));
    CHECK_FALSE(has_returned);
    group.done();
    waiters.wait();
    CHECK(has_returned);
  });
}

IN_RUNTIME("the last done releases all waiters, also those whose time-outs race with it") {
  for (int round = 0; round != scaled(400, 40); ++round) {
    const bool timed = round % 4 != 0;
    thrum::wait_group group;
    group.add();
    std::atomic<int> returned{0};
    std::vector<thrum::join_handle<void>> waiters;
    for (int i = 0; i != (timed ? 6 : 20); ++i) {
      waiters.push_back(thrum::spawn([&, i] {
        if (!timed || !group.wait_for(std::chrono::microseconds(i * 20))) {
          group.wait();
        }
        ++returned;
      }));
    }
    if (timed) {
      thrum::sleep_for(std::chrono::microseconds(round % 100));
    } else if (round % 8 == 0) {
      thrum::this_goroutine::yield();
    }
    REQUIRE(returned == 0);
    group.done();
    for (auto& waiter : waiters) {
      waiter.join();
    }
    REQUIRE(static_cast<std::size_t>(returned) == waiters.size());
  }
}

TEST_CASE("foreign threads add, end and wait beside goroutines") {
  thrum::runtime runtime(support::environment_options());
  for (int round = 0; round != scaled(200, 20); ++round) {
    thrum::wait_group group;
    std::atomic<int> done{0};
    group.add(4);
    for (int i = 0; i != 2; ++i) {
      runtime.go([&] {
        ++done;
        group.done();
      });
    }
    std::thread first([&] {
      ++done;
      group.done();
    });
    auto waiter = runtime.spawn([&] {
      group.wait();
      return done.load();
    });
    std::thread second([&] {
      ++done;
      group.done();
    });
    group.wait();
    REQUIRE(done == 4);
    REQUIRE(waiter.join() == 4);
    first.join();
    second.join();
  }
}

IN_RUNTIME("what was written before done is seen after wait") {
  for (int round = 0; round != scaled(2'000); ++round) {
    int values[8] = {};  // not atomic: ThreadSanitizer looks
    thrum::wait_group group;
    for (int& value : values) {
      group.go([&value, round] { value = round; });
    }
    group.wait();
    for (const int value : values) {
      REQUIRE(value == round);
    }
  }
}

IN_RUNTIME("a done() too many is an error and leaves the count at zero: the next waiter waits") {
  thrum::wait_group group;
  CHECK(is_usage_error("wait_group::add", [&] { group.done(); }));
  CHECK(group.wait_for(0s));
  group.add();
  CHECK_FALSE(group.wait_for(1ms));
  CHECK(is_usage_error("wait_group::add", [&] { group.add(-3); }));
  CHECK_FALSE(group.wait_for(1ms));
  group.done();
  CHECK(group.wait_for(0s));
}

TEST_CASE("a wait_group may begin with a count") {
  thrum::wait_group group(2);
  CHECK_FALSE(group.wait_for(0ns));
  group.done();
  CHECK_FALSE(group.wait_for(0ns));
  group.done();
  group.wait();
  CHECK(is_usage_error("wait_group:", [] { const thrum::wait_group negative(-1); }));
  CHECK(is_usage_error("wait_group::add: the count would exceed 2147483647", [] {
    thrum::wait_group full(std::numeric_limits<int>::max());
    try {
      full.add(1);
    } catch (...) {
      full.add(-std::numeric_limits<int>::max());
      throw;
    }
  }));
}

IN_RUNTIME("wait_until ends with the count, or at its moment by whatever clock") {
  thrum::wait_group group(1);
  CHECK_FALSE(group.wait_until(std::chrono::steady_clock::now() + 1ms));
  thrum::go([&] { group.done(); });
  CHECK(group.wait_until(std::chrono::system_clock::now() + 1h));
}
