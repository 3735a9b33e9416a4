// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/sched/core/thread_reserve.hpp>

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/with_runtime.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>

using namespace std::chrono_literals;
using support::eventually;

namespace {

thrum::options with_few_threads() {
  thrum::options options = support::with_procs(2);
  options.max_threads = 4;
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
  const auto always = [] { return true; };
  const auto never = [] { return false; };
  const auto entry = [](thrum::sched::goroutine&) {};
  const int places[3] = {};
  std::unique_ptr<thrum::sched::goroutine[]> all(new thrum::sched::goroutine[3]);
  for (std::size_t i = 0; i != 3; ++i) {
    all[i].entry = entry;
    all[i].started_at = &places[i == 2];  // two of one kind
  }
  thrum::sched::goroutine& loop = all[2];
  thrum::sched::thread_reserve reserve;
  static_cast<void>(reserve.note_loop(loop, always));
  static_cast<void>(reserve.note_loop(all[0], always));
  REQUIRE(reserve.hold_back(all[1], always));
  REQUIRE(reserve.hold_back(loop, always));
  for (std::size_t i = 0; i != 4 * threads; ++i) {
    static_cast<void>(reserve.note_loop(loop, always));
  }
  CHECK(reserve.release(threads, never).empty());
  static_cast<void>(reserve.note_loop(loop, always));
  auto free = reserve.release(threads, never);
  CHECK(free.pop_front() == &all[1]);
  CHECK(free.empty());
  CHECK(reserve.is_active());
  CHECK_FALSE(reserve.hold_back(all[0], always));
  CHECK(reserve.release(threads, always).pop_front() == &loop);
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
