// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// options::memory: whose memory it is, that all of it comes back, and when a hook is called. An overflow
// of a stack of theirs: debug/trouble_test.cpp.
#include <thrum/memory_hooks.hpp>

#include <thrum/detail/sched/stack/stack_pool.hpp>

#include "support/counted_memory.hpp"
#include "support/test.hpp"

#include <exception>

using support::counted_memory;
using thrum::memory_use;

namespace {

thrum::options hooked(thrum::options options, counted_memory& memory) {
  options.memory = memory.hooks();
  return options;
}

thrum::options hooked(counted_memory& memory) {
  return hooked(support::environment_options(), memory);
}

/// Everything was given back, as it was handed out.
void check_balance(counted_memory& memory) {
  CHECK(memory.blocks() == 0);
  CHECK(memory.mistakes() == 0);
  CHECK(memory.calls() != 0);
}

/// The error of a function that has none to give.
template <class F>
std::error_code error_thrown_by(F f) {
  try {
    f();
  } catch (const std::system_error& error) {
    return error.code();
  }
  return {};
}

/// So many goroutines that wait at once.
void park_many(thrum::wait_group& group, thrum::latch& gate, int n) {
  for (int i = 0; i != n; ++i) {
    group.go([&gate] { gate.wait(); });
  }
}

}  // namespace

// ---- whose memory it is ------------------------------------------------------------------------

TEST_CASE("stacks come from the hooks of their runtime") {
  counted_memory memory;
  {
    thrum::runtime runtime(hooked(memory));
    CHECK(memory.blocks(memory_use::stack) == 0);
    runtime.block_on([&] {
      const counted_memory::block here = memory.find(__builtin_frame_address(0));
      CHECK(here.use == memory_use::stack);
      CHECK(here.bytes == thrum::options().stack_size + thrum::memory_hooks().stack_guard);
      CHECK(here.alignment == thrum::os::page_size());
      const std::size_t large = std::size_t{1} << 20;
      const auto there = thrum::spawn({.stack_size = large}, [&] {
                           return memory.find(__builtin_frame_address(0));
                         }).join();
      CHECK(there.use == memory_use::stack);
      CHECK(there.bytes == large + thrum::memory_hooks().stack_guard);
    });
  }
  check_balance(memory);
}

TEST_CASE("what a runtime knows of its processors, threads and hosts comes from its hooks") {
  counted_memory memory;
  {
    thrum::options options = hooked(with_procs(2), memory);
    options.max_threads = 100;
    thrum::runtime runtime(options);
    const std::size_t at_first = memory.blocks(memory_use::object);
    CHECK(at_first == 4);  // two tables and two processors
    runtime.procs(5);
    CHECK(memory.blocks(memory_use::object) == at_first + 3);
    runtime.procs(2);
    runtime.poll();
    CHECK(memory.blocks(memory_use::object) == at_first + 4);
    runtime.poll();
    CHECK(memory.blocks(memory_use::object) == at_first + 4);
    std::size_t bytes = 0;
    memory.for_each([&](std::uintptr_t at, const counted_memory::block& each) {
      CHECK(at % each.alignment == 0);
      bytes += each.use == memory_use::object ? each.bytes : 0;
    });
    CHECK(bytes < std::size_t{1} << 20);  // max_threads bounds the largest of them
  }
  check_balance(memory);
}

TEST_CASE("two runtimes with different hooks do not mix their stacks") {
  counted_memory ours;
  counted_memory theirs;
  std::atomic<int> mixed{0};
  {
    thrum::runtime one(hooked(with_procs(2), ours));
    thrum::runtime other(hooked(with_procs(2), theirs));
    thrum::runtime none(with_procs(2));
    const auto of = [&](const void* address) {
      return (ours.find(address).bytes != 0 ? 1 : 0) + (theirs.find(address).bytes != 0 ? 2 : 0);
    };
    const auto start_everywhere = [&] {
      for (int i = 0; i != 100; ++i) {
        auto in_one = one.spawn([&] { mixed += of(__builtin_frame_address(0)) != 1 ? 1 : 0; });
        auto in_other = other.spawn([&] { mixed += of(__builtin_frame_address(0)) != 2 ? 1 : 0; });
        auto in_none = none.spawn([&] { mixed += of(__builtin_frame_address(0)) != 0 ? 1 : 0; });
        in_none.join();
        in_other.join();
        in_one.join();
      }
    };
    start_everywhere();
    // Handles that go where another runtime's goroutine runs.
    one.block_on(start_everywhere);
    other.block_on(start_everywhere);
    none.block_on(start_everywhere);
    CHECK(mixed == 0);
  }
  check_balance(ours);
  check_balance(theirs);
}

