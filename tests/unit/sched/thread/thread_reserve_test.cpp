// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/detail/sched/thread/thread_reserve.hpp>

#include "support/test.hpp"

namespace {

thrum::options with_few_threads() {
  thrum::options options = support::with_procs(2);
  options.max_threads = 4;
  options.time_slice = 1ms;
  return options;
}

/// Loops that call nothing cannot be stopped where signals wait until something is called.
constexpr bool loops_can_be_stopped = !thrum::base::signals_are_deferred;

/// Three times as many loops that call nothing as there may be threads. It outlives the runtime, as
/// some loops begin only when the runtime ends, and it waits for them.
struct loops_for_ever {
  void start(thrum::runtime& runtime) {
    for (int i = 0; i != 12; ++i) {
      runtime.go([this] {
        ++begun;
        while (!stop.load(std::memory_order_relaxed)) {
        }
        ++ended;
      });
    }
  }
  std::atomic<bool> stop{false};
  std::atomic<int> begun{0};
  std::atomic<int> ended{0};
};

/// The last one is of a kind of its own.
std::unique_ptr<thrum::sched::goroutine[]> two_of_one_kind_and_a_loop() {
  static const int places[2] = {};
  const auto entry = [](thrum::sched::goroutine&) {};
  std::unique_ptr<thrum::sched::goroutine[]> all(new thrum::sched::goroutine[3]);
  for (std::size_t i = 0; i != 3; ++i) {
    all[i].entry = entry;
    all[i].started_at = &places[i == 2];
  }
  return all;
}

}  // namespace

TEST_CASE("a goroutine that sleeps goes on beside more loops than there may be threads") {
  if (!loops_can_be_stopped) {
    return;
  }
  loops_for_ever loops;
  std::atomic<int> slept{0};
  thrum::runtime runtime(with_few_threads());
  loops.start(runtime);
  runtime.go([&] {
    for (; slept != 20; ++slept) {
      thrum::sleep_for(1ms);
    }
  });
  CHECK(eventually([&] { return slept == 20; }));
  CHECK(loops.begun < 4);
  loops.stop = true;
}

TEST_CASE("a goroutine that is new runs beside a loop though the last thread waits for events") {
  if (!loops_can_be_stopped) {
    return;
  }
  thrum::options options = support::with_procs(1);
  options.max_threads = 2;
  options.time_slice = 1ms;
  thrum::run(options, [] {
    thrum::io::pipe p;
    auto reader = thrum::spawn([&p] {
      char c = 0;
      return p.read(std::span(&c, 1));
    });
    const auto& poll = thrum::sched::current_m()->scheduler->poll;
    support::eventually([&poll] {
      thrum::blocking([] { std::this_thread::sleep_for(1ms); });
      return poll.somebody_sleeps();
    });
    std::atomic<bool> has_run{false};
    thrum::go([&] { has_run = true; });
    for (const auto until = std::chrono::steady_clock::now() + support::long_time;
         !has_run.load(std::memory_order_relaxed) && std::chrono::steady_clock::now() < until;) {
    }
    CHECK(has_run);
    p.writer().close();
    CHECK(reader.join() == 0);
  });
}

TEST_CASE("a program in which nothing blocks runs with fewer threads than processors") {
  for (const auto& [procs, threads] : {std::pair(2U, 1U), std::pair(4U, 2U)}) {
    thrum::options options = support::with_procs(procs);
    options.max_threads = threads;
    std::atomic<int> ran{0};
    thrum::run(options, [&ran] {
      thrum::task_group group;
      for (int i = 0; i != 300; ++i) {
        group.go([&ran] {
          thrum::sleep_for(100us);
          thrum::this_goroutine::yield();
          ++ran;
        });
        thrum::this_goroutine::yield();
      }
      group.wait();
    });
    CHECK(ran == 300);
  }
}

TEST_CASE("calls that block one after the other need no more threads than two") {
  thrum::options options = support::with_procs(2);
  options.max_threads = 2;
  int calls = 0;
  thrum::run(options, [&calls] {
    thrum::io::pipe p;
    auto reader = thrum::spawn([&p] {
      char c = 0;
      return p.read(std::span(&c, 1));
    });
    for (; calls != 30; ++calls) {
      thrum::blocking([] { std::this_thread::sleep_for(200us); });
    }
    p.writer().close();
    CHECK(reader.join() == 0);
  });
  CHECK(calls == 30);
}

TEST_CASE("new goroutines of other kinds run beside more loops than there may be threads") {
  if (!loops_can_be_stopped) {
    return;
  }
  loops_for_ever loops;
  std::atomic<int> ran{0};
  thrum::runtime runtime(with_few_threads());
  loops.start(runtime);
  CHECK(eventually([&] { return loops.begun == 3; }));
  for (int i = 0; i != 20; ++i) {
    runtime.go([&] { ++ran; });
  }
  CHECK(eventually([&] { return ran == 20; }));
  loops.stop = true;
}

TEST_CASE("a kind of which none is stopped any more, while others are, is held back no longer") {
  constexpr std::size_t threads = 3;
  const auto all = two_of_one_kind_and_a_loop();
  thrum::sched::goroutine& loop = all[2];
  thrum::sched::thread_reserve reserve;
  reserve.begin_locked();
  reserve.note_loop(loop);
  reserve.note_loop(all[0]);
  REQUIRE(reserve.hold_back(all[1]));
  REQUIRE(reserve.hold_back(loop));
  for (std::size_t i = 0; i != 4 * threads; ++i) {
    reserve.note_loop(loop);
  }
  CHECK(reserve.release(threads).empty());
  reserve.note_loop(loop);
  auto free = reserve.release(threads);
  CHECK(free.pop_front() == &all[1]);
  CHECK(free.empty());
  CHECK_FALSE(reserve.hold_back(all[0]));
  reserve.end_locked();
  CHECK(reserve.release(threads).pop_front() == &loop);
}

TEST_CASE("only what is of a loop's kind is held back, and only while threads are short") {
  const auto all = two_of_one_kind_and_a_loop();
  thrum::sched::thread_reserve reserve;
  reserve.note_loop(all[2]);
  CHECK(reserve.is_of_loops(all[2]));
  CHECK_FALSE(reserve.is_of_loops(all[0]));
  CHECK_FALSE(reserve.hold_back(all[2]));
  reserve.begin_locked();
  CHECK_FALSE(reserve.hold_back(all[0]));
  CHECK(reserve.hold_back(all[2]));
  CHECK(reserve.release(3).empty());
  reserve.end_locked();
  CHECK(reserve.release(3).pop_front() == &all[2]);
}

TEST_CASE("loops that were held back begin when others have ended") {
  if (!loops_can_be_stopped) {
    return;
  }
  loops_for_ever loops;
  thrum::runtime runtime(with_few_threads());
  loops.start(runtime);
  CHECK(eventually([&] { return loops.begun == 3; }));
  loops.stop = true;
  CHECK(eventually([&] { return loops.ended == 12; }));
}
