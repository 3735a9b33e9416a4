// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/detail/sched/run/find_work.hpp>

#include "support/lone_scheduler.hpp"
#include "support/test.hpp"

#if !defined(_WIN32)
#include <sys/resource.h>
#endif

using thrum::preemption;

namespace {

/// One P. Without preemption no monitor ends slices.
thrum::options fair_by_itself(preemption preempt) {
  thrum::options options = support::with_procs(1);
  options.preempt = preempt;
  options.time_slice = 1ms;
  return options;
}

/// The calling goroutine and another one hand the processor to each other until `done()`. How often
/// they did; `too_often` if it did not help.
constexpr int too_often = 100'000'000;
template <class Done>
int hand_overs_until(Done done) {
  thrum::chan<int> there(0);
  thrum::chan<int> back(0);
  auto other = thrum::spawn([&] {
    while (there.recv().has_value()) {
      back.send(0);
    }
  });
  int n = 0;
  for (; n != too_often && !done(); ++n) {
    there.send(0);
    back.recv();
  }
  there.close();
  other.join();
  return n;
}

}  // namespace

TEST_CASE("two goroutines that hand each other the processor let one in the ring run") {
  const auto mode = GENERATE(preemption::none, preemption::cooperative);
  support::with_runtime(fair_by_itself(mode), [] {
    bool ran = false;
    thrum::chan<int> start(0);
    auto third = thrum::spawn([&] {
      start.recv();
      ran = true;
    });
    thrum::this_goroutine::yield();
    start.send(0);  // before the other one of the pair is made ready, which takes runnext
    CHECK(hand_overs_until([&] { return ran; }) < too_often);
    third.join();
  });
}

TEST_CASE("two goroutines that hand each other the processor let one in the global queue run") {
  const auto mode = GENERATE(preemption::none, preemption::cooperative);
  support::with_runtime(fair_by_itself(mode), [] {
    bool ran = false;
    auto third = thrum::spawn([&] {
      thrum::this_goroutine::yield();
      ran = true;
    });
    thrum::this_goroutine::yield();
    REQUIRE_FALSE(ran);
    CHECK(hand_overs_until([&] { return ran; }) < too_often);
    third.join();
  });
}