TEST_CASE("a stack has the guard that is asked for, in pages, or none") {
  const std::size_t page = thrum::os::page_size();
  for (const std::size_t guard : {std::size_t{0}, std::size_t{1}, page, page + 1, 4 * page}) {
    counted_memory memory;
    {
      thrum::options options = hooked(with_procs(1), memory);
      options.memory.stack_guard = guard;
      thrum::runtime runtime(options);
      runtime.block_on([&] {
        const std::size_t beside =
            memory.find(__builtin_frame_address(0)).bytes - thrum::options().stack_size;
        CHECK(beside == (guard + page - 1) / page * page);
      });
    }
    check_balance(memory);
  }
}

TEST_CASE("only one of two hooks is an error of use") {
  counted_memory memory;
  thrum::options options = hooked(memory);
  options.memory.deallocate = nullptr;
  CHECK(support::is_usage_error("runtime", [&] { thrum::runtime runtime(options); }));
  options.memory = memory.hooks();
  options.memory.allocate = nullptr;
  CHECK(support::is_usage_error("runtime", [&] { thrum::runtime runtime(options); }));
  CHECK(memory.calls() == 0);
}

// ---- all of it comes back ----------------------------------------------------------------------

TEST_CASE("what the hooks gave is given back when the runtime has ended") {
  counted_memory memory;
  std::atomic<int> panics{0};
  std::atomic<int> unwound{0};
  {
    thrum::options options = hooked(memory);
    options.on_panic = [&](const std::exception_ptr&, thrum::goroutine_id) { ++panics; };
    thrum::runtime runtime(options);
    runtime.block_on([&] {
      thrum::wait_group group;
      thrum::latch gate(1);
      park_many(group, gate, 100);
      for (int i = 0; i != 10; ++i) {
        thrum::go([] { throw std::runtime_error("panics"); });
        thrum::go({.stack_size = 64 * 1024}, [] {});
        thrum::spawn([] { return std::string(100, 'x'); }).detach();
      }
      CHECK(eventually([&] { return panics == 10; }));
      gate.count_down();
      group.wait();
      for (int i = 0; i != 50; ++i) {
        thrum::go([&unwound] {
          struct at_end {
            std::atomic<int>& counts;
            ~at_end() { ++counts; }
          } const end{unwound};
          thrum::select();  // until the stop
        });
      }
    });
    runtime.procs(7);
    runtime.poll();
  }
  CHECK(panics == 10);
  check_balance(memory);
}

TEST_CASE("a handle that outlives its runtime keeps the one stack with its result") {
  counted_memory memory;
  std::optional<thrum::join_handle<int>> late;
  {
    thrum::runtime runtime(hooked(memory));
    late = runtime.spawn([] { return 7; });
    runtime.block_on([&] {
      thrum::wait_group group;
      thrum::latch gate(1);
      park_many(group, gate, 20);
      gate.count_down();
      group.wait();
    });
  }
  CHECK(memory.blocks(memory_use::stack) == 1);
  CHECK(memory.blocks(memory_use::object) == 0);
  CHECK(late->join() == 7);
  late.reset();
  check_balance(memory);
}

