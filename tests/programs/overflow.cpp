// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Programs whose goroutines use up their stacks by large frames, without touching them page by
// page.

#include "programs/programs.hpp"
#include "programs/wait_for_the_end.hpp"

#include <thrum.hpp>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <new>

#if defined(__GNUC__) && !defined(__clang__)
#define NO_PROBES __attribute__((noinline, optimize("no-stack-clash-protection")))
#else
#define NO_PROBES __attribute__((noinline))
#endif

namespace {

using programs::wait_for_the_end;
using namespace std::chrono_literals;

/// Touches no more of its frame than the end that is nearest to its caller.
template <std::size_t Bytes>
NO_PROBES int descend(int depth) {
  volatile char frame[Bytes];
  frame[Bytes - 1] = static_cast<char>(depth);
  asm volatile("" : : "r"(&frame[0]) : "memory");
  return depth == 0 ? frame[Bytes - 1] : descend<Bytes>(depth - 1) + frame[Bytes - 1];
}

int twice_the_stack(std::size_t bytes) {
  return static_cast<int>(2 * thrum::options().stack_size / bytes);
}

template <std::size_t Bytes>
int overflow_alone() {
  return thrum::run([] {
    thrum::go({.name = "deep"}, [] {
      descend<Bytes>(twice_the_stack(Bytes));
      std::puts("came back");
    });
    return wait_for_the_end();
  });
}

/// The stacks of those that start in a row lie in a row.
template <std::size_t Bytes>
int overflow_between() {
  return thrum::run(thrum::options{.procs = 1}, [] {
    thrum::chan<void> turn(0);
    const auto neighbour = [turn] { turn.recv(); };
    thrum::go({.name = "below"}, neighbour);
    thrum::go({.name = "deep"}, [turn] {
      turn.recv();
      descend<Bytes>(twice_the_stack(Bytes));
      std::puts("came back");
    });
    thrum::go({.name = "above"}, neighbour);
    thrum::sleep_for(1ms);
    turn.close();
    return wait_for_the_end();
  });
}

int overflow_small_stack() {
  return thrum::run([] {
    thrum::go({.stack_size = 16 * 1024, .name = "small"}, [] {
      descend<60'000>(4);
      std::puts("came back");
    });
    return wait_for_the_end();
  });
}

/// On a stack that a hook has given. A guard of a page is enough where each page is touched.
int overflow_stack_of_hook(std::size_t guard) {
  thrum::options options;
  options.memory.allocate = [](std::size_t bytes, std::size_t alignment, thrum::memory_use,
                               void*) noexcept {
    return ::operator new(bytes, std::align_val_t(alignment), std::nothrow);
  };
  options.memory.deallocate = [](void* memory, std::size_t, std::size_t alignment,
                                 thrum::memory_use, void*) noexcept {
    ::operator delete(memory, std::align_val_t(alignment));
  };
  options.memory.stack_guard = guard;
  return thrum::run(options, [] {
    thrum::go({.name = "deep"}, [] {
      descend<1'000>(twice_the_stack(1'000));
      std::puts("came back");
    });
    return wait_for_the_end();
  });
}

int overflow_on_stack_of_hook() {
  return overflow_stack_of_hook(thrum::memory_hooks().stack_guard);
}

int overflow_into_guard_of_a_page() { return overflow_stack_of_hook(1); }

// C++26 fills a local that has no value, and would touch the guard.
#if defined(__has_cpp_attribute) && __has_cpp_attribute(indeterminate)
#define NO_VALUE [[indeterminate]]
#else
#define NO_VALUE
#endif

/// One frame that reaches beyond the guard, without touching it.
template <class F>
NO_PROBES void beyond_the_guard(F f) {
  NO_VALUE volatile char frame[340'000];
  frame[sizeof frame - 1] = 1;
  f();
  asm volatile("" : : "r"(&frame[0]) : "memory");
}

/// The frame reaches into the stack of a parked goroutine, which is not needed any more.
template <class F>
int overflow_beyond(F f) {
  return thrum::run(thrum::options{.procs = 1}, [f] {
    // Somebody to yield to. The first of all: its stack must be out of reach.
    thrum::go([] {
      for (;;) {
        thrum::this_goroutine::yield();
      }
    });
    for (int i = 0; i != 4; ++i) {
      thrum::go([] { thrum::select(); });
    }
    thrum::go({.name = "huge"}, [f] {
      beyond_the_guard(f);
      std::puts("came back");
    });
    return wait_for_the_end();
  });
}

int overflow_that_parks() {
  return overflow_beyond([] { thrum::sleep_for(1ms); });
}

int overflow_that_yields() {
  return overflow_beyond([] { thrum::this_goroutine::yield(); });
}

/// From there it goes on into the guard of another stack, and faults.
int overflow_that_faults() {
  return overflow_beyond([] { descend<1'000>(1'000); });
}

/// Parks on a stack that the goroutine brought along, as libraries of coroutines do.
int park_on_own_stack() {
  return thrum::run([] {
    namespace arch = thrum::arch;
    static void* outer;
    static void* inner;
    alignas(64) static char stack[256 * 1024];
    inner = arch::prepare_stack(
        std::end(stack), {stack, stack},
        [](void*, void*) {
          thrum::sleep_for(1ms);
          thrum::this_goroutine::yield();
          arch::switch_stack(&inner, outer, nullptr);
        },
        nullptr);
    arch::switch_stack(&outer, inner, nullptr);
    std::puts("went on");
    return 0;
  });
}

const programs::entry overflow_entries[] = {
    {"overflow_by_40k", overflow_alone<40'000>},
    {"overflow_by_60k", overflow_alone<60'000>},
    {"overflow_between_by_40k", overflow_between<40'000>},
    {"overflow_between_by_60k", overflow_between<60'000>},
    {"overflow_small_stack", overflow_small_stack},
    {"overflow_on_stack_of_hook", overflow_on_stack_of_hook},
    {"overflow_into_guard_of_a_page", overflow_into_guard_of_a_page},
    {"overflow_that_parks", overflow_that_parks},
    {"overflow_that_yields", overflow_that_yields},
    {"overflow_that_faults", overflow_that_faults},
    {"park_on_own_stack", park_on_own_stack},
};
const programs::group overflow_registered(overflow_entries);

}  // namespace
