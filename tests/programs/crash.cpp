// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The programs of Go's tests for crashes, as far as C++ has what they use: deadlocks with locked
// threads, exits and panics that meet, threads that run out.

#include "programs/programs.hpp"
#include "programs/wait_for_the_end.hpp"

#include <thrum.hpp>
#include <thrum/coroutine.hpp>
#include <thrum/testing/bubble.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

#include <unistd.h>

namespace {

using programs::wait_for_the_end;
using namespace std::chrono_literals;

// ---- deadlocks ----

int locked_deadlock() {
  return thrum::run([] {
    const thrum::thread_lock lock;
    thrum::select();
  });
}

int locked_deadlock_of_two() {
  return thrum::run([] {
    thrum::go([] {
      const thrum::thread_lock lock;
      thrum::select();
    });
    thrum::sleep_for(1ms);
    thrum::select();
  });
}

// ---- exits ----

int exit_of_main() {
  struct says_so {
    ~says_so() { std::puts("unwound"); }
  };
  try {
    return thrum::run([] {
      thrum::go([] {
        const says_so other;
        thrum::sleep_for(1h);
      });
      thrum::sleep_for(1ms);
      const says_so main;
      thrum::this_goroutine::exit();
      std::puts("went on");
      return 7;
    });
  } catch (const thrum::usage_error& error) {
    std::printf("run: %s\n", error.what());
    return 0;
  }
}

int exit_in_a_handler() {
  return thrum::run([] {
    thrum::wait_group group;
    group.go([] {
      try {
        throw std::runtime_error("handled by leaving");
      } catch (const std::runtime_error&) {
        thrum::this_goroutine::exit();
      }
    });
    group.wait();
    std::puts("lives");
    return 0;
  });
}

int panic_after_exit() {
  return thrum::run([] {
    thrum::go([] {
      try {
        thrum::this_goroutine::exit();
      } catch (const thrum::goroutine_exit&) {
        throw std::runtime_error("on the way out");
      }
    });
    return wait_for_the_end();
  });
}

int handled_panic_after_exit() {
  return thrum::run([] {
    thrum::wait_group group;
    group.go([] {
      try {
        thrum::this_goroutine::exit();
      } catch (const thrum::goroutine_exit&) {
        try {
          throw std::runtime_error("on the way out");
        } catch (const std::runtime_error&) {
          std::puts("handled");
        }
        throw;
      }
      std::puts("went on");
    });
    group.wait();
    return 0;
  });
}

// ---- panics ----

template <class Pause>
int panic_after_a_pause(Pause pause) {
  return thrum::run([pause] {
    std::atomic<bool> stop{false};
    auto other = thrum::spawn([&stop] {
      while (!stop) {
        thrum::this_goroutine::yield();
      }
    });
    thrum::go([pause] {
      try {
        throw std::runtime_error("thrown on");
      } catch (...) {
        pause();
        throw;
      }
    });
    const int result = wait_for_the_end();
    stop = true;
    other.join();
    return result;
  });
}

int panic_after_yield() {
  return panic_after_a_pause([] { thrum::this_goroutine::yield(); });
}

int panic_after_blocking() {
  return panic_after_a_pause([] { thrum::blocking([] { ::usleep(1'000); }); });
}

int panic_in_a_bubble() {
  thrum::testing::bubble({.seed = 77}, [] {
    thrum::go([] { throw std::runtime_error("out of time"); });
    thrum::sleep_for(std::chrono::hours(1));
  });
  return 0;
}

/// Its text is asked for while the panic is reported.
template <class F>
class says : public std::exception {
 public:
  explicit says(F f) : say_(f) {}
  const char* what() const noexcept override { return say_(); }

 private:
  F say_;
};

int panic_in_a_panic() {
  return thrum::run([] {
    thrum::go([] { throw says([]() -> const char* { throw std::runtime_error("the text"); }); });
    return wait_for_the_end();
  });
}

int panic_that_waits() {
  return thrum::run([] {
    thrum::go([] {
      throw says([] {
        thrum::this_goroutine::yield();
        thrum::sleep_for(1ms);
        return "well considered";
      });
    });
    return wait_for_the_end();
  });
}

int panic_beside_the_end() {
  return thrum::run([] {
    thrum::wait_group group;
    group.add(1);
    thrum::go([&] {
      struct at_end {
        thrum::wait_group& group;
        ~at_end() { group.done(); }
      } const guard{group};
      throw std::runtime_error("main would end");
    });
    group.wait();
    return 0;
  });
}

[[gnu::noinline]] void close_twice(thrum::chan<int>& channel) {
  channel.close();
  channel.close();
}

int panic_of_wrong_use() {
  return thrum::run([] {
    thrum::go([] {
      thrum::chan<int> channel(0);
      close_twice(channel);
    });
    return wait_for_the_end();
  });
}

int lost_exceptions() {
  return thrum::run([] {
    {
      const auto dropped = thrum::spawn([] { throw std::runtime_error("first lost"); });
    }
    const auto ends = thrum::make_chan<void>();
    thrum::spawn([ends] {
      ends.recv();
      throw std::runtime_error("second lost");
    }).detach();
    ends.close();
    return 7;
  });
}

int lost_exception_of_a_detached_goroutine() {
  return thrum::run([] {
    thrum::spawn([] { throw std::runtime_error("first lost"); }).detach();
    return 7;
  });
}

int lost_exception_of_a_coroutine() {
  return thrum::run([] {
    const auto fail = []() -> thrum::co_task<> {
      throw std::runtime_error("first lost");
      co_return;
    };
    auto taken = thrum::co_spawn(fail());
    try {
      taken.join();
    } catch (const std::runtime_error&) {  // this one is not lost
    }
    thrum::co_spawn(fail()).detach();
    return 7;
  });
}

int go_nothing() {
  return thrum::run([] {
    thrum::go(std::function<void()>());
    return wait_for_the_end();
  });
}

int dump_alone() {
  return thrum::run([] {
    thrum::dump_goroutines(stdout);
    return 0;
  });
}

// ---- signals ----

[[gnu::noinline]] void write_where_nothing_is(volatile int* where) {
  *where = 1;
  asm volatile("");
}

[[gnu::noinline]] void call_what_is_nowhere(void (*f)()) {
  f();
  asm volatile("");
}

/// The heap is written over while another part of it is free; the C library notices in malloc.
[[gnu::noinline]] void write_over_the_heap() {
  constexpr std::size_t bytes = 100'000;
  auto* const memory = static_cast<volatile char*>(std::malloc(bytes));
  for (std::size_t i = 0; i != 16; ++i) {  // what is behind them may not be memory
    memory[bytes + i] = '\xff';
  }
  for (std::size_t i = 1; i != 100; ++i) {
    asm volatile("" : : "r"(std::malloc(i * 1'000)) : "memory");
  }
}

/// Lies in a page that is never mapped; not null, which a sanitizer sees for itself.
volatile int* nowhere() { return reinterpret_cast<volatile int*>(4096 | (::getpid() & 8)); }

template <class F>
int crash_in_a_goroutine(F f) {
  return thrum::run([f] {
    thrum::go({.name = "bystander"}, [] { thrum::select(); });
    thrum::sleep_for(1ms);
    thrum::go({.name = "breaker"}, [f] { f(); });
    return wait_for_the_end();
  });
}

int crash_by_access() {
  return crash_in_a_goroutine([] { write_where_nothing_is(nowhere()); });
}

int crash_by_call() {
  return crash_in_a_goroutine(
      [] { call_what_is_nowhere(reinterpret_cast<void (*)()>(const_cast<int*>(nowhere()))); });
}

int crash_by_abort() {
  return crash_in_a_goroutine([] { std::abort(); });
}

int crash_by_signal() {
  return crash_in_a_goroutine([] { std::raise(SIGFPE); });
}

int crash_in_malloc() { return crash_in_a_goroutine(&write_over_the_heap); }

int crash_of_a_thread() {
  return crash_in_a_goroutine(
      [] { std::thread([] { write_where_nothing_is(nowhere()); }).join(); });
}

// ---- what runs out ----

int thread_limit_of_locked() {
  return thrum::run(thrum::options{.procs = 1, .max_threads = 5}, [] {
    for (int i = 0; i != 20; ++i) {
      thrum::go([] {
        const thrum::thread_lock lock;
        thrum::select();
      });
    }
    return wait_for_the_end();
  });
}

const programs::entry crash_entries[] = {
    {"locked_deadlock", locked_deadlock},
    {"locked_deadlock_of_two", locked_deadlock_of_two},
    {"exit_of_main", exit_of_main},
    {"exit_in_a_handler", exit_in_a_handler},
    {"panic_after_exit", panic_after_exit},
    {"handled_panic_after_exit", handled_panic_after_exit},
    {"panic_after_yield", panic_after_yield},
    {"panic_after_blocking", panic_after_blocking},
    {"panic_in_a_bubble", panic_in_a_bubble},
    {"panic_in_a_panic", panic_in_a_panic},
    {"panic_that_waits", panic_that_waits},
    {"panic_beside_the_end", panic_beside_the_end},
    {"panic_of_wrong_use", panic_of_wrong_use},
    {"lost_exceptions", lost_exceptions},
    {"lost_exception_of_a_detached_goroutine", lost_exception_of_a_detached_goroutine},
    {"lost_exception_of_a_coroutine", lost_exception_of_a_coroutine},
    {"go_nothing", go_nothing},
    {"dump_alone", dump_alone},
    {"crash_by_access", crash_by_access},
    {"crash_by_call", crash_by_call},
    {"crash_by_abort", crash_by_abort},
    {"crash_by_signal", crash_by_signal},
    {"crash_in_malloc", crash_in_malloc},
    {"crash_of_a_thread", crash_of_a_thread},
    {"thread_limit_of_locked", thread_limit_of_locked},
};
const programs::group crash_registered(crash_entries);

}  // namespace
