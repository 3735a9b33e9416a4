// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The words of a thread and the registers of interrupted code, on x86-64.
#ifndef THRUM_DETAIL_OS_WINDOWS_MACHINE_X86_64_HPP
#define THRUM_DETAIL_OS_WINDOWS_MACHINE_X86_64_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_ARCH_X86_64_WIN64

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The registers of interrupted code, by the names that they have in the system's own record.
struct interrupted_machine {
  std::uint64_t Rax, Rcx, Rdx, Rbx, Rsp, Rbp, Rsi, Rdi;
  std::uint64_t R8, R9, R10, R11, R12, R13, R14, R15, Rip;
};

/// What the system has of the calling thread (TEB).
inline const char* own_thread_block() noexcept {
  const char* block;
  asm volatile("movq %%gs:0x30, %0" : "=r"(block));  // a pointer to itself
  return block;
}

/// A word of the calling thread's block, in one instruction: the thread may be another one after it.
inline void* load_thread_word(std::uint32_t at) noexcept {
  void* value;
  asm volatile("movq %%gs:(%1), %0" : "=r"(value) : "r"(std::uintptr_t{at}));
  return value;
}

inline void store_thread_word(std::uint32_t at, void* value) noexcept {
  asm volatile("movq %0, %%gs:(%1)" : : "r"(value), "r"(std::uintptr_t{at}) : "memory");
}

/// What the injected call has kept (preempt_signal.hpp): `context` is preempt_target::context.
interrupted_machine machine_state(const void* context) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
// What stops a thread, looks at it and sends it elsewhere; and the call that an interrupted thread makes.
//
// The call keeps all that the interrupted code may have in use: the flags, the integers, and what xsave
// keeps of x87, SSE, AVX and AVX-512. Below the old stack pointer no code keeps anything here. The
// call first pushes the interrupted place, and then looks like a function that was called there: its
// tables let a walk continue to the interrupted function.

#include <thrum/detail/os/windows/api.hpp>
#include <thrum/detail/os/windows/preempt_target.hpp>

#include <cstring>

#include <cpuid.h>

// clang-format off
// rax = target
#define THRUM_INJECTED_CALL THRUM_SYMBOL("thrum_injected_call")
asm(".ifndef " THRUM_INJECTED_CALL "\n\t"
    ".section .text$" THRUM_INJECTED_CALL ", \"xr\"\n\t"
    ".linkonce discard\n\t"
    ".globl " THRUM_INJECTED_CALL "\n\t"
    ".def " THRUM_INJECTED_CALL "; .scl 2; .type 32; .endef\n\t"
    ".p2align 4\n"
    THRUM_INJECTED_CALL ":\n\t"
    ".seh_proc " THRUM_INJECTED_CALL "\n\t"
    "pushq (%rax)\n\t"
    "pushfq\n\t"          ".seh_stackalloc 8\n\t"
    "pushq 8(%rax)\n\t"   ".seh_stackalloc 8\n\t"
    "pushq %rcx\n\t"      ".seh_stackalloc 8\n\t"
    "pushq %rdx\n\t"      ".seh_stackalloc 8\n\t"
    "pushq %r8\n\t"       ".seh_stackalloc 8\n\t"
    "pushq %r9\n\t"       ".seh_stackalloc 8\n\t"
    "pushq %r10\n\t"      ".seh_stackalloc 8\n\t"
    "pushq %r11\n\t"      ".seh_stackalloc 8\n\t"
    "pushq %rbx\n\t"      ".seh_pushreg %rbx\n\t"
    "pushq %rsi\n\t"      ".seh_pushreg %rsi\n\t"
    "pushq %rdi\n\t"      ".seh_pushreg %rdi\n\t"
    "pushq %r12\n\t"      ".seh_pushreg %r12\n\t"
    "pushq %r13\n\t"      ".seh_pushreg %r13\n\t"
    "pushq %r14\n\t"      ".seh_pushreg %r14\n\t"
    "pushq %r15\n\t"      ".seh_pushreg %r15\n\t"
    "pushq %rbp\n\t"      ".seh_pushreg %rbp\n\t"
    "movq %rsp, %rbp\n\t" ".seh_setframe %rbp, 0\n\t"
    ".seh_endprologue\n\t"
    "cld\n\t"
    "movq %rax, %rcx\n\t"
    "movl 24(%rax), %r13d\n\t"
    "subq 16(%rax), %rsp\n\t"
    "andq $-64, %rsp\n\t"
    "movq %rsp, %r12\n\t"
    "xorl %edx, %edx\n\t"
    // the head of the area, which xsave wants to be zero
    "movq %rdx, 512(%rsp)\n\t" "movq %rdx, 520(%rsp)\n\t" "movq %rdx, 528(%rsp)\n\t"
    "movq %rdx, 536(%rsp)\n\t" "movq %rdx, 544(%rsp)\n\t" "movq %rdx, 552(%rsp)\n\t"
    "movq %rdx, 560(%rsp)\n\t" "movq %rdx, 568(%rsp)\n\t"
    "movl %r13d, %eax\n\t"
    "xsave64 (%rsp)\n\t"
    "emms\n\t"
    "movq %rbp, %rdx\n\t"
    "subq $32, %rsp\n\t"
    "callq " THRUM_SYMBOL("thrum_run_interruption") "\n\t"
    "movl %r13d, %eax\n\t"
    "xorl %edx, %edx\n\t"
    "xrstor64 (%r12)\n\t"
    "movq %rbp, %rsp\n\t"
    "popq %rbp\n\t" "popq %r15\n\t" "popq %r14\n\t" "popq %r13\n\t" "popq %r12\n\t"
    "popq %rdi\n\t" "popq %rsi\n\t" "popq %rbx\n\t" "popq %r11\n\t" "popq %r10\n\t"
    "popq %r9\n\t"  "popq %r8\n\t"  "popq %rdx\n\t" "popq %rcx\n\t" "popq %rax\n\t"
    "popfq\n\t"
    "ret\n\t"
    ".seh_endproc\n\t"
    ".text\n\t"
    ".endif");
