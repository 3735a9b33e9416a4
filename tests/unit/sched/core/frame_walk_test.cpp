// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include "support/catch.hpp"

#include <thrum/debug/backtrace.hpp>
#include <thrum/os/os.hpp>
#include <thrum/sched/core/frame_walk.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

namespace {

using thrum::os::call_stack;
using thrum::sched::stack_bounds;

stack_bounds bounds_of_this_thread() {
  ::pthread_attr_t about;
  void* low = nullptr;
  std::size_t bytes = 0;
  ::pthread_getattr_np(::pthread_self(), &about);
  ::pthread_attr_getstack(&about, &low, &bytes);
  ::pthread_attr_destroy(&about);
  const auto begin = reinterpret_cast<std::uintptr_t>(low);
  return {begin, begin + bytes};
}

[[maybe_unused]] bool walk_names(const call_stack& callers, std::string_view function) {
  thrum::os::symbolizer symbols;
  return thrum::debug::describe_callers(symbols, callers.frames, callers.size).find(function) !=
         std::string::npos;
}

/// The callers of one place, by the unwinder of exceptions and by the walk.
struct two_views {
  call_stack unwound;
  call_stack walked;
};

[[gnu::noinline]] void walk_from_here(two_views& views) {
  thrum::os::collect_callers(views.unwound, 0);
  void* sp = nullptr;
  struct call {
    void** sp;
    call_stack& to;
  } own{&sp, views.walked};
  thrum::arch::call_as_parked(
      &sp,
      [](void* argument) {
        auto& c = *static_cast<call*>(argument);
        thrum::sched::walk_parked(*c.sp, bounds_of_this_thread(), c.to);
      },
      &own);
  asm volatile("");
}

template <int Depth>
[[gnu::noinline]] int walk_with_much_on_the_stack(two_views& views, int n) {
  volatile char fill[Depth * 40 + 8] = {};
  fill[n % 7] = 1;
  if constexpr (Depth == 0) {
    walk_from_here(views);
  } else {
    n += walk_with_much_on_the_stack<Depth - 1>(views, n + fill[3]);
  }
  return n + fill[n % 7];
}

[[maybe_unused]] std::vector<const void*> all_but_innermost(const call_stack& callers) {
  return std::vector<const void*>(callers.frames + 1, callers.frames + callers.size);
}

/// Whether both name the same. The walk may name one more, the outermost, for which musl has no
/// table.
[[maybe_unused]] bool agree(const two_views& views) {
  std::vector<const void*> walked = all_but_innermost(views.walked);
  const std::vector<const void*> unwound = all_but_innermost(views.unwound);
#if !defined(__GLIBC__)
  if (walked.size() == unwound.size() + 1) {
    walked.pop_back();
  }
#endif
  return walked == unwound;
}

/// Calls f(argument) from a frame whose unwind table gives its place as an expression.
extern "C" void thrum_test_call_from_expression_frame(void (*f)(void*), void* argument);
#if THRUM_ARCH_X86_64_SYSV
asm(R"(
  .text
  .type thrum_test_call_from_expression_frame, @function
thrum_test_call_from_expression_frame:
  .cfi_startproc
  subq $8, %rsp
  .cfi_escape 0x0f, 0x02, 0x77, 0x10  # def_cfa_expression: breg7 16
  movq %rdi, %rax
  movq %rsi, %rdi
  call *%rax
  addq $8, %rsp
  .cfi_escape 0x0f, 0x02, 0x77, 0x08
  ret
  .cfi_endproc
  .size thrum_test_call_from_expression_frame, . - thrum_test_call_from_expression_frame
)");
#elif THRUM_ARCH_AARCH64
asm(R"(
  .text
  .type thrum_test_call_from_expression_frame, @function
thrum_test_call_from_expression_frame:
  .cfi_startproc
  str x30, [sp, #-16]!
  .cfi_escape 0x0f, 0x02, 0x8f, 0x10  // def_cfa_expression: breg31 16
  .cfi_offset x30, -16
  mov x2, x0
  mov x0, x1
  blr x2
  ldr x30, [sp], #16
  .cfi_escape 0x0f, 0x02, 0x8f, 0x00
  .cfi_restore x30
  ret
  .cfi_endproc
  .size thrum_test_call_from_expression_frame, . - thrum_test_call_from_expression_frame
)");
#elif THRUM_ARCH_RISCV64
asm(R"(
  .text
  .type thrum_test_call_from_expression_frame, @function
thrum_test_call_from_expression_frame:
  .cfi_startproc
  addi sp, sp, -16
  .cfi_escape 0x0f, 0x02, 0x72, 0x10  # def_cfa_expression: breg2 16
  sd ra, 8(sp)
  .cfi_offset ra, -8
  mv a2, a0
  mv a0, a1
  jalr a2
  ld ra, 8(sp)
  addi sp, sp, 16
  .cfi_escape 0x0f, 0x02, 0x72, 0x00
  .cfi_restore ra
  ret
  .cfi_endproc
  .size thrum_test_call_from_expression_frame, . - thrum_test_call_from_expression_frame
)");
#elif THRUM_ARCH_LOONGARCH64
asm(R"(
  .text
  .type thrum_test_call_from_expression_frame, @function
thrum_test_call_from_expression_frame:
  .cfi_startproc
  addi.d $sp, $sp, -16
  .cfi_escape 0x0f, 0x02, 0x73, 0x10  # def_cfa_expression: breg3 16
  st.d $ra, $sp, 8
  .cfi_offset 1, -8
  move $a2, $a0
  move $a0, $a1
  jirl $ra, $a2, 0
  ld.d $ra, $sp, 8
  addi.d $sp, $sp, 16
  .cfi_escape 0x0f, 0x02, 0x73, 0x00
  .cfi_restore 1
  ret
  .cfi_endproc
  .size thrum_test_call_from_expression_frame, . - thrum_test_call_from_expression_frame
)");
#elif THRUM_ARCH_I686
asm(R"(
  .text
  .type thrum_test_call_from_expression_frame, @function
thrum_test_call_from_expression_frame:
  .cfi_startproc
  movl 4(%esp), %ecx
  movl 8(%esp), %eax
  subl $8, %esp
  .cfi_escape 0x0f, 0x02, 0x74, 0x0c  # def_cfa_expression: breg4 12
  pushl %eax
  .cfi_escape 0x0f, 0x02, 0x74, 0x10
  call *%ecx
  addl $12, %esp
  .cfi_escape 0x0f, 0x02, 0x74, 0x04
  ret
  .cfi_endproc
  .size thrum_test_call_from_expression_frame, . - thrum_test_call_from_expression_frame
)");
#elif THRUM_ARCH_S390X
asm(R"(
  .text
  .type thrum_test_call_from_expression_frame, @function
thrum_test_call_from_expression_frame:
  .cfi_startproc
  stmg %r14, %r15, 112(%r15)
  .cfi_offset %r14, -48
  .cfi_offset %r15, -40
  aghi %r15, -160
  .cfi_escape 0x0f, 0x03, 0x7f, 0xc0, 0x02  # def_cfa_expression: breg15 320
  lgr %r1, %r2
  lgr %r2, %r3
  basr %r14, %r1
  lmg %r14, %r15, 272(%r15)
  .cfi_escape 0x0f, 0x03, 0x7f, 0xa0, 0x01
  .cfi_restore %r14
  .cfi_restore %r15
  br %r14
  .cfi_endproc
  .size thrum_test_call_from_expression_frame, . - thrum_test_call_from_expression_frame
)");
#elif THRUM_ARCH_PPC64LE
asm(R"(
  .text
  .type thrum_test_call_from_expression_frame, @function
thrum_test_call_from_expression_frame:
  .cfi_startproc
  mflr 0
  std 0, 16(1)
  .cfi_offset lr, 16
  stdu 1, -32(1)
  .cfi_escape 0x0f, 0x02, 0x71, 0x20  # def_cfa_expression: breg1 32
  std 2, 24(1)
  mr 12, 3
  mr 3, 4
  mtctr 12
  bctrl
  ld 2, 24(1)
  addi 1, 1, 32
  .cfi_escape 0x0f, 0x02, 0x71, 0x00
  ld 0, 16(1)
  mtlr 0
  .cfi_restore lr
  blr
  .cfi_endproc
  .size thrum_test_call_from_expression_frame, . - thrum_test_call_from_expression_frame
)");
#endif

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

TEST_CASE("a walk passes a frame whose place is given by an expression") {
  two_views views;
  thrum_test_call_from_expression_frame(
      [](void* to) { walk_with_much_on_the_stack<1>(*static_cast<two_views*>(to), 1); }, &views);
  REQUIRE(views.walked.size > 5);
  CHECK(agree(views));
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

TEST_CASE("the files that a process begins with are found by their addresses") {
  static thrum::os::first_code_files files;
  files.remember();
  files.remember();
  thrum::os::code_file first;
  thrum::os::code_file asked;
  for (const auto address : {reinterpret_cast<std::uintptr_t>(&walk_from_here),
                             reinterpret_cast<std::uintptr_t>(&std::abort)}) {
    REQUIRE(files.find(address, first));
    CHECK((first.low <= address && address < first.high));
    REQUIRE(thrum::os::find_code_file(address, asked));
    CHECK(first.index == asked.index);
  }
  CHECK_FALSE(files.find(8, first));
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
  stepped_bounds = bounds_of_this_thread();
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
