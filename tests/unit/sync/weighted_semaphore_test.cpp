// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/sync/weighted_semaphore.hpp>

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/scale.hpp"
#include "support/set_back_clock.hpp"
#include "support/waits.hpp"
#include "support/with_runtime.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <limits>
#include <memory>
#include <vector>

using namespace std::chrono_literals;
using support::eventually;
using support::is_usage_error;
using support::scaled;
using support::with_procs;
using support::with_runtime;

constinit thrum::weighted_semaphore a_global_weighted_semaphore(3);

TEST_CASE("a weighted_semaphore may be a constinit global") {
  CHECK(a_global_weighted_semaphore.max() == 3);
  CHECK(a_global_weighted_semaphore.try_acquire(3));
  a_global_weighted_semaphore.release(3);
}

TEST_CASE("a weighted_semaphore gives as many permits as it has, several in one step") {
  thrum::weighted_semaphore permits(5);
  CHECK(permits.try_acquire(3));
  CHECK_FALSE(permits.try_acquire(3));
  CHECK(permits.try_acquire(2));
  CHECK_FALSE(permits.try_acquire());
  CHECK(permits.try_acquire(0));
  permits.release(4);
  permits.acquire(4);
  CHECK_FALSE(permits.try_acquire());
  CHECK_FALSE(permits.try_acquire(6));
}

TEST_CASE("a waiter for many permits gets none before it gets all") {
  thrum::testing::bubble([] {
    thrum::weighted_semaphore permits(4);
    permits.acquire(4);
    bool acquired = false;
    auto waiter = thrum::spawn([&] {
      permits.acquire(3);
      acquired = true;
    });
    thrum::testing::wait();
    permits.release(2);
    thrum::testing::wait();
    CHECK_FALSE(acquired);
    permits.release(2);
    waiter.join();
    CHECK(permits.try_acquire(1));
    CHECK_FALSE(permits.try_acquire(1));
  });
}

TEST_CASE("a waiter for many permits is not overtaken by those that want few") {
  thrum::testing::bubble([] {
    thrum::weighted_semaphore permits(10);
    permits.acquire(10);
    std::vector<int> order;
    thrum::wait_group group;
    const auto queue_up = [&](int name, std::ptrdiff_t n) {
      group.go([&permits, &order, name, n] {
        permits.acquire(n);
        order.push_back(name);
      });
      thrum::testing::wait();
    };
    queue_up(1, 8);
    queue_up(2, 1);
    queue_up(3, 2);
    queue_up(4, 0);
    permits.release(7);
    thrum::testing::wait();
    CHECK(order.empty());
    CHECK_FALSE(permits.try_acquire(1));
    CHECK_FALSE(permits.try_acquire_for(1, 1s));
    permits.release(2);
    thrum::testing::wait();
    CHECK(order.size() == 2);  // 8 and 1 are out, and 1 still with the test
    permits.release(1);
    thrum::testing::wait();
    CHECK(order.size() == 2);
    permits.release(1);
    group.wait();
    CHECK(order == std::vector<int>{1, 2, 3, 4});
  });
}

TEST_CASE("a waiter that gives up lets those behind it have what is free") {
  thrum::testing::bubble([] {
    thrum::weighted_semaphore permits(4);
    permits.acquire(2);
    bool first_acquired = true;
    std::atomic<int> acquired{0};
    thrum::wait_group group;
    group.go([&] { first_acquired = permits.try_acquire_for(4, 1s); });
    thrum::testing::wait();
    for (int i = 0; i != 2; ++i) {
      group.go([&] {
        permits.acquire(1);
        ++acquired;
      });
    }
    thrum::testing::wait();
    CHECK(acquired == 0);
    group.wait();
    CHECK_FALSE(first_acquired);
    CHECK(acquired == 2);
    CHECK_FALSE(permits.try_acquire());
  });
}

TEST_CASE("a waiter whose runtime stops lets those of other runtimes have what is free") {
  thrum::weighted_semaphore permits(4);
  permits.acquire(2);
  with_runtime([&] {
    std::atomic<bool> waits{false};
    thrum::runtime other;
    other.go([&] {
      waits = true;
      permits.acquire(4);
    });
    REQUIRE(eventually([&] { return waits && other.stats().waiting == 1; }));
    auto behind = thrum::spawn([&] { permits.acquire(2); });
    REQUIRE(eventually([] { return thrum::stats().waiting == 1; }));
    CHECK_FALSE(behind.done());
    thrum::blocking([&] { other.stop(); });
    behind.join();
    CHECK_FALSE(permits.try_acquire());
  });
}

TEST_CASE("a wait for several permits that times out leaves the number as it was") {
  with_runtime([] {
    thrum::weighted_semaphore permits(3);
    permits.acquire(2);
    CHECK_FALSE(permits.try_acquire_for(2, 1ms));
    CHECK_FALSE(permits.try_acquire_until(2, std::chrono::steady_clock::now() + 1ms));
    permits.release(2);
    CHECK(permits.try_acquire_for(2, 1h));
    CHECK(permits.try_acquire_until(1, std::chrono::steady_clock::now() + 1h));
    CHECK_FALSE(permits.try_acquire());
  });
}

