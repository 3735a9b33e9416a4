// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The switch of the processor we are on. Its build modes are proved by tests/arch/build_modes.sh.
// The concepts of a processor. That the one we are on satisfies them is asserted where it is chosen;
// here is shown that each refuses one that does less.
// unit/sched/core/traits_test.cpp, which is another flavour of the library, asks the same.

#include <thrum/detail/arch/arch.hpp>
#include <thrum/detail/arch/contract.hpp>
#include <thrum/detail/base/random.hpp>

#include "ports/chosen_processor.hpp"
#include "support/catch.hpp"
#include "support/child.hpp"
#include "support/fibre.hpp"
#include "support/watched_exception.hpp"

#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <unwind.h>  // mingw's includes <windows.h>, which is to come behind <winsock2.h>

using support::fibre;

namespace {

constexpr std::size_t stack_bytes = std::size_t{64} * 1024;

// Two sides of a bare switch, without what the sanitizers want to know.
struct bare {
  alignas(16) std::byte stack[stack_bytes];
  void* sp = nullptr;
  void* back = nullptr;
  void* seen_pass = nullptr;
  void* seen_argument = nullptr;
  std::uintptr_t seen_frame = 0;
};

_Unwind_Reason_Code count_frame(_Unwind_Context*, void* count) {
  return ++*static_cast<int*>(count) > 1000 ? _URC_END_OF_STACK : _URC_NO_REASON;
}

// Clobbers every register that a called function may clobber, as far as the compiler lets us.
[[gnu::noinline]] double churn(fibre& self, std::uint64_t seed) {
  thrum::base::random r(seed);
  double sum = 0;
  for (int i = 0; i < 200; ++i) {
    const std::uint32_t a = r.next() / 8, b = r.next() / 8, c = r.next() / 8, d = r.next() / 8,
                        e = r.next() / 8;
    const double p = a * 0.5, q = b * 0.25, s = c * 2.0, t = d + 0.125, u = e - 0.5;
    self.yield();
    sum += static_cast<double>(a + b + c + d + e) - 2 * p - 4 * q - s / 2 - (t - 0.125) - (u + 0.5);
  }
  return sum;
}

}  // namespace

TEST_CASE("the processor has a name and asks for no more of a stack than alignment to sixteen") {
  CHECK(std::strlen(thrum::arch::name) > 0);
  CHECK(16 % thrum::arch::stack_alignment == 0);
  thrum::arch::spin_hint();
}

TEST_CASE("a fresh stack is laid out below its top and aligned") {
  alignas(16) std::byte stack[1024];
  void* const top = stack + sizeof stack;
  void* const sp = thrum::arch::prepare_stack(
      top, {stack, stack}, [](void*, void*) {}, nullptr);
  CHECK(sp < top);
  CHECK(sp >= stack + sizeof stack - thrum::arch::parked_frame_bytes - 64);
  CHECK(reinterpret_cast<std::uintptr_t>(sp) % sizeof(std::uintptr_t) == 0);
}

TEST_CASE("every switch passes its value to the side that arrives") {
  std::vector<int> order;
  fibre f([&](fibre& self) {
    order.push_back(1);
    self.yield();
    order.push_back(3);
  });
  f.resume();
  order.push_back(2);
  f.resume();
  CHECK(order == std::vector{1, 2, 3});
  CHECK(f.done());
}

