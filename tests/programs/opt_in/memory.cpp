// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Programs for which there is no memory at one moment or another, or that count how often they ask
// for some: with an operator new of their own.

#include "programs/programs.hpp"

#include <thrum/testing/fake_net.hpp>

#include <thrum.hpp>
#include <thrum/coroutine.hpp>
#include <thrum/debug/profile.hpp>
#include <thrum/io/file_watch.hpp>
#include <thrum/testing/bubble.hpp>

#include "support/folder.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <new>
#include <string>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

/// Allocations of this thread until one fails; below 0: none does.
thread_local int allocations_left = -1;

/// Whether those of all other threads fail.
std::atomic<bool> others_fail{false};
thread_local bool is_other = true;
std::atomic<int> others_failed{0};

/// How many there have been.
std::atomic<long> allocations{0};

}  // namespace

// Not inlined: gcc would see that they end in malloc and free, and warn of the pair.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (others_fail && is_other) {
    constexpr std::size_t most_of_sample = 4096;  // more: for a thread that is new
    others_failed += size < most_of_sample ? 1 : 0;
    throw std::bad_alloc();
  }
  if (allocations_left >= 0 && allocations_left-- == 0) {
    throw std::bad_alloc();
  }
  if (void* const memory = std::malloc(size != 0 ? size : 1)) {
    return memory;
  }
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

int open_descriptors() {
  constexpr int enough = 100;
  int n = 0;
  for (int fd = 0; fd != enough; ++fd) {
    n += ::fcntl(fd, F_GETFD) != -1;
  }
  return n;
}

