// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Programs that call exit() while goroutines do all kinds of things.

#include "programs/programs.hpp"

#include "support/end_after.hpp"
#include "support/eventually.hpp"
#include "support/lone_scheduler.hpp"

#include <thrum.hpp>
#include <thrum/detail/sched/freeze/freeze_holder.hpp>
#include <thrum/detail/sched/life/registry.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <mutex>
#include <span>
#include <thread>

#if defined(_WIN32)
#include <fcntl.h>
#include <io.h>
#endif
#include <unistd.h>

namespace {

using namespace std::chrono_literals;

using support::end_after;

/// Standard input is a pipe on which nothing ever comes, and which never ends.
void keep_standard_input_waiting() {
  int ends[2];
#if defined(_WIN32)
  const bool is_there = ::_pipe(ends, 4096, _O_BINARY) == 0;
  const bool is_input = ::dup2(ends[0], STDIN_FILENO) == 0;
#else
  const bool is_there = ::pipe(ends) == 0;
  const bool is_input = ::dup2(ends[0], STDIN_FILENO) == STDIN_FILENO;
#endif
  if (!is_there || !is_input) {
    std::abort();
  }
}

/// Whether the process is inside a read of standard input, with the lock of `stdin`.
void wait_for_a_reader() {
#if defined(_WIN32)
  thrum::sleep_for(50ms);  // nobody says it
#else
  while (::ftrylockfile(stdin) == 0) {
    ::funlockfile(stdin);
    thrum::sleep_for(1ms);
  }
  thrum::sleep_for(5ms);
#endif
}

int exit_beside_reader() {
  end_after(30);
  keep_standard_input_waiting();
  return thrum::run([] {
    thrum::go([] { static_cast<void>(std::getchar()); });
    wait_for_a_reader();
    std::exit(3);
  });
}

int exit_beside_blocking_reader() {
  end_after(30);
  keep_standard_input_waiting();
  return thrum::run([] {
    thrum::go([] { thrum::blocking([] { static_cast<void>(std::getchar()); }); });
    wait_for_a_reader();
    std::exit(3);
  });
}

int exit_with_output_in_streams() {
  std::ios_base::sync_with_stdio(false);
  return thrum::run([] {
    thrum::go([] { thrum::sleep_for(1h); });
    std::cout << "held by cout\n";
    std::exit(3);
  });
}

int exit_with_handlers() {
  static const struct at_end {
    ~at_end() { std::puts("destroyed"); }
  } before_the_runtime;
  std::atexit([] { std::puts("handler from before"); });
  return thrum::run([] {
    static thread_local const struct of_thread {
      ~of_thread() { std::puts("thread-local"); }
    } local;
    static_cast<void>(&local);
    std::atexit([] { std::puts("handler from within"); });
    std::exit(3);
  });
}

std::atomic<std::uint64_t> steps{0};

/// Looks whether anybody is still at work when static objects are destroyed.
struct witness {
  ~witness() {
    const std::uint64_t before = steps;
    ::usleep(20'000);
    std::puts(steps == before ? "all stood still" : "somebody went on");
  }
};

int exit_beside_all_kinds() {
  static const witness looks_at_the_end;
  return thrum::run(thrum::options{.procs = 4}, [] {
    for (int i = 0; i != 4; ++i) {
      thrum::go([] {  // computes
        for (;;) {
          ++steps;
          if (THRUM_TSAN) {
            thrum::this_goroutine::preemption_point();
          }
        }
      });
      thrum::go([] {  // comes to operations
        for (;;) {
          ++steps;
          thrum::this_goroutine::yield();
        }
      });
      thrum::go([] {  // sleeps
        for (;;) {
          ++steps;
          thrum::sleep_for(1ms);
        }
      });
      thrum::go([] {  // is in calls that block
        for (;;) {
          ++steps;
          thrum::blocking([] { ::usleep(500); });
        }
      });
    }
    while (steps < 1000) {
      thrum::sleep_for(1ms);
    }
    std::exit(3);
  });
}

/// A goroutine that has lost its processor in a call that blocks, and computes again.
int exit_beside_a_loop_without_a_processor() {
  static const witness looks_at_the_end;
  static std::atomic<bool> is_back{false};
  return thrum::run(thrum::options{.procs = 2}, [] {
    thrum::go([] {
      ::usleep(50'000);
      is_back = true;
      for (;;) {
        ++steps;
        if (THRUM_TSAN) {
          thrum::this_goroutine::preemption_point();
        }
      }
    });
    while (!is_back) {
      thrum::this_goroutine::yield();
    }
    std::exit(3);
  });
}

std::mutex wanted_at_exit;

/// The goroutine holds what a handler needs, and lets go of it only when it goes on.
int exit_needs_a_lock() {
  end_after(30);
  static std::atomic<bool> held{false};
  static std::atomic<bool> is_wanted{false};
  std::atexit([] {
    is_wanted = true;
    const std::lock_guard guard(wanted_at_exit);
    std::puts("got the lock");
  });
  return thrum::run(thrum::options{.procs = 2}, [] {
    thrum::go([] {
      const std::lock_guard guard(wanted_at_exit);
      held = true;
      while (!is_wanted) {
        thrum::this_goroutine::preemption_point();
      }
    });
    while (!held) {
      thrum::sleep_for(1ms);
    }
    std::exit(3);
  });
}

/// The same with a handler that waits for a goroutine by the library's means.
int exit_waits_for_a_goroutine() {
  end_after(30);
  static thrum::chan<void> wish(1);
  static thrum::chan<void> answer(1);
  std::atexit([] {
    wish.send();
    answer.recv();
    std::puts("answered");
  });
  return thrum::run([] {
    thrum::go([] {
      wish.recv();
      answer.send();
    });
    std::exit(3);
  });
}

/// The same with a handler that polls for it.
int exit_polls_for_a_goroutine() {
  end_after(30);
  static std::atomic<bool> is_wanted{false};
  static std::atomic<bool> is_done{false};
  std::atexit([] {
    is_wanted = true;
    while (!is_done) {
      ::usleep(1000);
    }
    std::puts("done");
  });
  return thrum::run([] {
    thrum::go([] {
      while (!is_wanted) {
        thrum::this_goroutine::yield();
      }
      is_done = true;
    });
    std::exit(3);
  });
}

int exit_twice() {
  end_after(30);
  static std::atomic<bool> first_is_under_way{false};
  std::atexit([] {
    first_is_under_way = true;
    ::usleep(50'000);
  });
  return thrum::run([] {
    thrum::go([] {
      thrum::blocking([] {
        while (!first_is_under_way) {
          ::usleep(100);
        }
        std::exit(4);
      });
    });
    thrum::sleep_for(1ms);
    std::exit(3);
  });
}

int exit_of_static_runtime() {
  end_after(30);
  static const auto runtime = std::make_unique<thrum::runtime>();
  runtime->block_on([] {
    thrum::go([] { thrum::sleep_for(1h); });
    std::exit(3);
  });
  return 0;
}

int exit_and_dump() {
  end_after(30);
  std::atexit([] {
    thrum::dump_goroutines(stdout);
    std::puts("dumped");
  });
  return thrum::run([] {
    thrum::go({.name = "sleeper"}, [] { thrum::sleep_for(1h); });
    thrum::this_goroutine::yield();
    std::exit(3);
  });
}

#if !defined(_WIN32)

/// main returns while a goroutine waits for standard input.
int main_returns_beside_reader() {
  end_after(30);
  keep_standard_input_waiting();
  static thrum::io::file in(STDIN_FILENO, "standard input");
  return thrum::run([] {
    thrum::go([] {
      char one;
      in.read(std::span(&one, 1));
    });
    while (thrum::stats().waiting == 0) {
      thrum::sleep_for(1ms);
    }
    return 3;
  });
}

#endif

/// A runtime ends while the thread that exits holds the goroutines of another, and looks for more.
int exit_beside_removal() {
  end_after(30);
  using thrum::sched::registry;
  thrum::sched::scheduler_config config = support::lone_scheduler::quiet();
  config.is_whole_program = true;
  support::lone_scheduler held(1, config);
  support::lone_scheduler ended(1);
  thrum::sched::machine& m = held.holder_of(0);
  held.p(0).counts.created.add();  // it has a goroutine
  registry::add(*held);
  registry::add(*ended);
  std::atomic<bool> is_removed{false};
  std::atomic<bool> was_too_early{false};
  const auto begin = std::chrono::steady_clock::now();
  std::thread holder([&] {
    support::eventually([&] { return held->exit_of_process.has_begun(); });
    std::thread([&] {
      registry::remove(*ended);
      is_removed = true;
    }).detach();
    support::eventually([&] {
      bool is_there = false;
      registry::visit(&*ended, ended->registered.number(), [&] { is_there = true; });
      return !is_there;
    });
    std::this_thread::sleep_for(5ms);  // time enough for a removal that does not wait
    // A second after it has begun to, nobody waits for this thread any more.
    was_too_early = is_removed && std::chrono::steady_clock::now() - begin < 1s;
    wait_if_frozen(m);
  });
  registry::before_exit(3);
  support::eventually([&] { return is_removed.load(); });
  std::puts(was_too_early ? "removed before it was over" : "removed afterwards");
  std::fflush(stdout);
  thrum::os::exit_now(3);
}

const programs::entry exits_entries[] = {
#if !defined(_WIN32)
    {"main_returns_beside_reader", main_returns_beside_reader},
#endif
    {"exit_beside_reader", exit_beside_reader},
    {"exit_beside_blocking_reader", exit_beside_blocking_reader},
    {"exit_with_output_in_streams", exit_with_output_in_streams},
    {"exit_with_handlers", exit_with_handlers},
    {"exit_beside_all_kinds", exit_beside_all_kinds},
    {"exit_beside_a_loop_without_a_processor", exit_beside_a_loop_without_a_processor},
    {"exit_needs_a_lock", exit_needs_a_lock},
    {"exit_waits_for_a_goroutine", exit_waits_for_a_goroutine},
    {"exit_polls_for_a_goroutine", exit_polls_for_a_goroutine},
    {"exit_twice", exit_twice},
    {"exit_of_static_runtime", exit_of_static_runtime},
    {"exit_and_dump", exit_and_dump},
    {"exit_beside_removal", exit_beside_removal},
};
const programs::group exits_registered(exits_entries);

}  // namespace