#if !THRUM_ASAN && !THRUM_TSAN
TEST_CASE("the two forms of the switch resume each other's stacks") {
  const auto b = std::make_unique<bare>();
  const auto entry = [](void*, void* argument) {
    bare& self = *static_cast<bare*>(argument);
    for (std::uintptr_t n = 0;; ++n) {
      void* const value = reinterpret_cast<void*>(n);
      self.seen_pass = n % 3 == 0 ? thrum::arch::switch_stack_paired(&self.sp, self.back, value)
                                  : thrum::arch::switch_stack(&self.sp, self.back, value);
    }
  };
  b->sp = thrum::arch::prepare_stack(b->stack + stack_bytes, {b->stack, b->stack}, entry, b.get());
  int wrong = 0;
  for (std::uintptr_t n = 0; n < 1000; ++n) {
    void* const value = reinterpret_cast<void*>(n + 5);
    const void* const got = n % 2 == 0 ? thrum::arch::switch_stack_paired(&b->back, b->sp, value)
                                       : thrum::arch::switch_stack(&b->back, b->sp, value);
    wrong += got != reinterpret_cast<void*>(n);
    wrong += n > 0 && b->seen_pass != value;
  }
  CHECK(wrong == 0);
}

TEST_CASE("the first switch hands over its value and the argument, and later ones their value") {
  const auto b = std::make_unique<bare>();
  const auto entry = [](void* pass, void* argument) {
    bare& self = *static_cast<bare*>(argument);
    self.seen_argument = argument;
    self.seen_frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    for (;;) {
      self.seen_pass = pass;
      pass = thrum::arch::switch_stack(&self.sp, self.back, &self.back);
    }
  };
  b->sp = thrum::arch::prepare_stack(b->stack + stack_bytes, {b->stack, b->stack}, entry, b.get());
  for (int i = 0; i < 3; ++i) {
    int word = 0;
    CHECK(thrum::arch::switch_stack(&b->back, b->sp, &word) == &b->back);
    CHECK(b->seen_pass == &word);
    CHECK(b->seen_argument == b.get());
  }
  CHECK(b->seen_frame > reinterpret_cast<std::uintptr_t>(b->stack));
  CHECK(b->seen_frame < reinterpret_cast<std::uintptr_t>(b->stack + stack_bytes));
}
#endif

TEST_CASE("vectors that need an aligned stack work on a fresh one") {
  double result = 0;
  fibre f([&](fibre& self) {
    alignas(64) double values[16];
    for (int i = 0; i < 16; ++i) {
      values[i] = i;
    }
    CHECK(reinterpret_cast<std::uintptr_t>(values) % 64 == 0);
    self.yield();
    char text[64];
    std::snprintf(text, sizeof text, "%.3f", values[15]);  // libc uses aligned vector stores
    result = std::stod(text);
  });
  f.resume();
  f.resume();
  CHECK(result == 15.0);
}

TEST_CASE("many interleaved stacks keep their integers and their floating-point values") {
  std::vector<double> sums(8, 1.0);
  std::vector<std::unique_ptr<fibre>> fibres;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    fibres.push_back(
        std::make_unique<fibre>([&sums, i](fibre& self) { sums[i] = churn(self, i); }));
  }
  for (bool any = true; any;) {
    any = false;
    for (const auto& f : fibres) {
      if (!f->done()) {
        f->resume();
        any = true;
      }
    }
  }
  CHECK(sums == std::vector<double>(8, 0.0));
}

#if THRUM_HAS_ARM_UNWINDER
constexpr _Unwind_Reason_Code end_of_walk = _URC_FAILURE;  // it has one word for all ends
#else
constexpr _Unwind_Reason_Code end_of_walk = _URC_END_OF_STACK;
#endif

TEST_CASE("the unwinder ends at the entry of the stack") {
  int frames = 0;
  _Unwind_Reason_Code end = _URC_NO_REASON;
  fibre f([&](fibre&) { end = _Unwind_Backtrace(&count_frame, &frames); });
  f.resume();
  CHECK(end == end_of_walk);
  CHECK(frames > 1);
  CHECK(frames < 30);
}

