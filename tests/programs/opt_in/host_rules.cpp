// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A host program with rules of its own: frames that allocate nothing, and no signal handlers. Its
// operator new and its mmap count their calls.

#include "programs/programs.hpp"

#include <thrum.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <thread>

#include <signal.h>
#include <sys/mman.h>
#if defined(__linux__) && defined(__LP64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace {

std::atomic<long> allocations{0}, mappings{0};

}  // namespace

// Not inlined: gcc would see that they end in malloc and free, and warn of the pair.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* const memory = std::malloc(size != 0 ? size : 1)) {
    return memory;
  }
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

// On s390x the call takes a block of its arguments.
#if defined(__GLIBC__) && defined(__LP64__) && !defined(__s390x__)
extern "C" void* mmap(void* address, std::size_t bytes, int protection, int flags, int fd,
                      off_t offset) noexcept {
  ++mappings;
  return reinterpret_cast<void*>(
      ::syscall(SYS_mmap, address, bytes, protection, flags, fd, offset));
}
#endif

namespace {

using namespace std::chrono_literals;

/// A frame of a game: goroutines of the host, jobs that it helps with, a loop on all processors, calls
/// of functions on its thread.
void run_frame(thrum::runtime& runtime, std::atomic<long>& done, long& drawn) {
  thrum::wait_group jobs;
  for (int i = 0; i != 100; ++i) {
    jobs.go(runtime, [&] { ++done; });
  }
  for (int i = 0; i != 10; ++i) {
    jobs.go(runtime, [&] { thrum::spawn(thrum::on_host, [&] { ++drawn; }).join(); });
  }
  jobs.go(runtime, [&] { thrum::parallel_for(0, 256, [&](int) { ++done; }); });
  runtime.poll();
  jobs.wait();
  runtime.run_for(50us);
}

/// Exit status 0: a thousand frames in a row allocated nothing and mapped nothing. Threads may be made
/// late, so that the first such thousand counts.
int frames_allocate_nothing() {
  std::atomic<long> done{0};
  long drawn = 0;
  thrum::runtime runtime({.procs = 2});
  constexpr int in_a_row = 1'000;
  constexpr int most = 100 * in_a_row;
  int clean = 0;
  long before = 0;
  for (int frame = 0; frame != most && clean != in_a_row; ++frame) {
    run_frame(runtime, done, drawn);
    const long now = allocations + mappings;
    clean = now == before ? clean + 1 : 0;
    before = now;
  }
  std::printf("%d clean frames in a row; %ld allocations, %ld mappings, %ld jobs, %ld calls\n",
              clean, allocations.load(), mappings.load(), done.load(), drawn);
  const bool counted = allocations > 0;
  return clean == in_a_row && counted ? 0 : 1;
}

/// Whether each signal has the default's or the process's own action that it had.
bool signals_are_as_they_were(const struct sigaction (&before)[NSIG]) {
  bool same = true;
  for (int number = 1; number != NSIG; ++number) {
    struct sigaction now {};
    if (::sigaction(number, nullptr, &now) == 0 && now.sa_handler != before[number].sa_handler) {
      std::printf("signal %d has another handler\n", number);
      same = false;
    }
  }
  return same;
}

/// Exit status 0: no signal has a handler that it had not, and the processors of goroutines that block
/// in calls that nobody announced went to others.
int cooperative_without_handlers() {
  static struct sigaction before[NSIG];
  for (int number = 1; number != NSIG; ++number) {
    ::sigaction(number, nullptr, &before[number]);
  }
  std::mutex taken;
  std::atomic<bool> waits{false};
  bool same = false;
  long retakes = 0;
  {
    thrum::runtime runtime({.procs = 1, .preempt = thrum::preemption::cooperative});
    taken.lock();
    runtime.go([&] {
      waits = true;
      const std::lock_guard guard(taken);  // blocks the thread
    });
    while (!waits) {
      std::this_thread::yield();
    }
    runtime.block_on([] { thrum::sleep_for(1ms); });  // only with that processor
    // A loop, which nobody may interrupt, but which gives way when it is asked.
    std::atomic<bool> ends{false};
    auto loop = runtime.spawn([&] {
      while (!ends) {
        thrum::this_goroutine::preemption_point();
      }
    });
    runtime.block_on([&] { ends = true; });
    loop.join();
    runtime.poll();
    same = signals_are_as_they_were(before);
    retakes = static_cast<long>(runtime.stats().retakes);
    taken.unlock();
  }
  std::printf("%ld processors taken\n", retakes);
  return same && retakes > 0 ? 0 : 1;
}

constexpr programs::entry entries[] = {
    {"frames_allocate_nothing", &frames_allocate_nothing},
    {"cooperative_without_handlers", &cooperative_without_handlers},
};
const programs::group registered(entries);

}  // namespace