TEST_CASE("the pages of idle stacks stay with hooks that gave them") {
  if (THRUM_ASAN || THRUM_TSAN) {
    return;  // a stack that nobody runs on is not for others to read
  }
  const std::int64_t usual = thrum::sched::default_stack_idle_ns;
  thrum::sched::default_stack_idle_ns = 1'000'000;
  counted_memory memory;
  constexpr unsigned char mark = 0xA7;
  constexpr std::size_t used = 64 * 1024;
  std::uintptr_t lowest = 0;
  {
    thrum::runtime runtime(hooked(with_procs(1), memory));
    runtime
        .spawn([&] {
          volatile unsigned char frame[used];
          for (volatile unsigned char& each : frame) {
            each = mark;
          }
          lowest = reinterpret_cast<std::uintptr_t>(&frame[0]);
        })
        .join();
    thrum::sleep_for(50ms);
    const auto* const bytes = reinterpret_cast<const unsigned char*>(lowest);
    CHECK(memory.find(bytes).use == memory_use::stack);
    CHECK(std::count(bytes, bytes + used, mark) > 60 * 1024);  // the rest was used again by its end
  }
  thrum::sched::default_stack_idle_ns = usual;
  check_balance(memory);
}

// ---- no memory ---------------------------------------------------------------------------------

TEST_CASE("a hook without memory makes a spawn fail") {
  counted_memory memory;
  thrum::latch gate(1);
  thrum::latch later(1);
  {
    thrum::runtime runtime(hooked(memory));
    runtime.block_on([&] {
      memory.refuses_stacks = true;
      std::error_code error;
      int started = 0;
      // What has ended before is used first.
      while (!error && started != 1000) {
        error = error_thrown_by([&] {
          thrum::go([&gate] { gate.wait(); });
          ++started;
        });
      }
      CHECK(error == std::errc::not_enough_memory);
      CHECK(error_thrown_by([] { thrum::spawn([] {}).join(); }) == std::errc::not_enough_memory);
      CHECK(error_thrown_by([] { thrum::go({.stack_size = 1 << 20}, [] {}); }) ==
            std::errc::not_enough_memory);
      memory.refuses_stacks = false;
      CHECK(thrum::spawn([] { return 3; }).join() == 3);
      gate.count_down();
    });
    // From a thread that is not the runtime's.
    memory.refuses_stacks = true;
    std::error_code error;
    for (int i = 0; i != 1000 && !error; ++i) {
      error = error_thrown_by([&] { runtime.go([&later] { later.wait(); }); });
    }
    CHECK(error == std::errc::not_enough_memory);
    memory.refuses_stacks = false;
    later.count_down();
  }
  check_balance(memory);
}

TEST_CASE("stacks that idle processors keep are used before a spawn fails") {
  const std::int64_t usual = thrum::sched::default_stack_idle_ns;
  thrum::sched::default_stack_idle_ns = 3'600'000'000'000;  // nobody collects them meanwhile
  counted_memory memory;
  {
    thrum::runtime runtime(hooked(with_procs(1), memory));
    // Without a handle, which would give the stack to all processors.
    for (int i = 0; i != 5; ++i) {
      runtime.go([] {});
    }
    CHECK(eventually([&] { return runtime.stats().goroutines == 0; }));
    memory.refuses_stacks = true;
    // As soon as the processor is idle.
    CHECK(eventually([&] { return !error_thrown_by([&] { runtime.go([] {}); }); }));
    memory.refuses_stacks = false;
  }
  thrum::sched::default_stack_idle_ns = usual;
  check_balance(memory);
}

TEST_CASE("a hook without memory makes a runtime fail") {
  counted_memory memory;
  memory.refuses_objects = true;
  CHECK(error_thrown_by([&] { thrum::runtime runtime(hooked(memory)); }) ==
        std::errc::not_enough_memory);
  check_balance(memory);
  memory.refuses_objects = false;
  {
    thrum::runtime runtime(hooked(with_procs(1), memory));
    memory.refuses_objects = true;
    CHECK(error_thrown_by([&] { runtime.procs(3); }) == std::errc::not_enough_memory);
    CHECK(error_thrown_by([&] { runtime.poll(); }) == std::errc::not_enough_memory);
    CHECK(runtime.procs() == 1);
    runtime.block_on([] {});
  }
  check_balance(memory);
}

// ---- when a hook is called ---------------------------------------------------------------------

