// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Programs whose threads run in a real-time class, on one CPU. One that would keep it for ever is
// killed by the system after some seconds.

#include "programs/programs.hpp"

#include <thrum.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <grp.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;

constexpr int priority = 10;

/// False: this process may not.
bool enter_real_time_class() {
  constexpr rlim_t microseconds = 5'000'000;
  const rlimit longest{microseconds, microseconds};  // without having slept in between
  ::setrlimit(RLIMIT_RTTIME, &longest);
  const int cpu = ::sched_getcpu();
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(cpu < 0 ? 0 : cpu), &one);
  ::sched_setaffinity(0, sizeof one, &one);
  sched_param parameters{};
  parameters.sched_priority = priority;
  if (::sched_setscheduler(0, SCHED_FIFO, &parameters) != 0) {
    std::puts("not allowed");
    return false;
  }
  return true;
}

int real_time_loop() {
  if (!enter_real_time_class()) {
    return 0;
  }
  return thrum::run(thrum::options{.procs = 2, .time_slice = 1ms}, [] {
    std::atomic<bool> told{false};
    thrum::wait_group loops;
    for (int i = 0; i != 4; ++i) {
      loops.go([&] {
        while (!told) {
        }
      });
    }
    for (int i = 0; i != 5; ++i) {
      thrum::sleep_for(1ms);
    }
    told = true;
    loops.wait();
    std::puts("the loops were interrupted");
    return 0;
  });
}

/// Processors are handed from thread to thread while others search.
int real_time_search() {
  if (!enter_real_time_class()) {
    return 0;
  }
  return thrum::run(thrum::options{.procs = 8}, [] {
    for (int round = 0; round != 1'000; ++round) {
      thrum::chan<int> numbers(static_cast<std::size_t>(round % 3));
      thrum::wait_group group;
      for (int i = 0; i != 10; ++i) {
        group.go([&, i] {
          if (i == 0) {
            thrum::blocking([] { ::usleep(10); });
          }
          thrum::this_goroutine::yield();
          numbers.send(i);
        });
      }
      for (int i = 0; i != 10; ++i) {
        (void)numbers.recv();
      }
      group.wait();
    }
    std::puts("all found");
    return 0;
  });
}

/// "name priority" of each thread of the process.
int real_time_priorities() {
  if (!enter_real_time_class()) {
    return 0;
  }
  return thrum::run(thrum::options{.procs = 2}, [] {
    thrum::wait_group group;
    for (int i = 0; i != 3; ++i) {
      group.go([] { thrum::blocking([] { ::usleep(20'000); }); });
    }
    thrum::sleep_for(5ms);
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
      const auto tid = static_cast<pid_t>(std::stoi(thread.path().filename().string()));
      std::string name;
      std::getline(std::ifstream(thread.path() / "comm"), name);
      sched_param parameters{};
      ::sched_getparam(tid, &parameters);
      std::printf("%s: %d\n", name.c_str(), parameters.sched_priority);
    }
    sched_param own{};
    ::sched_getparam(0, &own);
    std::printf("thread of a goroutine: %d\n", own.sched_priority);
    group.wait();
    return 0;
  });
}

/// It may have the priority that it has and no higher one.
int real_time_without_permission() {
  const rlimit highest{priority, priority};
  ::setrlimit(RLIMIT_RTPRIO, &highest);
  constexpr uid_t nobody = 65'534;
  if (!enter_real_time_class()) {
    return 0;
  }
  if (::geteuid() == 0 &&
      (::setgroups(0, nullptr) != 0 || ::setresgid(nobody, nobody, nobody) != 0 ||
       ::setresuid(nobody, nobody, nobody) != 0)) {
    std::puts("not allowed");
    return 0;
  }
  sched_param parameters{};
  parameters.sched_priority = priority + 1;
  if (::sched_setparam(0, &parameters) == 0) {
    std::puts("not allowed to lose the permission");
    return 0;
  }
  for (int i = 0; i != 2; ++i) {
    thrum::run([] { thrum::sleep_for(1ms); });
  }
  return 0;
}

const programs::entry real_time_entries[] = {
    {"real_time_loop", real_time_loop},
    {"real_time_search", real_time_search},
    {"real_time_priorities", real_time_priorities},
    {"real_time_without_permission", real_time_without_permission},
};
const programs::group real_time_registered(real_time_entries);

}  // namespace
