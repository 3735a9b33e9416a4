// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Programs to which the system refuses memory for stacks and threads.

#include "programs/programs.hpp"
#include "support/eventually.hpp"
#include "support/process.hpp"

#include <thrum.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <system_error>

#include <sys/resource.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;

int out_of_stacks() {
  return thrum::run([] {
    ::rlimit limit{};
    ::getrlimit(RLIMIT_AS, &limit);
    const ::rlimit tight{std::size_t{2} << 30, limit.rlim_max};
    ::setrlimit(RLIMIT_AS, &tight);
    bool refused = false;
    thrum::chan<void> end(0);
    thrum::wait_group group;
    for (int i = 0; i != 20'000 && !refused; ++i) {
      try {
        group.go([&] { end.recv(); });
      } catch (const std::system_error& error) {
        std::printf("refused: %s\n", error.what());
        refused = true;
      }
    }
    end.close();
    group.wait();
    auto other = thrum::spawn([] { return 7; });
    std::printf("others run: %d\n", other.join());
    return 0;
  });
}

/// No thread can be made any more: there is no address space for its stack. Returns the old limit.
/// What others map at this moment may come between the look and the limit; then it is done again,
/// for the limit would be less than what is in use and refuse the smallest piece of memory. And what
/// somebody is about to unmap must not be seen: it would be room for threads afterwards. So malloc makes
/// no arenas, which map twice what they keep, and the programs call use_one_heap() before they run.
::rlimit refuse_threads() {
  constexpr std::size_t less_than_a_stack = std::size_t{4} << 20;
  ::rlimit before{};
  ::getrlimit(RLIMIT_AS, &before);
  std::size_t seen = 0;
  do {
    seen = support::address_space_bytes();
    const ::rlimit tight{static_cast<::rlim_t>(seen + less_than_a_stack), before.rlim_max};
    ::setrlimit(RLIMIT_AS, &tight);
  } while (support::address_space_bytes() > seen);
  return before;
}

/// More calls than there are threads, until the runtime has learned that there are no more: on a busy machine
/// the first ones may have ended before the last begin.
void block_until_refused(int calls) {
  const auto& threads = thrum::sched::current_m()->scheduler->ms;
  do {
    thrum::wait_group group;
    for (int i = 0; i != calls; ++i) {
      group.go([] { thrum::blocking([] { ::usleep(20'000); }); });
    }
    group.wait();
  } while (threads.limit() == thrum::sched::m_table::any_number);
}

int refused_threads() {
  support::use_one_heap();
  return thrum::run([] {
    thrum::chan<int> results(64);
    {
      thrum::wait_group group;
      for (int i = 0; i != 64; ++i) {  // their stacks are there when memory is not
        group.go([] { thrum::sleep_for(1ms); });
      }
      group.wait();
    }
    thrum::runtime::current()->procs(8);
    const ::rlimit before = refuse_threads();
    thrum::wait_group group;
    for (int i = 0; i != 32; ++i) {
      group.go([&] {
        for (int turn = 0; turn != 100; ++turn) {
          thrum::this_goroutine::yield();
        }
        thrum::sleep_for(1ms);
        thrum::blocking([] { ::usleep(2'000); });
        results.send(1);
      });
    }
    group.wait();
    int sum = 0;
    for (int i = 0; i != 32; ++i) {
      sum += *results.recv();
    }
    std::printf("ended: %d\n", sum);
    block_until_refused(32);  // if the calls above came one after the other
    const unsigned few = thrum::stats().threads;
    ::setrlimit(RLIMIT_AS, &before);
    for (int attempt = 0; attempt != 10 && thrum::stats().threads <= few; ++attempt) {
      for (unsigned i = 0; i != few + 4; ++i) {
        group.go([] { thrum::blocking([] { ::usleep(300'000); }); });
      }
      group.wait();
    }
    std::printf("more threads later: %s\n", thrum::stats().threads > few ? "yes" : "no");
    return 0;
  });
}

/// The same, and the only thread sleeps for a goroutine that is locked to it.
int refused_threads_of_locked() {
  support::use_one_heap();
  thrum::options one = thrum::options::from_environment();
  one.procs = 1;
  return thrum::run(one, [] {
    const ::rlimit before = refuse_threads();
    const thrum::thread_lock lock;
    for (int i = 0; i != 5; ++i) {
      thrum::sleep_for(10ms);
    }
    std::puts("slept");
    ::setrlimit(RLIMIT_AS, &before);
    return 0;
  });
}

/// Starts a runtime again and again, each time with room for a little more. Those that are refused one of their
/// threads leave none behind.
int refused_start() {
  constexpr std::size_t step = std::size_t{1} << 20;
  ::rlimit before{};
  ::getrlimit(RLIMIT_AS, &before);
  int refused = 0;
  for (std::size_t room = step; room != 256 * step; room += step) {
    const ::rlimit tight{static_cast<::rlim_t>(support::address_space_bytes() + room),
                         before.rlim_max};
    ::setrlimit(RLIMIT_AS, &tight);
    try {
      thrum::runtime runtime;
      ::setrlimit(RLIMIT_AS, &before);
      runtime.block_on(
          [&] { std::printf("started, refused before: %s\n", refused > 1 ? "yes" : "no"); });
      return 0;
    } catch (const std::system_error& error) {
      ++refused;
      ::setrlimit(RLIMIT_AS, &before);
      if (error.code() != std::errc::resource_unavailable_try_again &&
          error.code() != std::errc::not_enough_memory) {
        std::printf("refused: %s\n", error.what());
      }
    }
    // The system may count a thread for a moment after it was joined.
    if (!support::eventually([] { return support::thread_count() == 1; })) {
      std::printf("threads that stay: %d\n", static_cast<int>(support::thread_count()));
    }
  }
  return 1;
}

const programs::entry refusals_entries[] = {
    {"out_of_stacks", out_of_stacks},
    {"refused_threads", refused_threads},
    {"refused_threads_of_locked", refused_threads_of_locked},
    {"refused_start", refused_start},
};
const programs::group refusals_registered(refusals_entries);

}  // namespace
