// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/sync/semaphore.hpp>

#include "support/test.hpp"
#include "support/waits.hpp"

static_assert(thrum::binary_semaphore::max() == 1);
static_assert(thrum::counting_semaphore<7>::max() == 7);
// A lock that is checked is larger.
static_assert(sizeof(thrum::sched::spin_lock) != 4 || sizeof(thrum::counting_semaphore<>) <= 24);

TEST_CASE("a semaphore gives as many permits as it has") {
  thrum::counting_semaphore<> permits(2);
  CHECK(permits.try_acquire());
  CHECK(permits.try_acquire());
  CHECK_FALSE(permits.try_acquire());
  permits.release();
  CHECK(permits.try_acquire());
}

IN_RUNTIME("acquire blocks until a permit is released") {
  thrum::binary_semaphore permits(0);
  bool acquired = false;
  auto waiter = thrum::spawn([&] {
    permits.acquire();
    acquired = true;
  });
  REQUIRE(are_waiting(1));
  CHECK_FALSE(acquired);
  permits.release();
  waiter.join();
  CHECK(acquired);
  CHECK_FALSE(permits.try_acquire());
}

IN_RUNTIME("permits go to the waiters, in the order of their arrival", with_procs(1)) {
  thrum::counting_semaphore<> permits(0);
  std::vector<int> order;
  thrum::wait_group group;
  for (int i = 0; i != 5; ++i) {
    group.go([&, i] {
      permits.acquire();
      order.push_back(i);
    });
    REQUIRE(eventually([&] { return thrum::stats().waiting == static_cast<unsigned>(i) + 1; }));
  }
  for (std::size_t served = 1; served <= 5; ++served) {
    permits.release();
    CHECK_FALSE(permits.try_acquire());
    REQUIRE(eventually([&] { return order.size() == served; }));
  }
  group.wait();
  CHECK(order == std::vector<int>{0, 1, 2, 3, 4});
}

IN_RUNTIME("a wait for a permit that times out leaves the count as it was") {
  thrum::counting_semaphore<> permits(0);
  CHECK_FALSE(permits.try_acquire_for(1ms));
  CHECK_FALSE(permits.try_acquire_until(std::chrono::steady_clock::now() + 1ms));
  permits.release();
  CHECK(permits.try_acquire_for(1h));
  CHECK_FALSE(permits.try_acquire());
}

IN_RUNTIME("time-outs that race with releases lose no permit and make none", with_procs(4)) {
  thrum::counting_semaphore<> permits(0);
  std::atomic<int> acquired{0};
  const int n = scaled(2'000);
  thrum::wait_group group;
  for (int k = 0; k != 4; ++k) {
    group.go([&] {
      for (int i = 0; i != n; ++i) {
        acquired += permits.try_acquire_for(std::chrono::microseconds(i % 20)) ? 1 : 0;
      }
    });
  }
  const int released = 2 * n;
  group.go([&] {
    for (int i = 0; i != released; ++i) {
      permits.release();
      if (i % 16 == 0) {
        thrum::this_goroutine::yield();
      }
    }
  });
  group.wait();
  int left = 0;
  while (permits.try_acquire()) {
    ++left;
  }
  CHECK(acquired + left == released);
}

IN_RUNTIME("goroutines and foreign threads share a semaphore") {
  thrum::counting_semaphore<> permits(3);
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  const auto work = [&] {
    for (int i = 0; i != scaled(300); ++i) {
      permits.acquire();
      const int now = ++inside;
      int seen = most;
      while (seen < now && !most.compare_exchange_weak(seen, now)) {
      }
      --inside;
      permits.release();
    }
  };
  support::on_goroutines_and_threads(4, work);
  CHECK(most <= 3);
  permits.release(0);
  CHECK(permits.try_acquire());
}

TEST_CASE("numbers of permits out of range are errors of use") {
  CHECK(is_usage_error("counting_semaphore:", [] { thrum::counting_semaphore<> s(-1); }));
  CHECK(is_usage_error("counting_semaphore:", [] { thrum::binary_semaphore s(2); }));
  thrum::binary_semaphore one(1);
  CHECK(is_usage_error("counting_semaphore::release", [&] { one.release(); }));
  CHECK(is_usage_error("counting_semaphore::release", [&] { one.release(-1); }));
}
