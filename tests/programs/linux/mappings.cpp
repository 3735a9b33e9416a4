// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Programs in which mappings run out: guards of stacks that are made by mprotect take two each.

#include "programs/programs.hpp"

#include <thrum.hpp>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <fstream>

#include <sys/mman.h>

namespace {

[[gnu::noinline]] int fill_stack(int depth) {
  volatile char frame[1024];
  frame[0] = static_cast<char>(depth);
  return depth == 0 ? frame[0] : fill_stack(depth - 1) + (frame[0] != 0 ? 1 : 0);
}

/// Each on a stack that nobody has used before, most of which it writes.
int run_on_new_stacks(int count) {
  std::atomic<int> good{0};
  thrum::chan<void> all_live(0);
  thrum::wait_group group;
  for (int i = 0; i != count; ++i) {
    group.go([&] {
      good += fill_stack(100) > 0;
      all_live.recv();
    });
  }
  while (good != count) {
    thrum::this_goroutine::yield();  // a sleep may need memory for timers, which there may not be
  }
  all_live.close();
  group.wait();
  return good;
}

int guards_beyond_budget() {
  thrum::os::guard_support = thrum::os::guard_support_state::no;
  thrum::os::mprotect_guard_limit = 3;
  return thrum::run([] {
    const int good = run_on_new_stacks(100);
    std::printf("ran %d, guards %zu\n", good, thrum::os::mprotect_guards.load());
    return 0;
  });
}

/// Splits a mapping until the kernel allows no more of them.
class all_mappings {
 public:
  all_mappings() {
    std::ifstream("/proc/sys/vm/max_map_count") >> limit_;
    if (limit_ == 0 || limit_ > 300'000) {
      return;
    }
    bytes_ = 2 * limit_ * page_;
    memory_ =
        ::mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    for (std::size_t at = page_; at < bytes_ && memory_ != MAP_FAILED; at += 2 * page_) {
      if (::mprotect(static_cast<char*>(memory_) + at, page_, PROT_READ) != 0) {
        are_used_up = true;
        return;
      }
    }
  }
  ~all_mappings() { ::munmap(memory_, bytes_); }
  all_mappings(const all_mappings&) = delete;
  all_mappings& operator=(const all_mappings&) = delete;

  bool are_used_up = false;

 private:
  const std::size_t page_ = thrum::os::page_size();
  std::size_t limit_ = 0;
  std::size_t bytes_ = 0;
  void* memory_ = MAP_FAILED;
};

int no_mappings() {
  thrum::os::guard_support = thrum::os::guard_support_state::no;
  return thrum::run([] {
    constexpr int count = 40;
    run_on_new_stacks(4);  // the threads, the slab and malloc's memory are there
    const std::size_t guards = thrum::os::mprotect_guards;
    int good;
    {
      const all_mappings mappings;
      if (!mappings.are_used_up) {
        std::puts("too many mappings to use them up");
        return 0;
      }
      good = run_on_new_stacks(count);
    }
    // A mapping or two may come free meanwhile.
    const std::size_t guarded = thrum::os::mprotect_guards - guards;
    std::printf("ran %d, some without a guard: %s\n", good, guarded < count / 2 ? "yes" : "no");
    std::printf("ran %d later\n", run_on_new_stacks(2 * count));
    std::printf("guards again: %s\n", thrum::os::mprotect_guards > guards ? "yes" : "no");
    return 0;
  });
}

constexpr programs::entry mappings_entries[] = {
    {"guards_beyond_budget", guards_beyond_budget},
    {"no_mappings", no_mappings},
};
const programs::group mappings_registered(mappings_entries);

}  // namespace
