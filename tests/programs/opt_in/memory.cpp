// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A program for which there is no memory at one moment or another: with an operator new of its own.

#include "programs/programs.hpp"

#include <thrum.hpp>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

namespace {

/// Allocations until one fails; below 0: none does.
std::atomic<int> allocations_left{-1};

}  // namespace

// Not inlined: gcc would see that they end in malloc and free, and warn of the pair.
[[gnu::noinline]] void* operator new(std::size_t size) {
  // relaxed: of interest where there is one thread
  if (allocations_left.load(std::memory_order_relaxed) >= 0 &&
      allocations_left.fetch_sub(1, std::memory_order_relaxed) == 0) {  // relaxed: as above
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

int open_files_without_memory() {
  const std::string path = "/dev/../dev/../dev/../dev/../dev/null";  // too long to be in the object
  return fail_each_allocation_of([&] {
    std::error_code error;
    thrum::io::file::open(path, thrum::io::open_mode::read, error);
  });
}

constexpr programs::entry entries[] = {
    {"start_processes_without_memory", &start_processes_without_memory},
    {"open_files_without_memory", &open_files_without_memory},
};
const programs::group in_register(entries);

}  // namespace
