// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Context switch for x86-64 with the System V calling convention.
//
// The frame of a stack that does not run, from its stack pointer upwards:
//    0  r15     8  r14    16  r13    24  r12    32  rbx    40  rbp    48  return address
// Both stacks hold this frame at the moment the stack pointer changes, so one line of unwind
// information describes the function before and after. `notrack` and endbr64 are for
// indirect-branch tracking: the jump goes to the middle of a function.
#ifndef THRUM_ARCH_X86_64_SYSV_HPP
#define THRUM_ARCH_X86_64_SYSV_HPP

#include <cstddef>
#include <cstdint>

#include <thrum/arch/contract.hpp>
#include <thrum/base/config.hpp>

#if THRUM_ARCH_X86_64

// clang-format off
#define THRUM_ARCH_SWITCH_BODY \
  "endbr64\n\t" \
  "pushq %rbp\n\t" THRUM_CFI(".cfi_adjust_cfa_offset 8") THRUM_CFI(".cfi_rel_offset rbp, 0") \
  "pushq %rbx\n\t" THRUM_CFI(".cfi_adjust_cfa_offset 8") THRUM_CFI(".cfi_rel_offset rbx, 0") \
  "pushq %r12\n\t" THRUM_CFI(".cfi_adjust_cfa_offset 8") THRUM_CFI(".cfi_rel_offset r12, 0") \
  "pushq %r13\n\t" THRUM_CFI(".cfi_adjust_cfa_offset 8") THRUM_CFI(".cfi_rel_offset r13, 0") \
  "pushq %r14\n\t" THRUM_CFI(".cfi_adjust_cfa_offset 8") THRUM_CFI(".cfi_rel_offset r14, 0") \
  "pushq %r15\n\t" THRUM_CFI(".cfi_adjust_cfa_offset 8") THRUM_CFI(".cfi_rel_offset r15, 0") \
  "movq %rsp, (%rdi)\n\t" \
  "movq %rsi, %rsp\n\t" \
  "movq %rdx, %rax\n\t" \
  "popq %r15\n\t" THRUM_CFI(".cfi_adjust_cfa_offset -8") THRUM_CFI(".cfi_restore r15") \
  "popq %r14\n\t" THRUM_CFI(".cfi_adjust_cfa_offset -8") THRUM_CFI(".cfi_restore r14") \
  "popq %r13\n\t" THRUM_CFI(".cfi_adjust_cfa_offset -8") THRUM_CFI(".cfi_restore r13") \
  "popq %r12\n\t" THRUM_CFI(".cfi_adjust_cfa_offset -8") THRUM_CFI(".cfi_restore r12") \
  "popq %rbx\n\t" THRUM_CFI(".cfi_adjust_cfa_offset -8") THRUM_CFI(".cfi_restore rbx") \
  "popq %rbp\n\t" THRUM_CFI(".cfi_adjust_cfa_offset -8") THRUM_CFI(".cfi_restore rbp")
// clang-format on

