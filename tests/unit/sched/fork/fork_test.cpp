// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/detail/sched/fork/fork.hpp>

#include "support/test.hpp"

namespace {

struct counting_half : thrum::sched::forked {
  counting_half() noexcept : forked(&run_it, true) {}

  static void run_it(forked& half) noexcept {
    auto& own = static_cast<counting_half&>(half);
    own.ran_by = thrum::this_goroutine::id();
  }
  std::atomic<thrum::goroutine_id> ran_by{0};
};

/// Like support::eventually, but no timer of the runtime's makes anybody look for work.
template <class Claim>
bool eventually_without_timers(Claim claim) {
  const auto end = std::chrono::steady_clock::now() + support::long_time;
  while (!claim() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(1ms);
  }
  return claim();
}

}  // namespace

TEST_CASE("a goroutine is a forker from the beginning of its outermost fork to the end") {
  with_runtime([] {
    CHECK(thrum::sched::forker_of(thrum::sched::current_m()) == nullptr);
    {
      const thrum::sched::forker own;
      CHECK(thrum::sched::forker_of(thrum::sched::current_m()) == &own);
      thrum::this_goroutine::yield();
      CHECK(thrum::sched::forker_of(thrum::sched::current_m()) == &own);
    }
    CHECK(thrum::sched::forker_of(thrum::sched::current_m()) == nullptr);
  });
  CHECK_FALSE(thrum::sched::may_fork());
}

IN_RUNTIME("a half that no thief took goes back to its owner unrun", with_endless_slices(1)) {
  thrum::sched::forker own;
  counting_half half;
  REQUIRE(thrum::sched::offer(own, half));
  CHECK(thrum::sched::take_back(own, half));
  CHECK(half.ran_by == 0);
}

IN_RUNTIME("a half that was taken is done when its owner asks for it") {
  thrum::sched::forker own;
  for (int i = 0; i != 100; ++i) {
    counting_half half;
    REQUIRE(thrum::sched::offer(own, half));
    thrum::this_goroutine::yield();
    const bool is_ours = thrum::sched::take_back(own, half);
    CHECK(is_ours == (half.ran_by == 0));
    CHECK(half.ran_by != thrum::this_goroutine::id());
  }
}

IN_RUNTIME("a half that is offered inside blocking() is taken though all processors rest",
           with_procs(2)) {
  thrum::sched::forker own;
  thrum::blocking([&] {
    CHECK(eventually_without_timers([&] { return own.scheduler.monitor.is_asleep(); }));
    while (own.deque.home().spend_credit()) {  // as if calls for help had been of no use
    }
    counting_half half;
    REQUIRE(thrum::sched::offer(own, half));
    CHECK(eventually_without_timers([&] { return half.ran_by != 0; }));
    CHECK_FALSE(thrum::sched::take_back(own, half));
  });
}
