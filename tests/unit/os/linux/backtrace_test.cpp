// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include "support/catch.hpp"

#include <thrum/detail/debug/backtrace.hpp>
#include <thrum/detail/os/os.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <signal.h>
#include <ucontext.h>

// Two functions, one behind the other. The first instruction of the second is one that traps, so a
// signal finds it there each time; its handler goes on behind it.
#if THRUM_ARCH_X86_64_SYSV || THRUM_ARCH_I686
#define THRUM_TEST_TRAPPING "ud2\n"
#define THRUM_TEST_RETURNING "ret\n"
#elif THRUM_ARCH_AARCH64_AAPCS64
#define THRUM_TEST_TRAPPING ".inst 0x00000000\n"
#define THRUM_TEST_RETURNING "ret\n"
#elif THRUM_ARCH_RISCV64
#define THRUM_TEST_TRAPPING ".4byte 0\n"
#define THRUM_TEST_RETURNING "ret\n"
#elif THRUM_ARCH_LOONGARCH64
#define THRUM_TEST_TRAPPING ".4byte 0\n"
#define THRUM_TEST_RETURNING "ret\n"
#elif THRUM_ARCH_PPC64LE
#define THRUM_TEST_TRAPPING ".4byte 0\n"
#define THRUM_TEST_RETURNING "blr\n"
#endif

namespace {

using thrum::os::call_stack;

/// The place in the list; its size if it is not there.
std::size_t find_function(const call_stack& callers, std::string_view name) {
  thrum::os::symbolizer symbols;
  std::size_t i = 0;
  while (i != callers.size &&
         thrum::debug::describe_callers(symbols, &callers.frames[i], 1).find(name) ==
             std::string::npos) {
    ++i;
  }
  return i;
}

[[gnu::noinline]] void collect_here(call_stack& out) {
  thrum::os::collect_callers(out, 0);
  asm volatile("");
}

}  // namespace

// 32-bit Arm's tables do not say where a signal has interrupted; s390x tells of such an instruction
// when it is over, and its unwinder takes that for a call.
#if defined(THRUM_TEST_TRAPPING)

asm(".text\n"
    ".p2align 4\n"
    ".type thrum_test_function_before, %function\n"
    "thrum_test_function_before:\n"
    ".cfi_startproc\n" THRUM_TEST_RETURNING
    ".cfi_endproc\n"
    ".size thrum_test_function_before, . - thrum_test_function_before\n"
    ".globl thrum_test_trap_at_first\n"
    ".hidden thrum_test_trap_at_first\n"
    ".type thrum_test_trap_at_first, %function\n"
    "thrum_test_trap_at_first:\n"
    ".cfi_startproc\n" THRUM_TEST_TRAPPING THRUM_TEST_RETURNING
    ".cfi_endproc\n"
    ".size thrum_test_trap_at_first, . - thrum_test_trap_at_first\n");

extern "C" void thrum_test_trap_at_first();

namespace {

call_stack seen_by_handler;

[[gnu::noinline]] void note_callers(int, ::siginfo_t*, void* context) {
  thrum::os::collect_callers(seen_by_handler, 0);
  auto& registers = static_cast<::ucontext_t*>(context)->uc_mcontext;
#if THRUM_ARCH_X86_64_SYSV
  registers.gregs[REG_RIP] += 2;
#elif THRUM_ARCH_I686
  registers.gregs[REG_EIP] += 2;
#elif THRUM_ARCH_RISCV64
  registers.__gregs[REG_PC] += 4;
#elif THRUM_ARCH_LOONGARCH64
  registers.__pc += 4;
#elif THRUM_ARCH_PPC64LE
  registers.gp_regs[32] += 4;
#else
  registers.pc += 4;
#endif
}

/// Whether the unwinder knows where a handler returns to: of ppc64le it asks the kernel, and an
/// emulator has none; musl has no table for it.
bool handlers_are_walked() {
#if defined(__GLIBC__)
  return THRUM_ARCH_PPC64LE == 0 || std::getenv("THRUM_TEST_EMULATOR") == nullptr;
#else
  return false;
#endif
}

[[gnu::noinline]] void call_what_traps() {
  thrum_test_trap_at_first();
  asm volatile("");
}

/// The callers that a handler sees which interrupts thrum_test_trap_at_first.
const call_stack& interrupt_at_first() {
  struct ::sigaction ours {};
  ours.sa_sigaction = &note_callers;
  ours.sa_flags = SA_SIGINFO;
  struct ::sigaction before {};
  ::sigaction(SIGILL, &ours, &before);
  call_what_traps();
  ::sigaction(SIGILL, &before, nullptr);
  return seen_by_handler;
}

}  // namespace

TEST_CASE("a function that is interrupted at its first instruction is not taken for another") {
  if (!handlers_are_walked()) {
    return;
  }
  const call_stack& callers = interrupt_at_first();
  REQUIRE(callers.size > 2);
  const std::size_t at = find_function(callers, "thrum_test_trap_at_first");
  REQUIRE(at != callers.size);
  CHECK(find_function(callers, "thrum_test_function_before") == callers.size);
}

TEST_CASE("between the handler of a signal and what it interrupts nothing else is shown") {
  if (THRUM_TSAN || !handlers_are_walked()) {
    return;  // its own handler stands between
  }
  const call_stack& callers = interrupt_at_first();
  const std::size_t handler = find_function(callers, "note_callers");
  REQUIRE(handler != callers.size);
  CHECK(find_function(callers, "thrum_test_trap_at_first") == handler + 1);
}

TEST_CASE("the caller of an interrupted function is found inside its call") {
  if (!handlers_are_walked()) {
    return;
  }
  const call_stack& callers = interrupt_at_first();
  const std::size_t at = find_function(callers, "thrum_test_trap_at_first");
  CHECK(find_function(callers, "call_what_traps") == at + 1);
}

#endif

TEST_CASE("the address that is kept of a caller is inside its call") {
  call_stack callers;
  collect_here(callers);
  REQUIRE(callers.size != 0);
  CHECK(find_function(callers, "collect_here") == 0);
  const auto begin = reinterpret_cast<std::uintptr_t>(&collect_here);
  CHECK(reinterpret_cast<std::uintptr_t>(callers.frames[0]) > begin);
}
