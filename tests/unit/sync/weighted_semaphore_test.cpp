// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// With the tests of golang.org/x/sync/semaphore, re-created from their descriptions, where they promise
// more. They differ: to ask for more than there ever is does not wait until its context is done, but is
// an error of use; and what needs no wait is taken with a context that is done, too.

#include <thrum/sync/weighted_semaphore.hpp>

#include <thrum/testing/bubble.hpp>

#include "support/test.hpp"
#include "support/waits.hpp"

using thrum::testing::bubble;

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

IN_BUBBLE("a waiter for many permits gets none before it gets all") {
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
}

IN_BUBBLE("a waiter for many permits is not overtaken by those that want few") {
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
}

TEST_CASE("a waiter that gives up lets those behind it have what is free") {
  const bool by_context = GENERATE(false, true);
  bubble([by_context] {
    thrum::weighted_semaphore permits(4);
    permits.acquire(2);
    bool first_acquired = true;
    std::atomic<int> acquired{0};
    thrum::wait_group group;
    group.go([&] {
      first_acquired = by_context
                           ? permits.acquire(4, thrum::context::background().with_timeout(1s))
                           : permits.try_acquire_for(4, 1s);
    });
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
    REQUIRE(are_waiting(1));
    CHECK_FALSE(behind.done());
    thrum::blocking([&] { other.stop(); });
    behind.join();
    CHECK_FALSE(permits.try_acquire());
  });
}

IN_RUNTIME("a wait for several permits that times out leaves the number as it was") {
  thrum::weighted_semaphore permits(3);
  permits.acquire(2);
  CHECK_FALSE(permits.try_acquire_for(2, 1ms));
  CHECK_FALSE(permits.try_acquire_until(2, std::chrono::steady_clock::now() + 1ms));
  permits.release(2);
  CHECK(permits.try_acquire_for(2, 1h));
  CHECK(permits.try_acquire_until(1, std::chrono::steady_clock::now() + 1h));
  CHECK_FALSE(permits.try_acquire());
}

IN_RUNTIME("no more permits are out than a weighted_semaphore has, and none gets lost",
           with_procs(4)) {
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
}

IN_BUBBLE("the number of a weighted_semaphore's permits may be raised and lowered in use") {
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

IN_BUBBLE("semaphore: Acquire waits until its context is done, and takes nothing then") {
  thrum::weighted_semaphore permits(2);
  std::vector<bool> tries;
  const auto acquire = [&](std::ptrdiff_t n) {
    return permits.acquire(n, thrum::context::background().with_timeout(10ms));
  };
  tries.push_back(acquire(1));
  tries.push_back(acquire(1));
  tries.push_back(acquire(1));
  permits.release(2);
  tries.push_back(acquire(1));
  permits.acquire(1);
  tries.push_back(acquire(1));
  CHECK(tries == std::vector<bool>{true, true, false, true, false});
  permits.release(2);
  CHECK(permits.try_acquire(2));
}

IN_RUNTIME("semaphore: with a context that is done already, Acquire takes what needs no wait") {
  thrum::weighted_semaphore permits(2);
  const thrum::context done = thrum::context::background().with_cancel();
  done.cancel();
  CHECK(permits.acquire(2, done));
  CHECK_FALSE(permits.acquire(1, done));
  permits.release(2);
  CHECK(permits.try_acquire(2));
}
