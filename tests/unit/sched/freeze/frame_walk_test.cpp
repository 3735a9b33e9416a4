// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include "support/catch.hpp"
#include "two_views.hpp"

#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/freeze/frame_walk.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <signal.h>

namespace {

using support::agree;
using support::two_views;
using support::walk_names;
using support::walk_with_much_on_the_stack;
using thrum::os::call_stack;
using thrum::sched::stack_bounds;

#if THRUM_ARCH_X86_64_SYSV && THRUM_EXCEPTIONS
stack_bounds stepped_bounds;
const void* stepped_outermost = nullptr;
std::size_t steps = 0;
std::size_t complete_walks = 0;

void walk_at_step(int, ::siginfo_t*, void* context) {
  ++steps;
  call_stack callers;
  thrum::sched::walk_interrupted(context, stepped_bounds, callers);
  const void** const end = callers.frames + callers.size;
  complete_walks += std::find(+callers.frames, end, stepped_outermost) != end;
}

/// On: from now on each instruction of this thread raises SIGTRAP.
[[gnu::noinline]] void set_stepping(bool on) {
  constexpr std::uint64_t trap_flag = 0x100;
  asm volatile(
      "pushfq\n\t"
      "andq %0, (%%rsp)\n\t"
      "orq %1, (%%rsp)\n\t"
      "popfq"
      :
      : "r"(~trap_flag), "r"(on ? trap_flag : 0)
      : "memory", "cc");
}

/// Its end is in the middle of an exception's way.
struct begins_stepping {
  bool wanted;
  ~begins_stepping() { set_stepping(wanted); }
};

[[gnu::noinline]] void throw_through_destructor(bool stepping) {
  const begins_stepping here{stepping};
  throw 7;
}
#endif

}  // namespace

#if !THRUM_HAS_ARM_UNWINDER  // whose tables a walk does not read
TEST_CASE("a walk finds the same callers as the unwinder of exceptions") {
  two_views views;
  walk_with_much_on_the_stack<5>(views, 1);
  REQUIRE(views.walked.size > 8);
  CHECK(agree(views));
  CHECK(walk_names(views.walked, "walk_with_much_on_the_stack"));
}
#endif

TEST_CASE("a walk ends where the stack that it was given ends") {
  two_views views;
  walk_with_much_on_the_stack<2>(views, 1);
  void* sp = nullptr;
  struct call {
    void** sp;
    call_stack callers;
  } own{&sp, {}};
  thrum::arch::call_as_parked(
      &sp,
      [](void* argument) {
        auto& c = *static_cast<call*>(argument);
        const auto low = reinterpret_cast<std::uintptr_t>(*c.sp);
        thrum::sched::walk_parked(*c.sp, {low, low + thrum::arch::parked_frame_bytes}, c.callers);
      },
      &own);
  CHECK(own.callers.size == 1);
}

TEST_CASE("a stack pointer that is on another stack is not followed") {
  two_views views;
  std::uintptr_t words[64] = {};
  const auto low = reinterpret_cast<std::uintptr_t>(&words);
  views.walked.size = 7;
  SECTION("it lies below") {
    thrum::sched::walk_parked(words, {low + 64, low + sizeof words}, views.walked);
  }
  SECTION("it lies above") { thrum::sched::walk_parked(words + 32, {low, low + 64}, views.walked); }
  SECTION("its frame reaches over the end") {
    thrum::sched::walk_parked(words, {low, low + 16}, views.walked);
  }
  CHECK(views.walked.size == 0);
}

TEST_CASE("registers without meaning end a walk, whatever they hold") {
  std::uintptr_t words[64] = {};
  const auto low = reinterpret_cast<std::uintptr_t>(&words);
  const stack_bounds bounds{low, low + sizeof words};
  two_views views;
  walk_with_much_on_the_stack<1>(views, 1);
  const std::uintptr_t values[] = {0,
                                   1,
                                   8,
                                   low,
                                   low + 8,
                                   low + sizeof words,
                                   ~std::uintptr_t{0},
                                   ~(~std::uintptr_t{0} >> 1),
                                   std::uintptr_t{4096}};
  for (std::size_t i = 0; i != views.unwound.size; ++i) {
    for (const std::uintptr_t value : values) {
      for (std::uintptr_t& word : words) {
        word = value;
      }
      thrum::arch::frame_registers at;
      std::fill(std::begin(at.value), std::end(at.value), value);
      at.value[thrum::arch::frame_registers::sp] = low + 16;
      at.pc = reinterpret_cast<std::uintptr_t>(views.unwound.frames[i]);
      thrum::sched::walk_frames(at, true, bounds, views.walked);
      CHECK(views.walked.size <= call_stack::capacity);
    }
  }
}

TEST_CASE("rules that name a register which there is not end a walk") {
  using registers = thrum::arch::frame_registers;
  using kind = thrum::sched::register_rule::kind;
  std::uintptr_t words[8] = {};
  const auto low = reinterpret_cast<std::uintptr_t>(&words);
  const stack_bounds bounds{low, low + sizeof words};
  thrum::sched::frame_rules rules;
  rules.frame_register = registers::sp;
  rules.frame_offset = 16;
  const auto goes_on = [&](std::uint64_t return_column) {
    registers at = {};
    at.value[registers::sp] = low;
    return step_to_caller(at, rules, return_column, bounds, true);
  };
  CHECK(goes_on(registers::count - 1));
  CHECK_FALSE(goes_on(registers::count));
  constexpr auto last = static_cast<std::int64_t>(registers::count - 1);
  rules.registers[0] = {kind::in_register, last, {}};
  CHECK(goes_on(registers::count - 1));
  rules.registers[0] = {kind::in_register, last + 1, {}};
  CHECK_FALSE(goes_on(registers::count - 1));
  rules.registers[0] = {kind::in_register, -1, {}};
  CHECK_FALSE(goes_on(registers::count - 1));
}

#if THRUM_ARCH_X86_64_SYSV && THRUM_EXCEPTIONS
TEST_CASE("a thread can be walked at each instruction between a destructor and a catch") {
  if (THRUM_ASAN || THRUM_TSAN || std::getenv("THRUM_TEST_EMULATOR") != nullptr) {
    return;  // they take part in each signal
  }
  struct ::sigaction ours {};
  ours.sa_sigaction = &walk_at_step;
  ours.sa_flags = SA_SIGINFO;
  struct ::sigaction before {};
  ::sigaction(SIGTRAP, &ours, &before);
  stepped_bounds = support::bounds_of_this_thread();
  steps = 0;
  complete_walks = 0;
  call_stack callers;
  thrum::os::collect_callers(callers, 0);
  stepped_outermost = callers.frames[callers.size - 1];
  int caught = 0;
  for (const bool stepping : {false, true}) {  // the first binds the functions that are called
    try {
      throw_through_destructor(stepping);
    } catch (int) {
      ++caught;
    }
    set_stepping(false);
  }
  ::sigaction(SIGTRAP, &before, nullptr);
  CHECK(caught == 2);
  CHECK(steps > 1'000);
  INFO(steps << " instructions, " << complete_walks << " of them walked to the outermost caller");
  CHECK(complete_walks > steps - steps / 10);
}
#endif