// By the machine's time: take_test.cpp has the rule alone.
TEST_CASE("two goroutines that hand each other the processor share it with a loop by time",
          "[.soak]") {
  thrum::options options = fair_by_itself(preemption::cooperative);
  options.time_slice = 10ms;
  support::with_runtime(options, [] {
    bool over = false;
    int turns = 0;
    auto loop = thrum::spawn([&] {
      while (!over) {
        ++turns;
        const auto end = std::chrono::steady_clock::now() + 1ms;
        while (std::chrono::steady_clock::now() < end) {
          thrum::this_goroutine::preemption_point();
        }
      }
    });
    // 64 to a turn of the loop, and each turn a slice, would be a thousand turns.
    const int hand_overs = support::scaled(10'000);
    int n = 0;
    hand_overs_until([&] { return ++n == hand_overs; });
    CHECK(turns < 400);
    over = true;
    loop.join();
  });
}

TEST_CASE("two goroutines that hand each other the processor let those run whose timers are due") {
  const auto mode = GENERATE(preemption::none, preemption::cooperative);
  support::with_runtime(fair_by_itself(mode), [] {
    constexpr int sleepers = 8;
    int awake = 0;
    thrum::wait_group group;
    for (int i = 0; i != sleepers; ++i) {
      group.go([&] {
        thrum::sleep_for(100us);
        ++awake;
      });
    }
    thrum::this_goroutine::yield();
    CHECK(hand_overs_until([&] { return awake == sleepers; }) < too_often);
    group.wait();
  });
}

TEST_CASE(
    "two goroutines that hand each other the processor let one run whose descriptor is ready") {
  const auto mode = GENERATE(preemption::none, preemption::cooperative);
  support::with_runtime(fair_by_itself(mode), [] {
    bool ran = false;
    thrum::io::pipe pipe;
    auto third = thrum::spawn([&] {
      char byte = 0;
      pipe.reader().read(std::span<char>(&byte, 1));
      ran = true;
    });
    thrum::this_goroutine::yield();
    pipe.writer().write("x");
    CHECK(hand_overs_until([&] { return ran; }) < too_often);
    third.join();
  });
}

IN_RUNTIME("goroutines that each start the next one let one in the ring run",
           fair_by_itself(preemption::none)) {
  bool ran = false;
  int n = 0;
  thrum::wait_group group;
  struct chain {
    bool& ran;
    int& n;
    thrum::wait_group& group;
    void operator()() const {
      if (!ran && ++n != too_often) {
        group.go(chain(*this));
      }
    }
  };
  group.go([&] { ran = true; });
  group.go(chain{ran, n, group});  // takes runnext
  group.wait();
  CHECK(n < too_often);
}

IN_RUNTIME("a goroutine that yields for ever lets one run whose descriptor is ready",
           fair_by_itself(preemption::none)) {
  bool ran = false;
  thrum::io::pipe pipe;
  auto third = thrum::spawn([&] {
    char byte = 0;
    pipe.reader().read(std::span<char>(&byte, 1));
    ran = true;
  });
  auto other = thrum::spawn([&] {
    for (int n = 0; n != too_often && !ran; ++n) {
      thrum::this_goroutine::yield();
    }
  });
  thrum::this_goroutine::yield();
  pipe.writer().write("x");
  int n = 0;
  for (; n != too_often && !ran; ++n) {
    thrum::this_goroutine::yield();
  }
  CHECK(n < too_often);
  third.join();
  other.join();
}

#if !defined(_WIN32)
// By how often threads sleep: leave_poller_test.cpp has the rule alone.
TEST_CASE("goroutines that answer each other through the system wake no thread for each answer",
          "[.soak]") {
  if (std::getenv("THRUM_TEST_EMULATOR") != nullptr) {
    return;  // it is so slow that what the monitor sleeps between two rounds counts
  }
  support::with_runtime(support::with_procs(2), [] {
    if (thrum::runtime::current()->poller() == thrum::poller_kind::io_uring) {
      return;  // its answers come when the threads that asked have been in the kernel
    }
    thrum::io::pipe there;
    thrum::io::pipe back;
    char letter = 'x';
    auto other = thrum::spawn([&] {
      char got = 0;
      while (there.reader().read(std::span(&got, 1)) == 1) {
        back.writer().write(std::string_view(&got, 1));
      }
    });
    const auto use_so_far = [] {
      rusage use{};
      ::getrusage(RUSAGE_SELF, &use);
      return use;
    };
    // Where each answer wakes another P, two parts in three have a sleep for each answer or more. A thread that
    // is off its CPU, as on a machine that is busy otherwise, looks like one that computes, and the monitor
    // sleeps again and again meanwhile: so parts are counted, and not their sleeps, and only those in which no
    // thread lost its CPU; and more than once, as the monitor remembers for a while.
    const auto most_parts_are_quiet = [&] {
      constexpr int rounds = 100;
      constexpr int parts = 200;
      int quiet = 0;
      int undisturbed = 0;
      for (int part = 0; part != parts; ++part) {
        const rusage before = use_so_far();
        for (int i = 0; i != rounds; ++i) {
          there.writer().write(std::string_view(&letter, 1));
          REQUIRE(back.reader().read(std::span(&letter, 1)) == 1);
        }
        const rusage after = use_so_far();
        const bool lost_cpu = after.ru_nivcsw != before.ru_nivcsw;
        undisturbed += lost_cpu ? 0 : 1;
        quiet += !lost_cpu && after.ru_nvcsw - before.ru_nvcsw < rounds / 6 ? 1 : 0;
      }
      return quiet >= undisturbed - quiet;
    };
    bool quiet = false;
    for (int attempt = 0; attempt != 5 && !quiet; ++attempt) {
      quiet = most_parts_are_quiet();
    }
    CHECK(quiet);
    there.writer().close();
    other.join();
  });
}
#endif

IN_RUNTIME("while goroutines compute for long after their events an idle P waits for the next one",
           support::with_procs(2)) {
  const auto& turn = thrum::sched::current_m()->scheduler->poll;
  thrum::io::pipe events;
  const thrum::runtime& own = *thrum::runtime::current();
  constexpr int before = 20;  // events after which it has computed for long
  bool waits = false;
  std::atomic<bool> is_over = false;
  std::atomic<int> taken = 0;
  auto computes = thrum::spawn([&] {
    char event = 0;
    for (int n = 0; n <= before && events.reader().read(std::span(&event, 1)) == 1; ++n) {
      ++taken;
      const auto until =
          std::chrono::steady_clock::now() + (n == before ? support::long_time : 5ms);
      while (!(n == before && waits) && std::chrono::steady_clock::now() < until) {
        waits = turn.somebody_sleeps();
      }
    }
    is_over = true;
  });
  // A thread that is none of ours: a P that writes would find the event. It writes when both wait.
  std::thread writer([&] {
    for (int n = 0; !is_over; ++n) {
      support::eventually([&] { return is_over || (taken == n && own.stats().waiting == 2); });
      events.writer().write("x");
    }
  });
  computes.join();
  CHECK(waits);
  writer.join();
}

TEST_CASE("an M may search on a processor that goes out of service while the others idle") {
  support::lone_scheduler scheduler(2);
  thrum::sched::machine& m = scheduler.holder_of(1);
  REQUIRE(scheduler->set_procs(1) == 0);
  CHECK(may_spin(m));
}

TEST_CASE("an M that lays its processor down while it searches leaves that to another one") {
  support::lone_scheduler scheduler(2);
  thrum::sched::machine& m = scheduler.holder_of(1);
  scheduler->idle.begin_spinning(m);
  REQUIRE(scheduler->set_procs(1) == 0);
  scheduler->closing = true;  // so that it does not sleep
  CHECK(find_work(m) == nullptr);
  CHECK(m.p == nullptr);
  CHECK_FALSE(m.spinning);
  CHECK(scheduler.started() == 1);
  scheduler.end_search();
  CHECK(scheduler->idle.spinning() == 0);  // it does not count as one that searches
}
