// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A program on a system with larger pages: THRUM_TEST_PAGE says how many bytes one has. The kernel's
// own are smaller, so memory that belongs together by its pages is not given or taken as a whole;
// where the library takes a page for smaller than it is, its own words are lost or a guard lies in a
// stack all the same.

#include "programs/programs.hpp"

#include <thrum.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>
#include <unistd.h>

// Instead of the C library's, in the whole program.
extern "C" long sysconf(int name) noexcept(noexcept(::sysconf(name))) {
  using function = long (*)(int);
  static const auto next = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "sysconf"));
  const char* const page = std::getenv("THRUM_TEST_PAGE");
  return name == _SC_PAGESIZE && page != nullptr ? std::strtol(page, nullptr, 10) : next(name);
}

namespace {

using namespace std::chrono_literals;

constexpr std::size_t smallest = std::size_t{16} << 10;
constexpr std::size_t largest = std::size_t{512} << 10;

/// Writes to each byte of the running goroutine's stack that is not in use, and reads it. In terms of
/// numbers: to a compiler an address beside a variable's is none.
[[gnu::noinline]] bool use_the_whole_stack() {
  constexpr std::uintptr_t own_frames = 2'048;
  // Not optimised, and where a frame is large (s390x), a switch that serves a request takes 5 KiB.
  constexpr std::uintptr_t frames_of_a_switch = 6'144;
  const auto byte_at = [](std::uintptr_t at) -> volatile unsigned char& {
    return *reinterpret_cast<volatile unsigned char*>(at);
  };
  const auto pattern = [](std::uintptr_t at) { return static_cast<unsigned char>(at % 251); };
  const auto low = reinterpret_cast<std::uintptr_t>(thrum::sched::current_m()->g->stack_low);
  const auto high = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) - own_frames;
  for (std::uintptr_t at = low; at < high; ++at) {
    byte_at(at) = pattern(at);
  }
  thrum::this_goroutine::yield();
  bool same = low < high;
  for (std::uintptr_t at = low; at < high - frames_of_a_switch; ++at) {
    same = same && byte_at(at) == pattern(at);
  }
  return same;
}

/// Stacks of each size, many of them next to each other, used to their last byte.
int whole_stacks() {
  return thrum::run(thrum::options{.procs = 1}, [] {
    constexpr int each = 10;
    for (std::size_t bytes = smallest; bytes <= largest; bytes *= 2) {
      int right = 0;
      for (int round = 0; round != 2; ++round) {  // the second on used ones
        thrum::wait_group all;
        all.add(each);
        for (int i = 0; i != each; ++i) {
          thrum::go({.stack_size = bytes}, [&] {
            right += use_the_whole_stack() ? 1 : 0;
            all.done();
          });
        }
        all.wait();
      }
      std::printf("%zu: %d of %d\n", bytes, right, 2 * each);
    }
  });
}

/// A goroutine with the smallest stack that does nothing but compute loses its processor and goes on.
/// There is one processor: who sees that the other one has started, and not ended, has taken it away.
int interrupted() {
  return thrum::run(thrum::options{.procs = 1}, [] {
    std::atomic<bool> started{false};
    std::atomic<bool> over{false};
    auto busy = thrum::spawn({.stack_size = smallest}, [&] {
      started.store(true);
      while (!over.load()) {
      }
    });
    while (!started.load()) {  // a millisecond may be over before it was its turn
      thrum::sleep_for(1ms);
    }
    over.store(true);
    busy.join();
    std::puts("all right");
  });
}

// It is to be endless.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wunknown-warning-option"
#pragma GCC diagnostic ignored "-Winfinite-recursion"
[[gnu::noinline]] int descend(int n) {
  volatile char frame[500] = {};
  frame[0] = static_cast<char>(n);
  return descend(n + 1) + frame[0];
}
#pragma GCC diagnostic pop

int overflow() {
  return thrum::run([] {
    thrum::go({.stack_size = smallest, .name = "small"},
              [] { std::printf("came back %d\n", descend(0)); });
    thrum::sleep_for(60s);
  });
}

constexpr programs::entry entries[] = {
    {"whole_stacks", &whole_stacks},
    {"interrupted", &interrupted},
    {"overflow", &overflow},
};
const programs::group in_register(entries);

}  // namespace
