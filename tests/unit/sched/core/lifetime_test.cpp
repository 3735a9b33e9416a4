// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/detail/sched/core/lifetime.hpp>

#include "support/test.hpp"

TEST_CASE("an end begins once, at its call, and for good") {
  thrum::sched::endings ending;
  CHECK_FALSE(ending.has_begun());
  ending.begin();
  CHECK(ending.has_begun());
  ending.begin();
  ending.withdraw([] {});
  ending.tell_drained();
  CHECK(ending.has_begun());
}

TEST_CASE("the owner of a wait point waits for a look at it that has begun") {
  thrum::sched::endings ending;
  std::atomic<bool> looks{false};
  std::atomic<bool> owner_comes{false};
  int look = 0;  // at what the owner is about to destroy
  std::thread looker([&] {
    ending.withdraw([&] {
      looks = true;
      support::eventually([&] { return owner_comes.load(); });
      thrum::os::sleep_ns(1'000'000);
      look = 1;
    });
  });
  support::eventually([&] { return looks.load(); });
  owner_comes = true;
  ending.wait_for_looks();
  const int seen = look;
  looker.join();
  CHECK(seen == 1);
}

TEST_CASE("the owner of a wait point does not wait before or after a look at wait points") {
  thrum::sched::endings ending;
  int looks = 0;
  ending.wait_for_looks();
  ending.withdraw([&] { ++looks; });
  ending.wait_for_looks();
  ending.withdraw([&] { ++looks; });
  CHECK(looks == 2);
}

TEST_CASE(
    "the thread that stops a runtime waits until no goroutine is left, and checks at each notice") {
  thrum::sched::endings ending;
  std::atomic<int> left{3};
  std::atomic<int> asked{0};
  bool over = false;
  std::thread stopper([&] {
    ending.wait_until([&] {
      const bool is_over = left == 0;
      ++asked;
      return is_over;
    });
    over = left == 0;
  });
  CHECK(support::eventually([&] { return asked >= 1; }));
  while (left != 0) {
    const int before = asked;
    --left;
    ending.tell_drained();
    CHECK(support::eventually([&] { return asked > before; }));
  }
  stopper.join();
  CHECK(over);
  CHECK(asked <= 4);  // it sleeps until it is told
}

TEST_CASE("a notice that the last goroutine has ended is kept for a thread that waits later") {
  thrum::sched::endings ending;
  int asked = 0;
  ending.tell_drained();
  ending.wait_until([&] { return ++asked == 2; });
  CHECK(asked == 2);
}

TEST_CASE("a wait for wakers returns at once if there are none, or all have left") {
  thrum::sched::waker_count wakers;
  int passed = 0;
  wakers.wait_until_gone();
  ++passed;
  wakers.enter();
  wakers.enter();
  wakers.leave();
  wakers.leave();
  wakers.wait_until_gone();
  ++passed;
  CHECK(passed == 2);
}

TEST_CASE("a thread that waits for wakers to be gone waits for the last of them") {
  thrum::sched::waker_count wakers;
  wakers.enter();
  wakers.enter();
  std::atomic<bool> begun{false};
  int touched = 0;  // by the last visitor
  int seen = 0;
  std::thread destroyer([&] {
    begun = true;
    wakers.wait_until_gone();
    seen = touched;
  });
  support::eventually([&] { return begun.load(); });
  wakers.leave();
  thrum::os::sleep_ns(1'000'000);
  touched = 1;
  wakers.leave();
  destroyer.join();
  CHECK(seen == 1);
}