TEST_CASE("no more permits are out than a weighted_semaphore has, and none gets lost") {
  with_runtime(with_procs(4), [] {
    thrum::weighted_semaphore permits(7);
    std::atomic<std::ptrdiff_t> out{0};
    std::atomic<int> excess{0};
    const auto work = [&] {
      for (int i = 0; i != scaled(300); ++i) {
        const std::ptrdiff_t n = 1 + i % 7;
        if (i % 3 == 0) {
          if (!permits.try_acquire_for(n, std::chrono::microseconds(i % 20))) {
            continue;
          }
        } else {
          permits.acquire(n);
        }
        excess += (out += n) > 7 ? 1 : 0;
        if (i % 5 == 0) {
          thrum::this_goroutine::yield();
        }
        out -= n;
        permits.release(n);
      }
    };
    support::on_goroutines_and_threads(4, work);
    CHECK(excess == 0);
    CHECK(permits.try_acquire(7));
  });
}

TEST_CASE("a goroutine that has acquired the last permits of a weighted_semaphore may destroy it") {
  with_runtime(with_procs(4), [] {
    int early = 0;
    const int rounds = scaled(2'000);
    for (int i = 0; i != rounds; ++i) {
      std::atomic<bool> released{false};
      auto permits = std::make_unique<thrum::weighted_semaphore>(2);
      permits->acquire(2);
      auto* const shared = permits.get();
      thrum::go([&released, shared] {
        released = true;
        shared->release(2);
      });
      permits->acquire(2);
      early += released ? 0 : 1;
      permits.reset();
    }
    CHECK(early == 0);
  });
}

TEST_CASE("the number of a weighted_semaphore's permits may be raised and lowered in use") {
  thrum::testing::bubble([] {
    thrum::weighted_semaphore permits(2);
    permits.acquire(2);
    auto waiter = thrum::spawn([&] { permits.acquire(2); });
    thrum::testing::wait();
    permits.max(3);
    thrum::testing::wait();
    CHECK_FALSE(waiter.done());
    permits.max(4);
    waiter.join();
    permits.max(1);  // four are taken
    CHECK(permits.max() == 1);
    CHECK_FALSE(permits.try_acquire(0));
    permits.release(3);
    CHECK_FALSE(permits.try_acquire());
    permits.release();
    CHECK(permits.try_acquire());
    CHECK(is_usage_error("weighted_semaphore::release", [&] { permits.release(2); }));
    CHECK(is_usage_error("weighted_semaphore::acquire", [&] { permits.acquire(2); }));
    CHECK(is_usage_error("weighted_semaphore::max", [&] { permits.max(-1); }));
  });
}

TEST_CASE("a stop of the runtime ends a wait for several permits") {
  thrum::weighted_semaphore permits(2);
  permits.acquire();
  CHECK(support::is_unwound_at_stop([&] { permits.acquire(2); }));
  permits.release();
  CHECK(permits.try_acquire(2));
}

TEST_CASE("numbers that a weighted_semaphore can never grant are errors of use") {
  constexpr auto most = std::numeric_limits<std::ptrdiff_t>::max();
  CHECK(is_usage_error("weighted_semaphore:", [] { thrum::weighted_semaphore s(-1); }));
  thrum::weighted_semaphore two(2);
  CHECK(is_usage_error("weighted_semaphore::acquire", [&] { two.acquire(3); }));
  CHECK(is_usage_error("weighted_semaphore::acquire", [&] { two.acquire(-1); }));
  CHECK(is_usage_error("weighted_semaphore::acquire",
                       [&] { static_cast<void>(two.try_acquire_for(most, 1ms)); }));
  CHECK(is_usage_error("weighted_semaphore::try_acquire",
                       [&] { static_cast<void>(two.try_acquire(-1)); }));
  CHECK(is_usage_error("weighted_semaphore::release", [&] { two.release(1); }));
  two.acquire(2);
  CHECK(is_usage_error("weighted_semaphore::release", [&] { two.release(3); }));
  CHECK(is_usage_error("weighted_semaphore::release", [&] { two.release(most); }));
  CHECK(is_usage_error("weighted_semaphore::release", [&] { two.release(-1); }));
  two.release(2);
  CHECK(two.try_acquire(2));
}

TEST_CASE(
    "a wait for several permits until a moment of a clock that is set back lasts until then") {
  with_runtime([] {
    thrum::weighted_semaphore taken(1);
    taken.acquire();
    const auto when = support::set_back_clock::soon();
    CHECK_FALSE(taken.try_acquire_until(1, when));
    CHECK(support::set_back_clock::now() >= when);
  });
}
