// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/detail/sched/thread/thread_creator.hpp>

#include "support/program.hpp"
#include "support/test.hpp"

namespace {

using give_back_traits = thrum::sched::traits;
using idle_pool = thrum::sched::stack_pool;
using idle_g = thrum::sched::goroutine;

/// Runtimes that are made while it lives find a millisecond long enough.
class short_idle_times {
 public:
  short_idle_times() {
    thrum::sched::default_stack_idle_ns = 1'000'000;
    thrum::sched::default_thread_idle_ns = 1'000'000;
  }
  ~short_idle_times() {
    thrum::sched::default_stack_idle_ns = stacks_;
    thrum::sched::default_thread_idle_ns = threads_;
  }
  short_idle_times(const short_idle_times&) = delete;
  short_idle_times& operator=(const short_idle_times&) = delete;

 private:
  const std::int64_t stacks_ = thrum::sched::default_stack_idle_ns;
  const std::int64_t threads_ = thrum::sched::default_thread_idle_ns;
};

bool give_back_is_emulated() { return std::getenv("THRUM_TEST_EMULATOR") != nullptr; }

thrum::base::intrusive_queue<idle_g> queue_of(idle_g* g) {
  thrum::base::intrusive_queue<idle_g> one;
  one.push_back(g);
  return one;
}

/// So many threads at once inside calls that block.
void block_threads(thrum::runtime& runtime, int count) {
  std::atomic<int> inside{0};
  std::atomic<bool> leave{false};
  runtime.block_on([&] {
    thrum::wait_group group;
    for (int i = 0; i != count; ++i) {
      group.go([&] {
        thrum::blocking([&] {
          ++inside;
          while (!leave) {
            thrum::os::sleep_ns(100'000);
          }
        });
      });
    }
    support::eventually([&] { return inside == count; });
    leave = true;
    group.wait();
  });
}

}  // namespace

TEST_CASE("a stack that was unused for a whole period is among the oldest") {
  auto* const pool = new idle_pool;
  idle_g* const g = pool->take(16);
  CHECK_FALSE(pool->has_idle());
  pool->put(16, queue_of(g));
  CHECK(pool->has_idle());
  std::uint8_t size_class = 0;
  pool->grow_older();  // it may have been put a moment ago
  CHECK(pool->take_oldest(10, size_class).empty());
  pool->grow_older();
  auto oldest = pool->take_oldest(10, size_class);
  CHECK(size_class == 16);
  REQUIRE(oldest.size() == 1);
  CHECK(oldest.front() == g);
  pool->put_discarded(16, std::move(oldest));
  CHECK_FALSE(pool->has_idle());
  CHECK(pool->take(16) == g);
  idle_pool::abandon(pool);
}

TEST_CASE("a stack that is used in every period never grows old") {
  auto* const pool = new idle_pool;
  idle_g* const used = pool->take(16);
  idle_g* const idle = pool->take(16);
  pool->put(16, queue_of(idle));
  pool->put(16, queue_of(used));
  std::uint8_t size_class = 0;
  for (int period = 0; period != 4; ++period) {
    pool->grow_older();
    CHECK(pool->take(16) == used);
    pool->put(16, queue_of(used));
  }
  const auto oldest = pool->take_oldest(10, size_class);
  REQUIRE(oldest.size() == 1);
  CHECK(oldest.front() == idle);
  idle_pool::abandon(pool);
}

TEST_CASE("a pool reports idle stacks once, until it was found to have none") {
  auto* const pool = new idle_pool;
  int told = 0;
  pool->tell_of_idle([](void* count) noexcept { ++*static_cast<int*>(count); }, &told);
  idle_g* const first = pool->take(16);
  idle_g* const second = pool->take(16);
  pool->put(16, queue_of(first));
  pool->put(16, queue_of(second));
  CHECK(told == 1);
  CHECK(pool->has_idle());
  REQUIRE(pool->take(16) != nullptr);
  REQUIRE(pool->take(16) != nullptr);
  CHECK_FALSE(pool->has_idle());
  pool->put(16, queue_of(first));
  CHECK(told == 2);
  idle_pool::abandon(pool);
}

TEST_CASE("what a burst of goroutines used of their stacks goes back to the system") {
  if (THRUM_ASAN || THRUM_TSAN || give_back_is_emulated()) {
    return;  // these keep memory for each stack that was ever used
  }
  const support::program_result r = support::run_program("stacks_after_a_burst");
  INFO(r.text);
  CHECK(r.exit_code == 0);
  CHECK(r.says("given back\n"));
}

#if !defined(_WIN32)  // nobody says how often a thread has slept

TEST_CASE("once memory and threads are given back, an idle runtime wakes no thread") {
  if (THRUM_TSAN || give_back_is_emulated()) {
    return;  // these sleep by themselves, which would be counted
  }
  const support::program_result r = support::run_program("rest_after_a_burst");
  INFO(r.text);
  CHECK(r.exit_code == 0);
  CHECK(r.says("at rest\n"));
}

#endif

TEST_CASE("threads of a burst end when they were idle for a while") {
  const short_idle_times soon;
  std::atomic<int> started{0};
  std::atomic<int> stopped{0};
  {
    thrum::runtime runtime(thrum::options{.procs = 2,
                                          .on_thread_start = [&](unsigned) { ++started; },
                                          .on_thread_stop = [&](unsigned) { ++stopped; }});
    block_threads(runtime, 20);
    CHECK(support::eventually([&] { return runtime.stats().threads <= 4; }));
    CHECK(started >= 20);
    CHECK(support::eventually([&] { return stopped >= 16; }));
  }
  CHECK(started == stopped);
}

TEST_CASE("threads that ended are replaced, with the same numbers") {
  const short_idle_times soon;
  std::atomic<unsigned> largest{0};
  thrum::runtime runtime(
      thrum::options{.procs = 2, .max_threads = 30, .on_thread_start = [&](unsigned m) {
                       unsigned before = largest;
                       while (before < m && !largest.compare_exchange_weak(before, m)) {
                       }
                     }});
  for (int burst = 0; burst != 4; ++burst) {
    block_threads(runtime, 20);
    CHECK(support::eventually([&] { return runtime.stats().threads <= 4; }));
  }
  CHECK(largest < 30);
}

TEST_CASE("a goroutine that is locked to its thread keeps it") {
  const short_idle_times soon;
  thrum::runtime runtime(thrum::options{.procs = 2});
  thrum::chan<void> end(0);
  const auto number = [] { return thrum::os::thread_id(); };
  auto locked = runtime.spawn([end, number] {
    const thrum::thread_lock lock;
    const std::uint64_t before = number();
    end.recv();
    return before == number();
  });
  block_threads(runtime, 20);
  CHECK(support::eventually([&] { return runtime.stats().threads <= 5; }));
  end.close();
  CHECK(locked.join());
}

TEST_CASE("loops lose their processors beside threads that end and are replaced") {
  const short_idle_times soon;
  std::atomic<bool> stop{false};
  thrum::runtime runtime(thrum::options{.procs = 2, .time_slice = std::chrono::milliseconds(1)});
  std::vector<thrum::join_handle<void>> loops;
  for (int i = 0; i != 4; ++i) {
    loops.push_back(runtime.spawn([&] {
      while (!stop) {
        thrum::this_goroutine::preemption_point();
      }
    }));
  }
  for (int burst = 0; burst != 4; ++burst) {
    block_threads(runtime, 10);
    runtime.block_on([] { thrum::sleep_for(std::chrono::milliseconds(3)); });
  }
  stop = true;
  for (auto& each : loops) {
    each.join();
  }
  CHECK(runtime.stats().threads >= 2);
}

TEST_CASE("a late signal may be for a thread that ended and was replaced") {
  if (!thrum::base::signals_are_deferred) {
    return;  // ThreadSanitizer keeps them until the goroutine calls something that it knows
  }
  const short_idle_times soon;
  std::atomic<bool> stop{false};
  std::atomic<int> made{0};
  thrum::runtime runtime(thrum::options{
      .procs = 2, .time_slice = std::chrono::microseconds(200), .on_thread_start = [&](unsigned) {
        made.fetch_add(1, std::memory_order_relaxed);
      }});
  std::vector<thrum::join_handle<void>> loops;
  for (int i = 0; i != 8; ++i) {
    loops.push_back(runtime.spawn([&] {
      for (int seen = 0; !stop;) {
        // relaxed: a loop that looked at the new thread in another way would hide a race with it
        if (const int now = made.load(std::memory_order_relaxed); now != seen) {
          seen = now;
          delete new std::atomic<int>(0);  // a call that it knows
        }
        thrum::this_goroutine::preemption_point();
      }
    }));
  }
  for (int burst = 0; burst != 20; ++burst) {
    block_threads(runtime, 20);
    CHECK(support::eventually([&] { return runtime.stats().threads <= 12; }));
  }
  stop = true;
  for (auto& each : loops) {
    each.join();
  }
  CHECK(made > 20);
}