#undef THRUM_INJECTED_CALL
// clang-format on

namespace thrum { inline namespace THRUM_ABI { namespace os {

void thrum_injected_call() asm(THRUM_SYMBOL("thrum_injected_call"));

/// Where a stopped thread is, and its stack pointer, by the system's record of it.
inline std::uintptr_t place_of(const ::CONTEXT& machine) noexcept { return machine.Rip; }
inline std::uintptr_t stack_pointer_of(const ::CONTEXT& machine) noexcept { return machine.Rsp; }

/// Goes from a function that has nothing on the stack but where it returns to, to its caller.
inline void return_from_leaf(::CONTEXT& machine) noexcept {
  machine.Rip = *reinterpret_cast<const std::uint64_t*>(machine.Rsp);
  machine.Rsp += sizeof machine.Rip;
}

/// Whether a step of a walk has come nearer to the end: each call lies on the stack.
inline bool has_left_frame(const ::CONTEXT& machine, std::uintptr_t sp_before) noexcept {
  return machine.Rsp > sp_before;
}

/// How long the instructions are by which the system is called.
inline constexpr std::size_t system_call_bytes = 7;

/// Whether such an instruction ends at `place`; wine has another one.
inline bool is_behind_system_call(std::uintptr_t place) noexcept {
  constexpr unsigned char by_instruction[] = {0x0f, 0x05};
  constexpr unsigned char by_pointer[] = {0xff, 0x14, 0x25};
  const auto* const at = reinterpret_cast<const unsigned char*>(place);
  return std::memcmp(at - sizeof by_instruction, by_instruction, sizeof by_instruction) == 0 ||
         std::memcmp(at - system_call_bytes, by_pointer, sizeof by_pointer) == 0;
}

/// What the injected call keeps beyond the integers: 0 bytes where there is no xsave, and then no thread is
/// interrupted.
struct vector_state {
  std::uintptr_t bytes = 0;
  std::uint32_t mask = 0;
};
inline constinit vector_state kept_vectors;

/// Bytes of the stack for what is kept; 0 where no thread can be interrupted.
inline std::uintptr_t kept_bytes() noexcept { return kept_vectors.bytes; }

/// The thread makes the injected call when it goes on.
inline void send_to_injected_call(::CONTEXT& machine, preempt_target& target) noexcept {
  target.place = machine.Rip;
  target.first_register = machine.Rax;
  target.vector_bytes = kept_vectors.bytes;
  target.vector_mask = kept_vectors.mask;
  machine.Rip = reinterpret_cast<std::uintptr_t>(&thrum_injected_call);
  machine.Rax = reinterpret_cast<std::uintptr_t>(&target);
}

[[gnu::target("xsave")]] inline std::uint64_t enabled_states() noexcept {
  return __builtin_ia32_xgetbv(0);
}

/// Called by one thread at a time, before any thread is interrupted.
inline void find_what_a_call_keeps() noexcept {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  constexpr unsigned system_has_xsave = 1U << 27;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & system_has_xsave) == 0) {
    return;
  }
  constexpr std::uint32_t x87_to_avx512 = 0xE7;
  constexpr unsigned leaf = 13;
  constexpr unsigned head_bytes = 576;
  const auto mask = static_cast<std::uint32_t>(enabled_states()) & x87_to_avx512;
  std::uintptr_t end = head_bytes;
  for (unsigned part = 2; part != 8; ++part) {
    if ((mask >> part & 1U) != 0 && __get_cpuid_count(leaf, part, &a, &b, &c, &d) != 0) {
      end = a + b > end ? a + b : end;  // its size, and where it begins
    }
  }
  kept_vectors = {end, mask};
}

THRUM_NOINLINE THRUM_NO_SANITIZE THRUM_OUT_OF_LINE interrupted_machine
machine_state(const void* context) noexcept {
  // The last that was pushed lies lowest.
  const auto* const word = static_cast<const volatile std::uint64_t*>(context);
  interrupted_machine at{};
  at.Rbp = word[0];
  at.R15 = word[1];
  at.R14 = word[2];
  at.R13 = word[3];
  at.R12 = word[4];
  at.Rdi = word[5];
  at.Rsi = word[6];
  at.Rbx = word[7];
  at.R11 = word[8];
  at.R10 = word[9];
  at.R9 = word[10];
  at.R8 = word[11];
  at.Rdx = word[12];
  at.Rcx = word[13];
  at.Rax = word[14];
  at.Rip = word[16];
  at.Rsp = reinterpret_cast<std::uint64_t>(word + 17);
  return at;
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_ARCH_X86_64_WIN64
#endif  // THRUM_DETAIL_OS_WINDOWS_MACHINE_X86_64_HPP
