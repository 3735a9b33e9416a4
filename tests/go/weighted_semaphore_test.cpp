// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The tests of golang.org/x/sync/semaphore on weighted_semaphore, re-created from their descriptions.
// Where they differ: to ask for more than there ever is does not wait until its context is done, but
// is an error of use; and what needs no wait is taken with a context that is done, too.

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/scale.hpp"
#include "support/with_runtime.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <vector>

using namespace std::chrono_literals;
using support::is_usage_error;
using support::scaled;
using support::with_procs;
using support::with_runtime;
using thrum::testing::bubble;

TEST_CASE("semaphore: goroutines that hammer it never have more than there is") {
  with_runtime(with_procs(4), [] {
    thrum::weighted_semaphore permits(4);
    std::atomic<std::ptrdiff_t> out{0};
    std::atomic<int> excess{0};
    thrum::wait_group group;
    for (std::ptrdiff_t n = 1; n <= 4; ++n) {
      group.go([&, n] {
        for (int i = 0; i != scaled(500); ++i) {
          permits.acquire(n);
          excess += (out += n) > 4 ? 1 : 0;
          out -= n;
          permits.release(n);
        }
      });
    }
    group.wait();
    CHECK(excess == 0);
    CHECK(permits.try_acquire(4));
  });
}

TEST_CASE("semaphore: to release more than is held is an error") {
  thrum::weighted_semaphore permits(1);
  CHECK(is_usage_error("weighted_semaphore::release", [&] { permits.release(1); }));
}

TEST_CASE("semaphore: TryAcquire takes what is there and no more") {
  thrum::weighted_semaphore permits(2);
  std::vector<bool> tries;
  permits.acquire(1);
  tries.push_back(permits.try_acquire(1));
  tries.push_back(permits.try_acquire(1));
  permits.release(2);
  tries.push_back(permits.try_acquire(1));
  permits.acquire(1);
  tries.push_back(permits.try_acquire(1));
  CHECK(tries == std::vector<bool>{true, false, true, false});
}

TEST_CASE("semaphore: what is too big for it does not block the others") {
  with_runtime([] {
    thrum::weighted_semaphore permits(2);
    CHECK(is_usage_error("weighted_semaphore::acquire", [&] { permits.acquire(3); }));
    CHECK(permits.try_acquire_for(1, 1h));
    CHECK_FALSE(permits.try_acquire(3));
    CHECK(permits.try_acquire(1));
  });
}

TEST_CASE("semaphore: small requests that never end do not starve a large one") {
  with_runtime(with_procs(4), [] {
    thrum::weighted_semaphore permits(4);
    std::atomic<bool> has_had_all{false};
    permits.acquire(4);
    thrum::wait_group group;
    for (int i = 0; i != 4; ++i) {
      group.go([&] {
        while (!has_had_all) {
          permits.acquire(1);
          thrum::this_goroutine::yield();
          permits.release(1);
        }
      });
    }
    permits.release(4);
    permits.acquire(4);
    has_had_all = true;
    permits.release(4);
    group.wait();
    CHECK(permits.try_acquire(4));
  });
}

TEST_CASE("semaphore: a large request that is called off lets small ones in") {
  bubble([] {
    thrum::weighted_semaphore permits(10);
    permits.acquire(1);
    bool large = true;
    thrum::wait_group group;
    group.go([&] { large = permits.try_acquire_for(10, 1min); });
    thrum::testing::wait();
    permits.acquire(1);
    group.wait();
    CHECK_FALSE(large);
  });
}

TEST_CASE("semaphore: Acquire waits until its context is done, and takes nothing then") {
  bubble([] {
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
  });
}

TEST_CASE("semaphore: with a context that is done already, Acquire takes what needs no wait") {
  with_runtime([] {
    thrum::weighted_semaphore permits(2);
    const thrum::context done = thrum::context::background().with_cancel();
    done.cancel();
    CHECK(permits.acquire(2, done));
    CHECK_FALSE(permits.acquire(1, done));
    permits.release(2);
    CHECK(permits.try_acquire(2));
  });
}

TEST_CASE("semaphore: a large request whose context is cancelled lets small ones in") {
  bubble([] {
    thrum::weighted_semaphore permits(10);
    permits.acquire(1);
    const thrum::context large = thrum::context::background().with_cancel();
    auto waits = thrum::spawn([&] { return permits.acquire(10, large); });
    thrum::testing::wait();
    auto small = thrum::spawn([&] { return permits.try_acquire_for(1, 1min); });
    thrum::testing::wait();
    large.cancel();
    CHECK_FALSE(waits.join());
    CHECK(small.join());
  });
}