bool has_a_child() {
  ::siginfo_t info;
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/// Calls work() until each of its allocations has failed once. Exit status 0: after each failure
/// there were no more descriptors and no children.
template <class Work>
int fail_each_allocation_of(Work work) {
  work();  // what is kept for good is there
  const int descriptors = open_descriptors();
  int wrong = 0;
  for (int n = 0; n >= 0;) {
    bool failed = false;
    allocations_left = n;
    try {
      work();
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    allocations_left = -1;
    if (open_descriptors() != descriptors || has_a_child()) {
      std::printf("allocation %d: %d descriptors and not %d, children %d\n", n, open_descriptors(),
                  descriptors, has_a_child());
      ++wrong;
    }
    if (!failed) {
      std::printf("%d allocations\n", n);
      return wrong == 0 && n != 0 ? 0 : 1;
    }
    ++n;
  }
  return 1;
}

int start_processes_without_memory() {
  return fail_each_allocation_of([] {
    using thrum::io::redirect;
    thrum::io::process::spawn(
        {"sleep", "60"},
        {.in = redirect::pipe(), .out = redirect::pipe(), .err = redirect::null()});
  });
}

int dump_without_memory() {
  return thrum::run([] {
    std::FILE* const nowhere = std::fopen("/dev/null", "w");
    int failed = 0;
    for (const auto form : {thrum::dump_form::counts, thrum::dump_form::full}) {
      allocations_left = 0;
      try {
        thrum::dump_goroutines(nowhere, form);
      } catch (const std::bad_alloc&) {
        ++failed;
      }
      allocations_left = -1;
      thrum::dump_goroutines(nowhere, form);
    }
    std::fclose(nowhere);
    return failed == 2 ? 0 : 1;
  });
}

int open_files_without_memory() {
  const std::string path = "/dev/../dev/../dev/../dev/../dev/null";  // too long to be in the object
  return fail_each_allocation_of([&] {
    std::error_code error;
    thrum::io::file::open(path, thrum::io::open_mode::read, error);
  });
}

/// Has each allocation of a call of next() fail once. Exit status 0: what it would have returned came
/// from the next call.
int hear_changes_without_memory() {
  const support::folder here;
  const std::string name = "a name that is too long to be in the object";
  const std::string path = (here / name).string();
  for (int n = 0;; ++n) {
    std::error_code error;
    thrum::io::file_watch watch(error);
    if (error) {
      return 0;  // an emulator, or a system without one
    }
    watch.add((here / "").string());
    here.write(name, "");
    bool failed = false;
    thrum::io::file_change change;
    allocations_left = n;
    try {
      change = watch.next();
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    allocations_left = -1;
    if (failed) {
      watch.set_deadline(std::chrono::steady_clock::now() + std::chrono::seconds(30));
      change = watch.next(error);
    }
    if (error || change.kind != thrum::io::file_change::kind_type::created || change.path != path) {
      std::printf("allocation %d: %s, '%s'\n", n, error.message().c_str(), change.path.c_str());
      std::fflush(stdout);
      return 1;
    }
    if (!failed) {
      std::printf("%d allocations\n", n);
      return n != 0 ? 0 : 1;
    }
    std::filesystem::remove(path);
  }
}

/// Has each allocation of a call of after_func() fail once. Exit status 0: the function that it was
/// given is gone then, and is not called when the context is done.
int call_at_the_end_without_memory() {
  thrum::runtime runtime;
  for (int n = 0;; ++n) {
    const thrum::context context = thrum::context().with_timeout(std::chrono::hours(1));
    const auto calls = std::make_shared<std::atomic<int>>(0);
    bool failed = false;
    allocations_left = n;
    try {
      context.after_func(runtime, [calls] { ++*calls; });
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    allocations_left = -1;
    if (failed == (calls.use_count() != 1)) {
      std::printf("allocation %d: the function has %ld owners\n", n, calls.use_count() - 1);
      return 1;
    }
    context.cancel();
    if (!failed) {
      while (*calls == 0) {
        thrum::sleep_for(std::chrono::milliseconds(1));
      }
      std::printf("%d allocations\n", n);
      return n != 0 ? 0 : 1;
    }
  }
}

/// Has each allocation of a dial in a fake net fail once. Exit status 0: each dial returned, and the next one
/// was accepted.
int dial_in_a_fake_net_without_memory() {
  ::alarm(60);
  thrum::options one_thread;  // the failures are counted on it
  one_thread.procs = 1;
  return thrum::testing::bubble(one_thread, [] {
    for (int n = 0;; ++n) {
      const thrum::testing::fake_net network;
      thrum::net::listener listener = thrum::net::listener::listen("127.0.0.1:80");
      const auto dial = [](std::error_code& error) {
        return thrum::net::dial(thrum::net::endpoint("127.0.0.1:80"), {}, error);
      };
      bool failed = false;
      std::error_code error;
      allocations_left = n;
      try {
        const thrum::net::conn refused = dial(error);
      } catch (const std::bad_alloc&) {
        failed = true;
      }
      allocations_left = -1;
      if (!failed && !error) {
        std::printf("%d allocations\n", n);
        return n != 0 ? 0 : 1;
      }
      const thrum::net::conn client = dial(error);
      if (error || !listener.accept(error)) {
        std::printf("allocation %d: %s\n", n, error.message().c_str());
        return 1;
      }
    }
  });
}

/// Closes a connection of a fake net after so many writes that nobody has read, when there is no memory. Exit
/// status 0: the other end has all of them, and then the end.
int close_in_a_fake_net_without_memory() {
  ::alarm(60);
  thrum::options one_thread;  // the failures are counted on it
  one_thread.procs = 1;
  return thrum::testing::bubble(one_thread, [] {
    const thrum::testing::fake_net network;
    thrum::net::listener listener = thrum::net::listener::listen("127.0.0.1:80");
    constexpr std::size_t most = 40;
    for (std::size_t writes = 0; writes != most; ++writes) {
      thrum::net::conn client = thrum::net::dial("127.0.0.1:80");
      thrum::net::conn server = listener.accept();
      for (std::size_t i = 0; i != writes; ++i) {
        client.write("x");
      }
      allocations_left = 0;
      client.close();
      allocations_left = -1;
      std::array<char, most> buffer;
      std::size_t got = 0;
      while (const std::size_t n = server.read(buffer)) {
        got += n;
      }
      if (got != writes) {
        std::printf("%zu writes, %zu bytes\n", writes, got);
        return 1;
      }
    }
    return 0;
  });
}

/// Starts as many goroutines as there were before, each with a callable of 64 bytes.
int start_goroutines_again() {
  return thrum::run([] {
    const auto start = [] {
      thrum::wait_group group;
      const std::array<long, 6> captured{1, 2, 3, 4, 5, 6};
      std::atomic<long> sum{0};
      group.add(1'000);
      for (int i = 0; i != 1'000; ++i) {
        thrum::go([captured, &sum, &group] {
          sum += captured[5];
          group.done();
        });
      }
      group.wait();
      return sum.load() == 6'000;
    };
    bool right = start();
    long least = 1'000'000;
    // The first time more of them may be alive at once than before: the second or third is warm.
    for (int attempt = 0; attempt != 20 && least != 0; ++attempt) {
      const long before = allocations;
      right = start() && right;
      least = std::min(least, allocations - before);
    }
    std::printf("%ld allocations for 1000 goroutines\n", least);
    return right && least == 0 ? 0 : 1;
  });
}

/// Two coroutines pass items, and wait for a mutex, a semaphore and time. Exit status 0: only their beginning
/// allocates.
int coroutines_wait() {
  constexpr int n = 1'000;
  constexpr long for_frames = 10;
  return thrum::run({.procs = 2}, [] {
    thrum::chan<int> items(0);
    thrum::mutex mutex;
    thrum::binary_semaphore permit(1);
    const auto send = [](thrum::chan<int> to, thrum::mutex& m,
                         thrum::binary_semaphore& p) -> thrum::co_task<> {
      for (int i = 0; i != n; ++i) {
        const auto lock = co_await thrum::async_lock(m);
        co_await thrum::async_acquire(p);
        co_await thrum::async_send(to, i);
        p.release();
      }
      to.close();
    };
    const auto receive = [](thrum::chan<int> from, thrum::mutex& m) -> thrum::co_task<int> {
      int received = 0;
      while (co_await thrum::async_recv(from, std::chrono::hours(1))) {
        ++received;
        co_await thrum::async_sleep_for(std::chrono::microseconds(received % 100));
        const auto lock = co_await thrum::async_lock(m, std::chrono::microseconds(1));
      }
      co_return received;
    };
    const long before = allocations;
    auto sender = thrum::co_spawn(send(items, mutex, permit));
    const int received = thrum::co_spawn(receive(items, mutex)).join();
    sender.join();
    const long made = allocations - before;
    std::printf("%ld allocations for %d items\n", made, received);
    return received == n && made <= for_frames ? 0 : 1;
  });
}

/// Whether this system can make CPU profiles. The first allocation of a profile may be needed for good.
bool can_profile() {
  try {
    thrum::debug::start_cpu_profile();
  } catch (const std::system_error&) {
    return false;
  }
  thrum::debug::stop_cpu_profile();
  return true;
}

/// The first profile of the process, each allocation of whose beginning fails once.
int begin_profile_without_memory() {
  thrum::runtime r;
  r.spawn([] {}).join();  // there is a thread to sample
  for (int n = 0; n != 8; ++n) {
    try {
      allocations_left = n;
      thrum::debug::start_cpu_profile();
      allocations_left = -1;
      thrum::debug::stop_cpu_profile();
    } catch (const std::bad_alloc&) {
      allocations_left = -1;
    } catch (const std::system_error&) {
      return 0;  // not on this system
    }
  }
  return can_profile() ? 0 : 1;
}

/// The thread that collects samples has no memory for them.
int collect_samples_without_memory() {
  is_other = false;
  thrum::runtime r({.procs = 1});
  std::atomic<bool> has_begun{false};
  std::atomic<bool> ends{false};
  auto computes = r.spawn([&] {
    has_begun = true;
    while (!ends.load(std::memory_order_relaxed)) {
    }
  });
  while (!has_begun) {
    std::this_thread::yield();
  }
  bool is_right = true;
  if (can_profile()) {
    thrum::debug::start_cpu_profile(1000);
    others_fail = true;
    while (others_failed == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    others_fail = false;
    const std::string text = thrum::debug::stop_cpu_profile(thrum::debug::profile_form::folded);
    std::printf("%s", text.c_str());
    is_right = text.find("dropped") != std::string::npos;
  }
  ends = true;
  computes.join();
  return is_right ? 0 : 1;
}

constexpr programs::entry entries[] = {
    {"begin_profile_without_memory", &begin_profile_without_memory},
    {"collect_samples_without_memory", &collect_samples_without_memory},
    {"start_processes_without_memory", &start_processes_without_memory},
    {"dump_without_memory", &dump_without_memory},
    {"open_files_without_memory", &open_files_without_memory},
    {"hear_changes_without_memory", &hear_changes_without_memory},
    {"call_at_the_end_without_memory", &call_at_the_end_without_memory},
    {"dial_in_a_fake_net_without_memory", &dial_in_a_fake_net_without_memory},
    {"close_in_a_fake_net_without_memory", &close_in_a_fake_net_without_memory},
    {"start_goroutines_again", &start_goroutines_again},
    {"coroutines_wait", &coroutines_wait},
};
const programs::group in_register(entries);

}  // namespace
