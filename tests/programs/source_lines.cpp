// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Programs whose reports name files and lines.

#include "programs/programs.hpp"
#include "support/process.hpp"

#include <thrum/detail/os/os.hpp>

#include <thrum.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <stdexcept>

#include <sys/wait.h>

namespace {

using namespace std::chrono_literals;

/// Not inlined: binutils 2.40 does not see what clang 14 has inlined.
[[gnu::noinline]] void take_bread(const thrum::chan<int>& bread) {
  bread.recv();
  asm volatile("");
}

constexpr int line_of_wait = __LINE__ + 2;
[[gnu::noinline]] void wait_for_bread(const thrum::chan<int>& bread) {
  take_bread(bread);
  asm volatile("");
}

constexpr int line_of_throw = __LINE__ + 1;
[[gnu::noinline]] void throw_crumbs() { throw std::out_of_range("no such bread"); }

/// A busy machine may be slow: reports wait for their lines as long as it takes.
void be_patient() {
  thrum::os::source_lines_patience_ns.store(60'000'000'000, std::memory_order_relaxed);
}

/// Calls f() beside a goroutine that stands in wait_for_bread.
template <class F>
int beside_a_parked_one(F f) {
  return thrum::run([f] {
    thrum::chan<int> bread(0);
    thrum::go([bread] { wait_for_bread(bread); });
    while (thrum::stats().waiting == 0) {
      thrum::this_goroutine::yield();
    }
    f();
    return 0;
  });
}

int lines_of_dump() {
  be_patient();
  return beside_a_parked_one([] {
    std::printf("wanted: source_lines.cpp:%d\n", line_of_wait);
    thrum::dump_goroutines(stdout);
  });
}

int lines_of_panic() {
  be_patient();
  std::printf("wanted: source_lines.cpp:%d\n", line_of_throw);
  std::fflush(stdout);
  return thrum::run([] {
    thrum::go([] {
      throw_crumbs();
      asm volatile("");
    });
    thrum::sleep_for(100s);
  });
}

int lines_of_deadlock() {
  be_patient();
  std::printf("wanted: source_lines.cpp:%d\n", line_of_wait);
  std::fflush(stdout);
  return thrum::run([] { wait_for_bread(thrum::chan<int>(0)); });
}

std::atomic<int> children_heard_of{0};

#if defined(__WALL)
constexpr int also_clones = __WALL;
#else
constexpr int also_clones = 0;
#endif

int lines_unseen() {
  be_patient();
  std::signal(SIGCHLD, [](int) { ++children_heard_of; });
  return beside_a_parked_one([] {
    const std::size_t before = support::open_descriptors();
    thrum::dump_goroutines(stdout);
    std::printf("descriptors left: %d\n", static_cast<int>(support::open_descriptors() - before));
    std::printf("heard of children: %d\n", children_heard_of.load());
    const bool has_none = ::waitpid(-1, nullptr, WNOHANG | also_clones) == -1;
    std::printf("children left: %s\n", has_none && errno == ECHILD ? "none" : "some");
  });
}

/// A process that ignores SIGCHLD cannot wait for a child; the keeper can.
int lines_beside_ignored_children() {
  be_patient();
  std::signal(SIGCHLD, SIG_IGN);
  return beside_a_parked_one([] { thrum::dump_goroutines(stdout); });
}

int lines_late() {
  thrum::os::source_lines_patience_ns.store(200'000'000, std::memory_order_relaxed);
  return beside_a_parked_one([] {
    thrum::dump_goroutines(stdout);
    thrum::dump_goroutines(stdout);
    std::puts("went on");
  });
}

const programs::entry source_lines_entries[] = {
    {"lines_of_dump", lines_of_dump},
    {"lines_of_panic", lines_of_panic},
    {"lines_of_deadlock", lines_of_deadlock},
    {"lines_unseen", lines_unseen},
    {"lines_beside_ignored_children", lines_beside_ignored_children},
    {"lines_late", lines_late},
};
const programs::group source_lines_registered(source_lines_entries);

}  // namespace