TEST_CASE("a fresh stack holds zeros where a caller's frame and return address would stand") {
  const auto b = std::make_unique<bare>();
  b->sp = thrum::arch::prepare_stack(
      b->stack + stack_bytes, {b->stack, b->stack}, [](void*, void*) {}, nullptr);
  const auto* const words = static_cast<const std::uintptr_t*>(b->sp);
  const auto* const end = reinterpret_cast<const std::uintptr_t*>(b->stack + stack_bytes);
  CHECK(end[-1] == 0);
  CHECK(end[-2] == 0);
  int nonzero = 0;
  for (const auto* word = words; word != end; ++word) {
    // Where the stack pointer is itself preserved, or chained, a word leads into the frame.
    const bool leads_into_it = *word > reinterpret_cast<std::uintptr_t>(words) &&
                               *word < reinterpret_cast<std::uintptr_t>(end);
    nonzero += *word != 0 && !leads_into_it;
  }
#if THRUM_HAS_SEH_UNWINDER
  constexpr int bounds = 5;  // where the stack lies, and that it has no handlers
#else
  constexpr int bounds = 0;
#endif
  CHECK(nonzero == 2 + bounds);  // entry and the address of the trampoline; the argument is null
}

#if THRUM_EXCEPTIONS
TEST_CASE("an exception that leaves a stack's first function terminates the program") {
  const auto end = support::run_in_child([] {
    std::set_terminate([] { ::_exit(std::current_exception() != nullptr ? 42 : 1); });
    fibre f([](fibre&) { throw std::runtime_error("nobody catches this"); });
    f.resume();
  });
  CHECK(end.exit_code == 42);
}

TEST_CASE("exceptions thrown on several stacks in turn reach their own handlers") {
  int wrong = 0;
  const auto body = [&wrong](int number) {
    return [&wrong, number](fibre& self) {
      for (int i = 0; i < 50; ++i) {
        try {
          self.yield();
          throw number * 1000 + i;
        } catch (int caught) {
          self.yield();
          wrong += caught != number * 1000 + i;
        }
      }
    };
  };
  fibre a(body(1)), b(body(2)), c(body(3));
  while (!a.done() || !b.done() || !c.done()) {
    for (fibre* f : {&a, &b, &c}) {
      if (!f->done()) {
        f->resume();
      }
    }
  }
  CHECK(wrong == 0);
}
#endif

TEST_CASE("a first function that returns traps instead of running on") {
  const auto end = support::run_in_child([] {
    static bare b;
    b.sp = thrum::arch::prepare_stack(
        b.stack + stack_bytes, {b.stack, b.stack}, [](void*, void*) {}, nullptr);
    thrum::arch::switch_stack(&b.back, b.sp, nullptr);
  });
  CHECK((end.signal != 0 || end.exit_code != 0));
}

namespace {

namespace arch = thrum::arch;

struct passes_nothing : arch::chosen_processor {
  static void switch_stack(void**, void*) noexcept;
};
struct prepares_without_entry : arch::chosen_processor {
  static void* prepare_stack(void*, void*) noexcept;
};
struct registers_without_sp : arch::chosen_processor {
  struct frame_registers {
    std::uintptr_t value[1];
    std::uintptr_t pc;
  };
};
struct watches_without_argument : arch::chosen_processor {
  static void call_watched(void (*)());
};
struct asks_a_pointer : arch::chosen_processor {
  static std::uintptr_t ask_valgrind(std::uintptr_t) noexcept;
};

}  // namespace

TEST_CASE("a processor that does less than its contract asks is refused") {
  STATIC_REQUIRE_FALSE(arch::switches_stacks<passes_nothing>);
  STATIC_REQUIRE_FALSE(arch::switches_stacks<prepares_without_entry>);
  STATIC_REQUIRE_FALSE(arch::tells_registers<registers_without_sp>);
  STATIC_REQUIRE_FALSE(arch::watches_exceptions<watches_without_argument>);
  STATIC_REQUIRE_FALSE(arch::asks_valgrind<asks_a_pointer>);
}

#if THRUM_EXCEPTIONS
TEST_CASE("an exception that leaves a watched call is shown to this flavour's observer") {
  CHECK(own_observer_sees_an_exception());
}
#endif