namespace thrum::inline THRUM_ABI::arch {

inline constexpr char name[] = "x86_64";
inline constexpr std::size_t stack_alignment = 16;

/// To be called in a loop that waits for another processor.
THRUM_INLINE void spin_hint() noexcept { __builtin_ia32_pause(); }

extern "C" {

// rdi = save_sp, rsi = load_sp, rdx = pass
THRUM_NAKED inline void* thrum_switch_stack(void**, void*, void*) {
  asm(THRUM_ARCH_SWITCH_BODY "popq %rcx\n\t" THRUM_CFI(".cfi_adjust_cfa_offset -8")
          THRUM_CFI(".cfi_register rip, rcx") "notrack jmp *%rcx");
}

THRUM_NAKED inline void* thrum_switch_stack_paired(void**, void*, void*) {
  asm(THRUM_ARCH_SWITCH_BODY "ret");
}

// rax = pass, r12 = entry, r13 = argument
THRUM_NAKED inline void thrum_goroutine_entry() {
  asm(THRUM_CFI(".cfi_undefined rip")
      "endbr64\n\t"
      "xorl %ebp, %ebp\n\t"
      "movq %rax, %rdi\n\t"
      "movq %r13, %rsi\n\t"
      "callq *%r12\n\t"
      "ud2");
}

// rdi = a parked stack's pointer, rsi = function, rdx = argument
THRUM_NAKED inline void thrum_visit_parked(void*, void (*)(void*), void*) {
  asm("endbr64\n\t"
      "pushq %rbx\n\t" THRUM_CFI(".cfi_adjust_cfa_offset 8") THRUM_CFI(".cfi_rel_offset rbx, 0")
      "movq %rdi, %rbx\n\t"
      "movq %rdx, %rdi\n\t" THRUM_CFI(".cfi_remember_state")
      THRUM_CFI(".cfi_def_cfa rbx, 56") THRUM_CFI(".cfi_offset r15, -56")
      THRUM_CFI(".cfi_offset r14, -48") THRUM_CFI(".cfi_offset r13, -40")
      THRUM_CFI(".cfi_offset r12, -32") THRUM_CFI(".cfi_offset rbx, -24")
      THRUM_CFI(".cfi_offset rbp, -16") THRUM_CFI(".cfi_offset rip, -8")
      "callq *%rsi\n\t" THRUM_CFI(".cfi_restore_state")
      "popq %rbx\n\t" THRUM_CFI(".cfi_adjust_cfa_offset -8") THRUM_CFI(".cfi_restore rbx")
      "ret");
}

// rdi = where to save the stack pointer, rsi = function, rdx = argument
THRUM_NAKED inline void thrum_call_as_parked(void**, void (*)(void*), void*) {
  asm("endbr64\n\t"
      "pushq %rbp\n\t" THRUM_CFI(".cfi_adjust_cfa_offset 8") THRUM_CFI(".cfi_rel_offset rbp, 0")
      "pushq %rbx\n\t" THRUM_CFI(".cfi_adjust_cfa_offset 8") THRUM_CFI(".cfi_rel_offset rbx, 0")
      "pushq %r12\n\t" THRUM_CFI(".cfi_adjust_cfa_offset 8") THRUM_CFI(".cfi_rel_offset r12, 0")
      "pushq %r13\n\t" THRUM_CFI(".cfi_adjust_cfa_offset 8") THRUM_CFI(".cfi_rel_offset r13, 0")
      "pushq %r14\n\t" THRUM_CFI(".cfi_adjust_cfa_offset 8") THRUM_CFI(".cfi_rel_offset r14, 0")
      "pushq %r15\n\t" THRUM_CFI(".cfi_adjust_cfa_offset 8") THRUM_CFI(".cfi_rel_offset r15, 0")
      "movq %rsp, (%rdi)\n\t"
      "movq %rdx, %rdi\n\t"
      "subq $8, %rsp\n\t" THRUM_CFI(".cfi_adjust_cfa_offset 8")
      "callq *%rsi\n\t"
      "addq $56, %rsp\n\t" THRUM_CFI(".cfi_adjust_cfa_offset -56")
      "ret");
}

}  // extern "C"

/// Leaves the current stack and goes on with another; returns, on this stack, what the switch back
/// to it passes. See contract.hpp.
THRUM_INLINE void* switch_stack(void** save_sp, void* load_sp, void* pass) noexcept {
  return thrum_switch_stack(save_sp, load_sp, pass);
}

/// The same, faster when most switches are made by the same call: see contract.hpp.
THRUM_INLINE void* switch_stack_paired(void** save_sp, void* load_sp, void* pass) noexcept {
  return thrum_switch_stack_paired(save_sp, load_sp, pass);
}

/// Calls f(argument) in such a way that a walk over the frames goes on from f's caller to the
/// frames of a parked stack. See contract.hpp.
THRUM_INLINE void visit_parked(void* sp, void (*f)(void*), void* argument) noexcept {
  thrum_visit_parked(sp, f, argument);
}

/// Calls f(argument); meanwhile *save_sp is what visit_parked wants.
THRUM_INLINE void call_as_parked(void** save_sp, void (*f)(void*), void* argument) noexcept {
  thrum_call_as_parked(save_sp, f, argument);
}

/// Writes the first frame below `top`, which is aligned to 16; the first switch to the returned
/// stack pointer calls entry(pass, argument). See contract.hpp.
inline void* prepare_stack(void* top, void (*entry)(void* pass, void* argument),
                           void* argument) noexcept {
  struct frame {
    std::uintptr_t r15, r14, r13, r12, rbx, rbp, return_address, zeros[2];
  };
  static_assert(sizeof(frame) == 9 * 8 && offsetof(frame, return_address) == 6 * 8);
  frame* const first = reinterpret_cast<frame*>(static_cast<char*>(top) - sizeof(frame));
  *first = frame{};
  first->r13 = reinterpret_cast<std::uintptr_t>(argument);
  first->r12 = reinterpret_cast<std::uintptr_t>(entry);
  first->return_address = reinterpret_cast<std::uintptr_t>(&thrum_goroutine_entry);
  return first;
}

}  // namespace thrum::inline THRUM_ABI::arch

#undef THRUM_ARCH_SWITCH_BODY

#endif  // THRUM_ARCH_X86_64
#endif  // THRUM_ARCH_X86_64_SYSV_HPP
