// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the sanitizers are told. Most of it fails only when the suite is built with one of them.
#include <thrum/detail/base/sanitizer.hpp>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"
#include "support/child.hpp"
#include "support/fibre.hpp"

using support::fibre;

namespace {

constexpr std::size_t told_stack_bytes = std::size_t{256} * 1024;

// Touches a local array, so that ASan puts poison around it.
[[gnu::noinline]] int with_a_poisoned_frame(int depth, fibre* self) {
  volatile char array[128] = {};
  array[static_cast<std::size_t>(depth)] = 1;
  if (depth > 0) {
    return with_a_poisoned_frame(depth - 1, self) + array[0];
  }
  if (self != nullptr) {
    self->yield();
  }
  return array[0];
}

}  // namespace

TEST_CASE("a context takes no room when no sanitizer is on") {
  CHECK(std::is_empty_v<thrum::base::stack_context> == (THRUM_ASAN + THRUM_TSAN == 0));
}

TEST_CASE("a stack abandoned in the middle of its frames can be used again") {
  const auto stack = std::make_unique<std::byte[]>(told_stack_bytes);
  for (int round = 0; round < 50; ++round) {
    fibre abandoned(stack.get(), told_stack_bytes,
                    [](fibre& self) { with_a_poisoned_frame(20, &self); });
    abandoned.resume();
    CHECK_FALSE(abandoned.done());

    int sum = 0;
    fibre next(stack.get(), told_stack_bytes,
               [&](fibre&) { sum = with_a_poisoned_frame(30, nullptr); });
    next.resume();
    CHECK(next.done());
    CHECK(sum == 1);
  }
}

TEST_CASE("hundreds of thousands of switches overflow no shadow stack") {
  int turns = 0;
  fibre f([&](fibre& self) {
    for (;; ++turns) {
      with_a_poisoned_frame(3, &self);
    }
  });
  for (int i = 0; i < 200'000; ++i) {
    f.resume();
  }
  CHECK(turns == 199'999);  // the last one is still in the middle of its frames
}

TEST_CASE("thousands of incarnations on one stack leave nothing behind") {
  const auto stack = std::make_unique<std::byte[]>(told_stack_bytes);
  int ended = 0;
  for (int i = 0; i < 20'000; ++i) {
    fibre f(stack.get(), told_stack_bytes, [&](fibre&) { ++ended; });
    f.resume();
  }
  CHECK(ended == 20'000);
}

TEST_CASE("a fibre that wanders between threads makes no false report") {
  int shared = 0;  // guarded by nothing but the switches
  fibre f([&](fibre& self) {
    for (int i = 0; i < 200; ++i) {
      ++shared;
      with_a_poisoned_frame(5, &self);
    }
  });
  std::atomic<int> turn{0};
  const auto run = [&](int me) {
    for (int i = 0; i < 100; ++i) {
      while (turn.load(std::memory_order_acquire) != me) {
        std::this_thread::yield();
      }
      f.resume();
      turn.store(1 - me, std::memory_order_release);
    }
  };
  std::thread a(run, 0), b(run, 1);
  a.join();
  b.join();
  CHECK(shared == 200);
}

#if THRUM_EXCEPTIONS
TEST_CASE("an exception on a fibre's stack makes no false report") {
  int caught = 0;
  fibre f([&](fibre& self) {
    for (int i = 0; i < 100; ++i) {
      try {
        with_a_poisoned_frame(3, &self);
        throw std::runtime_error("thrown");
      } catch (const std::runtime_error&) {
        ++caught;
      }
    }
  });
  while (!f.done()) {
    f.resume();
  }
  CHECK(caught == 100);
}
#endif

TEST_CASE("an adopted context leads back to the thread's own stack") {
  for (int i = 0; i < 1000; ++i) {
    fibre outer([](fibre& self) {
      fibre inner([](fibre& inner_self) { with_a_poisoned_frame(2, &inner_self); });
      inner.resume();
      self.yield();
      inner.resume();
    });
    outer.resume();
    with_a_poisoned_frame(3, nullptr);
    outer.resume();
    CHECK(outer.done());
  }
}

#if THRUM_ASAN
TEST_CASE("a write past a local array of a fibre is reported") {
  const auto end = support::run_in_child([] {
    fibre f([](fibre&) {
      volatile char array[16] = {};
      volatile char* volatile end_of_array = array + 16;
      *end_of_array = 1;
    });
    f.resume();
  });
  CHECK(end.errors.find("stack-buffer-overflow") != std::string::npos);
}
#endif
