// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Programs that crash, exit or write in ways that a test looks at from outside.

#include "programs/programs.hpp"
#include "programs/wait_for_the_end.hpp"
#include "support/eventually.hpp"
#include "support/watched_errors.hpp"

#include <thrum.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <thread>

namespace {

using programs::wait_for_the_end;
using namespace std::chrono_literals;

int panic() {
  return thrum::run([] {
    thrum::go([] { throw std::runtime_error("out of cheese"); });
    return wait_for_the_end();
  });
}

int panic_named() {
  return thrum::run([] {
    thrum::go({.name = "loader"}, [] {
      thrum::this_goroutine::yield();
      throw std::logic_error("no such sheep");
    });
    return wait_for_the_end();
  });
}

int panic_of_no_exception() {
  return thrum::run([] {
    thrum::go([] { throw 7; });
    return wait_for_the_end();
  });
}

int panic_in_a_group() {
  return thrum::run([] {
    thrum::wait_group group;
    group.go([] { throw std::runtime_error("in a group"); });
    group.wait();  // must not return: main would end before the report
    return 0;
  });
}

int panic_of_many() {
  return thrum::run(thrum::options{.procs = 4}, [] {
    for (int i = 0; i != 100; ++i) {
      thrum::go([] {
        thrum::this_goroutine::yield();
        throw std::runtime_error("one of many");
      });
    }
    return wait_for_the_end();
  });
}

int wait_in_a_destructor() {
  struct waits_at_end {
    ~waits_at_end() { thrum::sleep_for(1h); }
  };
  return thrum::run([] {
    thrum::go(thrum::attributes{.name = "closer"}, [] { const waits_at_end scope; });
    while (thrum::stats().waiting != 1) {
      thrum::this_goroutine::yield();
    }
  });
}

int panic_with_handler() {
  std::atomic<int> calls{0};
  thrum::options options;
  options.on_panic = [&](std::exception_ptr, thrum::goroutine_id) { ++calls; };
  thrum::run(options, [&] {
    for (int i = 0; i != 10; ++i) {
      thrum::go([] { throw std::runtime_error("handled"); });
    }
    while (calls != 10) {
      thrum::sleep_for(1ms);
    }
  });
  std::printf("handled %d\n", calls.load());
  return 0;
}

int usage_error_unhandled() {
  return thrum::run([] {
    thrum::go([] { thrum::mutex().unlock(); });
    return wait_for_the_end();
  });
}

int exception_from_main() {
  try {
    thrum::run([] {
      thrum::go([] { thrum::sleep_for(1h); });
      throw std::runtime_error("from main");
    });
  } catch (const std::runtime_error& error) {
    std::printf("caught: %s\n", error.what());
    return 3;
  }
  return 0;
}

int exit_status() {
  return thrum::run([] { return 42; });
}

/// Calls that block, announced and not, until the runtime has found no thread for the other goroutines.
int thread_limit() {
  std::latch end(1);
  return thrum::run(thrum::options{.procs = 2, .max_threads = 5}, [&] {
    auto& scheduler = *thrum::sched::current_m()->scheduler;
    std::thread outside([&] {
      const auto has_reported = [&] {
        const thrum::sched::scoped guard(scheduler.idle.lock());
        return scheduler.has_reported_limit;
      };
      while (!has_reported()) {
        std::this_thread::sleep_for(1ms);
      }
      end.count_down();
    });
    thrum::wait_group group;
    for (int i = 0; i != 40; ++i) {
      group.go([&, announced = i % 2 == 0] {
        for (int turn = 0; turn != 3; ++turn) {
          announced ? thrum::blocking([&] { end.wait(); }) : end.wait();
        }
      });
    }
    group.wait();
    outside.join();
    std::printf("all have ended\n");
    return 0;
  });
}

[[gnu::noinline]] int descend(int depth) {
  volatile char frame[512];
  frame[0] = static_cast<char>(depth);
  return depth < 0 ? frame[0] : descend(depth + 1) + frame[0];
}

int stack_overflow() {
  return thrum::run([] {
    thrum::go({.name = "deep"}, [] { std::printf("%d\n", descend(0)); });
    return wait_for_the_end();
  });
}

int processors() {
  return thrum::run([] {
    std::printf("procs %u\n", thrum::stats().procs);
    return 0;
  });
}

/// Whether lines of figures are to be printed every now and then.
bool figures_are_wanted() { return thrum::options::from_environment().schedtrace.count() != 0; }

/// Two runtimes, made with options of the program's own, that live until a line of their figures
/// has come.
int runtime_objects() {
  for (int i = 0; i != 2; ++i) {
    std::optional<support::watched_errors> errors;  // outlives the thread that writes there
    if (figures_are_wanted()) {
      errors.emplace();
    }
    thrum::options options;
    options.procs = 2;
    thrum::runtime runtime(options);
    runtime.block_on([&] {
      thrum::sleep_for(100ms);
      if (errors) {
        support::eventually([&] { return errors->say("gomaxprocs=2 "); });
      }
    });
  }
  thrum::runtime by_environment;
  std::printf("procs %u\n", by_environment.procs());
  return 0;
}

/// Lives for some lines of figures, and for two at least if they are wanted.
int trace() {
  std::optional<support::watched_errors> errors;  // outlives the thread that writes there
  if (figures_are_wanted()) {
    errors.emplace();
  }
  return thrum::run([&] {
    std::atomic<bool> stop{false};
    thrum::wait_group group;
    for (int i = 0; i != 5; ++i) {
      group.go([&] {
        while (!stop) {
          thrum::this_goroutine::yield();
        }
      });
    }
    thrum::sleep_for(200ms);
    if (errors) {
      support::eventually([&] { return errors->say("\nSCHED "); });  // the second one
    }
    stop = true;
    group.wait();
    return 0;
  });
}

/// Lives until the destruction of static objects, when goroutines of its own are still parked.
std::unique_ptr<thrum::runtime> static_runtime;

int static_destruction() {
  static_runtime = std::make_unique<thrum::runtime>();
  static_runtime->block_on([] {
    for (int i = 0; i != 10; ++i) {
      thrum::go([] {
        struct at_end {
          ~at_end() {
            std::puts("unwound");
            std::fflush(stdout);
          }
        } const scope;
        thrum::sleep_for(1h);
      });
    }
    while (thrum::stats().waiting != 10) {
      thrum::sleep_for(1ms);
    }
  });
  return 0;
}

const programs::entry endings_entries[] = {
    {"panic", panic},
    {"panic_named", panic_named},
    {"panic_of_no_exception", panic_of_no_exception},
    {"panic_in_a_group", panic_in_a_group},
    {"panic_of_many", panic_of_many},
    {"wait_in_a_destructor", wait_in_a_destructor},
    {"panic_with_handler", panic_with_handler},
    {"usage_error_unhandled", usage_error_unhandled},
    {"exception_from_main", exception_from_main},
    {"exit_status", exit_status},
    {"thread_limit", thread_limit},
    {"stack_overflow", stack_overflow},
    {"processors", processors},
    {"runtime_objects", runtime_objects},
    {"trace", trace},
    {"static_destruction", static_destruction},
};
const programs::group endings_registered(endings_entries);

}  // namespace
