// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A build with traits of its own (sched/core/traits.hpp): the whole library, channels and
// descriptors included, goes by a clock and a poller that the test drives.

// The library that the rest of the program links has other traits: here it is all compiled anew.
#undef THRUM_SEPARATE
#define THRUM_SEPARATE 0
#define THRUM_ABI_TRAITS _driven
#define THRUM_TRAITS_HEADER "support/driven_traits.hpp"

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/watched_exception.hpp"

#include <atomic>
#include <chrono>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <unistd.h>

namespace {

using namespace std::chrono_literals;

/// Waits for what another thread is about to do.
template <class Condition>
bool comes_true(Condition condition) {
  for (int i = 0; i != 20'000; ++i) {
    if (condition()) {
      return true;
    }
    std::this_thread::sleep_for(1ms);
  }
  return false;
}

thrum::options two_procs() {
  thrum::options options;
  options.procs = 2;
  return options;
}

void let_pass(thrum::runtime& runtime, std::chrono::nanoseconds by) {
  driven::now.fetch_add(by.count());
  runtime.scheduler().poller.wake();
}

}  // namespace

TEST_CASE("a build with its own traits is another library than the program's") {
  STATIC_REQUIRE(thrum::sched::traits::run_queue_capacity == 4);
  STATIC_REQUIRE(sizeof(thrum::sched::processor::queue) <
                 thrum::sched::default_traits::run_queue_capacity * sizeof(void*));
}

#if THRUM_EXCEPTIONS
TEST_CASE("an exception that leaves a watched call is shown to the observer of a second flavour") {
  CHECK(own_observer_sees_an_exception());
}

TEST_CASE("a runtime of a thread with a shadow stack is refused in one sentence") {
  CHECK_FALSE(thrum::sched::default_traits::has_shadow_stack());  // or no other test could run
  driven::has_shadow_stack = true;
  std::string said;
  try {
    const thrum::runtime runtime(two_procs());
  } catch (const std::system_error& error) {
    CHECK(error.code() == std::errc::not_supported);
    said = error.what();
  }
  driven::has_shadow_stack = false;
  CHECK(said.find("runtime: this thread has a shadow stack") == 0);
  CHECK_NOTHROW(thrum::runtime(two_procs()));
}
#endif

TEST_CASE("goroutines that do not fit into a ring of four all run, by way of the global queue") {
  thrum::runtime runtime(two_procs());
  std::atomic<int> ran{0};
  runtime.block_on([&] {
    thrum::wait_group all;
    for (int i = 0; i != 100; ++i) {
      all.add(1);
      thrum::go([&] {
        ++ran;
        all.done();
      });
    }
    all.wait();
  });
  CHECK(ran == 100);
}

TEST_CASE("a goroutine sleeps until the test's clock says so") {
  std::atomic<bool> asleep{false};
  std::atomic<bool> awake{false};
  thrum::runtime runtime(two_procs());
  thrum::join_handle<void> sleeper = runtime.spawn([&] {
    asleep = true;
    thrum::this_goroutine::sleep_for(24h);
    awake = true;
  });
  REQUIRE(comes_true([&] { return asleep && runtime.scheduler().poll.somebody_sleeps(); }));
  let_pass(runtime, 23h);
  CHECK_FALSE(awake);
  let_pass(runtime, 2h);
  CHECK(comes_true([&] { return awake.load(); }));
  sleeper.join();
}

TEST_CASE("a select with a deadline goes by the test's clock") {
  std::atomic<bool> timed_out{false};
  thrum::runtime runtime(two_procs());
  thrum::join_handle<void> waiter = runtime.spawn([&] {
    const thrum::chan<int> never;
    timed_out =
        thrum::select(thrum::on_recv(never, [](auto&&) {}), thrum::on_timeout(1h, [] {})) == 1;
  });
  REQUIRE(comes_true([&] { return runtime.scheduler().poll.somebody_sleeps(); }));
  let_pass(runtime, 61min);
  waiter.join();
  CHECK(timed_out);
}

TEST_CASE("a goroutine that waits for a descriptor goes on when the test's poller tells it to") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  {
    std::atomic<bool> told{false};
    thrum::runtime runtime(two_procs());
    thrum::join_handle<void> reader = runtime.spawn([&] {
      thrum::io::wait_readable(ends[0]);
      told = true;
    });
    thrum::sched::traits::poller& poller = runtime.scheduler().poller;
    REQUIRE(comes_true([&] { return poller.descriptors() != 0; }));
    CHECK_FALSE(told);
    // Before it has parked, what is posted may come to nothing.
    CHECK(comes_true([&] {
      poller.post(ends[0], driven::netpoll::readable);
      return told.load();
    }));
    reader.join();
  }
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("a blocking call on the last busy processor leaves a thread that waits for descriptors") {
  std::atomic<bool> inside{false};
  std::atomic<bool> may_go_on{false};
  std::atomic<bool> may_return{false};
  std::atomic<int> met{0};
  thrum::runtime runtime(two_procs());
  auto& scheduler = runtime.scheduler();
  const auto meet = [&] {
    ++met;
    while (met != 2) {
      std::this_thread::yield();
    }
  };
  thrum::join_handle<void> other = runtime.spawn(meet);
  runtime.spawn(meet).join();
  other.join();  // both processors have had a thread
  thrum::join_handle<void> caller = runtime.spawn([&] {
    thrum::blocking([&] {
      inside = true;
      comes_true([&] { return may_go_on.load(); });
    });
    // The other processor's thread sleeps, as there was no descriptor: it cannot know of this one.
    scheduler.poller.add(STDIN_FILENO, 0);
    thrum::blocking([&] { comes_true([&] { return may_return.load(); }); });
  });
  REQUIRE(comes_true([&] {
    let_pass(runtime, 1ms);  // the monitor takes the processor from a call that lasts
    return inside && scheduler.idle.idle_ps() == 2 && scheduler.idle.idle_ms() != 0;
  }));
  may_go_on = true;
  CHECK(comes_true([&] {
    driven::now.fetch_add(1'000'000);
    return scheduler.poll.somebody_sleeps();
  }));
  may_return = true;
  caller.join();
  scheduler.poller.remove(STDIN_FILENO);
}
