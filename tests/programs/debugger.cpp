// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A program for a debugger to look at: it stops while its goroutines are parked in functions whose
// names tell what they wait for.

#include "programs/programs.hpp"
#include "support/system_ways.hpp"

#include <thrum.hpp>
#include <thrum/labels.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

namespace {

using namespace std::chrono_literals;

/// Keeps the call before it from being a tail call, which would remove the frame of its function.
void not_the_end() { asm volatile(""); }

[[gnu::noinline]] void receives_from_a_channel(const thrum::chan<int>& ch) {
  ch.recv();
  not_the_end();
}

[[gnu::noinline]] void locks_a_mutex(thrum::mutex& mutex) {
  mutex.lock();
  not_the_end();
}

[[gnu::noinline]] void sleeps_for_an_hour() {
  thrum::sleep_for(1h);
  not_the_end();
}

[[gnu::noinline]] void waits_in_the_kernel(std::atomic<bool>& there) {
  thrum::blocking([&] {
    there = true;
    std::this_thread::sleep_for(1h);
  });
  not_the_end();
}

[[gnu::noinline]] void computes_for_ever() {
  static std::atomic<bool> stop{false};
  while (!stop.load(std::memory_order_relaxed)) {
  }
  not_the_end();
}

[[gnu::noinline]] void writes_where_nothing_is(volatile int* where) {
  *where = 1;
  not_the_end();
}

[[gnu::noinline]] void stops_for_the_debugger() {
  std::raise(SIGTRAP);
  not_the_end();
}

int debugger() {
  // gdb 13 writes core files that lack the mappings in which it finds a guard of the other kind.
  support::use_plain_guards();
  return thrum::run([] {
    static thrum::mutex mutex;
    static std::atomic<bool> there{false};
    mutex.lock();
    thrum::go({.name = "receiver"}, [] { receives_from_a_channel(thrum::chan<int>(0)); });
    thrum::go({.name = "locker"}, [] { locks_a_mutex(mutex); });
    thrum::go({.name = "sleeper"}, [] {
      const thrum::label_scope labels({{"tenant", "a"}, {"request", "17"}});
      sleeps_for_an_hour();
    });
    thrum::go({.name = "caller"}, [] { waits_in_the_kernel(there); });
    // The figures are not of one instant: what they say must last.
    for (int looks = 0; looks != 3;) {
      thrum::sleep_for(1ms);
      looks = thrum::stats().waiting == 3 && there ? looks + 1 : 0;
    }
    for (;;) {
      stops_for_the_debugger();
    }
  });
}

/// One processor: the goroutine that computes is preempted while the main goroutine runs.
int debugger_of_a_crash() {
  support::use_plain_guards();
  return thrum::run(thrum::options{.procs = 1}, [] {
    static std::atomic<bool> computes{false};
    thrum::go({.name = "sleeper"}, [] { sleeps_for_an_hour(); });
    while (thrum::stats().waiting != 1) {
      thrum::this_goroutine::yield();
    }
    thrum::go({.name = "computer"}, [] {
      computes = true;
      computes_for_ever();
    });
    while (!computes) {
      thrum::sleep_for(1ms);
    }
    writes_where_nothing_is(reinterpret_cast<volatile int*>(16));
  });
}

const programs::entry debugger_entries[] = {
    {"debugger", debugger},
    {"debugger_of_a_crash", debugger_of_a_crash},
};
const programs::group debugger_registered(debugger_entries);

}  // namespace