TEST_CASE("a runtime that is warm calls no hook") {
  counted_memory memory;
  {
    thrum::runtime runtime(hooked(memory));
    const auto work = [] {
      thrum::chan<int> values(0);
      for (int i = 0; i != 50; ++i) {
        thrum::spawn([] {}).join();
        auto sender = thrum::spawn([&] { values.send(i); });
        static_cast<void>(values.recv());
        sender.join();
        thrum::wait_group group;
        for (int each = 0; each != 8; ++each) {
          group.go([] { thrum::this_goroutine::yield(); });
        }
        group.wait();
      }
      thrum::sleep_for(10us);
      std::atomic<int> sum{0};
      thrum::parallel_for(0, 64, [&](int each) { sum += each; });
    };
    std::size_t least = memory.calls();
    runtime.block_on([&] {
      work();
      // More of them may be alive at once than before: some later time is warm.
      for (int attempt = 0; attempt != 200 && least != 0; ++attempt) {
        const std::size_t before = memory.calls();
        work();
        least = std::min(least, memory.calls() - before);
      }
    });
    CHECK(least == 0);
  }
  check_balance(memory);
}

TEST_CASE("a hook may wait for a goroutine that has no processor") {
  // As it does for a lock that the goroutine held when it was interrupted.
  static std::atomic<thrum::os::note*> released;
  static std::atomic<bool> asked;
  thrum::os::note release;
  released = &release;
  asked = false;
  counted_memory memory;
  {
    thrum::runtime runtime(hooked(with_procs(1), memory));
    runtime.block_on([&] {
      auto holder = thrum::spawn([&] {
        while (!asked) {
          thrum::this_goroutine::yield();
        }
        release.wake();
      });
      thrum::this_goroutine::yield();
      memory.before = [](counted_memory&) {
        asked = true;
        released.load()->sleep();
      };
      // The one processor is the caller's, and must go to the holder while the hook waits.
      auto other = thrum::spawn({.stack_size = 32 * 1024}, [] {});
      memory.before = nullptr;
      other.join();
      holder.join();
    });
  }
  check_balance(memory);
}

TEST_CASE(
    "halves of forks find goroutines to run them though no hook is called where work is found") {
  counted_memory memory;
  {
    thrum::runtime runtime(hooked(with_procs(2), memory));
    runtime.block_on([&] {
      for (int i = 0; i != 20; ++i) {
        thrum::latch taken(1);
        thrum::fork_join([&] { taken.wait(); }, [&] { taken.count_down(); });
      }
    });
  }
  check_balance(memory);
}

TEST_CASE("a function of a timer is called though its goroutine needs a stack from a hook") {
  counted_memory memory;
  for (int i = 0; i != 50; ++i) {
    std::atomic<int> called{0};
    thrum::latch gate(3);
    {
      thrum::runtime runtime(hooked(with_procs(1), memory));
      runtime.block_on([&] {
        // Each needs a stack of its own, and there is none left over.
        const auto wait = [&] {
          ++called;
          gate.arrive_and_wait();
        };
        const thrum::timer first = thrum::after_func(0ms, wait);
        const thrum::timer second = thrum::after_func(0ms, wait);
        gate.arrive_and_wait();
        CHECK(first.stop() == false);
        CHECK(second.stop() == false);
      });
      CHECK(called == 2);
      // Nobody waits for these: some are due as the runtime ends.
      runtime.block_on([&] {
        for (int n = 0; n != 5; ++n) {
          static_cast<void>(thrum::after_func(std::chrono::microseconds(20 * n), [] {}));
        }
        thrum::sleep_for(20us);
      });
    }
    check_balance(memory);
  }
}

TEST_CASE("a timer that is set again before its function has got a stack calls it twice") {
  static std::atomic<bool> holds;
  counted_memory memory;
  std::atomic<int> called{0};
  thrum::latch gate(1);
  {
    thrum::runtime runtime(hooked(with_procs(1), memory));
    runtime.block_on([&] {
      holds = true;
      memory.before = [](counted_memory&) {
        while (holds) {
          thrum::os::yield_thread();
        }
      };
      const thrum::timer timer = thrum::after_func(0ms, [&] {
        ++called;
        gate.wait();
      });
      thrum::sleep_for(2ms);
      CHECK(called == 0);
      CHECK(timer.reset(0ms) == false);
      thrum::sleep_for(2ms);
      CHECK(called == 0);
      holds = false;
      CHECK(eventually([&] { return called == 2; }));
      gate.count_down();
    });
  }
  check_balance(memory);
}
