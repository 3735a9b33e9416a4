// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Programs that look at what a burst has left of their memory and their threads.

#include "programs/programs.hpp"
#include "support/eventually.hpp"
#include "support/process.hpp"

#include <thrum.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

#if !defined(_WIN32)
#include <sys/resource.h>
#endif
#include <unistd.h>

namespace {

using namespace std::chrono_literals;

std::size_t resident_kib() { return support::resident_bytes() / 1024; }

[[gnu::noinline]] void use_stack(int kib) {
  volatile char frame[1024];
  for (volatile char& each : frame) {
    each = 1;  // all of it: a compiler may keep no more than what is used
  }
  if (kib > 1) {
    use_stack(kib - 1);
  }
  static_cast<void>(frame[0]);  // after the call: else it would be no recursion
}

/// All of them alive at once, each with 32 KiB of its stack in use. Returns what was in memory then.
std::size_t burst_of_stacks(int count) {
  thrum::chan<void> end(0);
  thrum::wait_group ready;
  thrum::wait_group group;
  ready.add(count);
  for (int i = 0; i != count; ++i) {
    group.go([&ready, end] {
      use_stack(32);
      ready.done();
      end.recv();
    });
  }
  ready.wait();
  const std::size_t resident = resident_kib();
  end.close();
  group.wait();
  return resident;
}

int stacks_after_a_burst() {
  thrum::sched::default_stack_idle_ns = 2'000'000;
  return thrum::run([] {
    const std::size_t before = resident_kib();
    constexpr int count = 2'000;
    const std::size_t used = burst_of_stacks(count) - before;
    std::printf("%zu KiB used for each\n", used / count);
    // Sanitizers keep memory of their own for each page.
    if (support::eventually([&] { return resident_kib() < before + used / 2; })) {
      burst_of_stacks(count);  // they can be used again
      std::puts("given back");
    }
    return 0;
  });
}

#if !defined(_WIN32)

/// How often any thread of the process has gone to sleep.
long count_sleeps() {
  ::rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nvcsw;
}

/// Waits for a time in which no thread wakes; on a loaded machine it takes a while until all are
/// asleep.
int rest_after_a_burst() {
  thrum::sched::default_stack_idle_ns = 1'000'000;
  thrum::sched::default_thread_idle_ns = 1'000'000;
  thrum::runtime runtime(thrum::options{.procs = 2});
  runtime.block_on([] {
    burst_of_stacks(500);
    thrum::wait_group group;
    for (int i = 0; i != 20; ++i) {
      group.go([] { thrum::blocking([] { ::usleep(10'000); }); });
    }
    group.wait();
  });
  if (!support::eventually([&] { return runtime.stats().threads <= 4; })) {
    std::puts("threads are left");
    return 1;
  }
  const bool rested = support::eventually([] {
    const long before = count_sleeps();
    ::usleep(200'000);
    return count_sleeps() <= before + 1;  // our own
  });
  std::puts(rested ? "at rest" : "somebody wakes again and again");
  return rested ? 0 : 1;
}

#endif

const programs::entry give_back_entries[] = {
    {"stacks_after_a_burst", stacks_after_a_burst},
#if !defined(_WIN32)
    {"rest_after_a_burst", rest_after_a_burst},
#endif
};
const programs::group give_back_registered(give_back_entries);

}  // namespace
