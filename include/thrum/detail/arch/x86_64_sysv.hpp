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
#ifndef THRUM_DETAIL_ARCH_X86_64_SYSV_HPP
#define THRUM_DETAIL_ARCH_X86_64_SYSV_HPP

#include <cstddef>
#include <cstdint>

#include <thrum/detail/arch/contract.hpp>
#include <thrum/detail/arch/x86_64.hpp>  // IWYU pragma: export
#include <thrum/detail/base/config.hpp>

#if THRUM_ARCH_X86_64_SYSV

// clang-format off
// rdi = save_sp, rsi = load_sp, rdx = pass
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

#define THRUM_ARCH_LEAVE \
  "popq %rcx\n\t" THRUM_CFI(".cfi_adjust_cfa_offset -8") THRUM_CFI(".cfi_register rip, rcx") \
  "notrack jmp *%rcx"
#define THRUM_ARCH_LEAVE_PAIRED "ret"

// rax = pass, r12 = entry, r13 = argument
#define THRUM_ARCH_ENTRY_BODY \
  THRUM_CFI(".cfi_undefined rip") \
  "endbr64\n\t" \
  "xorl %ebp, %ebp\n\t" \
  "movq %rax, %rdi\n\t" \
  "movq %r13, %rsi\n\t" \
  "callq *%r12\n\t" \
  "ud2"

// rdi = where to save the stack pointer, rsi = function, rdx = argument
#define THRUM_ARCH_CALL_BODY \
  "endbr64\n\t" \
  "pushq %rbp\n\t" THRUM_CFI(".cfi_adjust_cfa_offset 8") THRUM_CFI(".cfi_rel_offset rbp, 0") \
  "pushq %rbx\n\t" THRUM_CFI(".cfi_adjust_cfa_offset 8") THRUM_CFI(".cfi_rel_offset rbx, 0") \
  "pushq %r12\n\t" THRUM_CFI(".cfi_adjust_cfa_offset 8") THRUM_CFI(".cfi_rel_offset r12, 0") \
  "pushq %r13\n\t" THRUM_CFI(".cfi_adjust_cfa_offset 8") THRUM_CFI(".cfi_rel_offset r13, 0") \
  "pushq %r14\n\t" THRUM_CFI(".cfi_adjust_cfa_offset 8") THRUM_CFI(".cfi_rel_offset r14, 0") \
  "pushq %r15\n\t" THRUM_CFI(".cfi_adjust_cfa_offset 8") THRUM_CFI(".cfi_rel_offset r15, 0") \
  "movq %rsp, (%rdi)\n\t" \
  "movq %rdx, %rdi\n\t" \
  "subq $8, %rsp\n\t" THRUM_CFI(".cfi_adjust_cfa_offset 8") \
  "callq *%rsi\n\t" \
  "addq $56, %rsp\n\t" THRUM_CFI(".cfi_adjust_cfa_offset -56") \
  "ret"

// rdi = function, rsi = argument
#define THRUM_ARCH_WATCHED_BODY \
  THRUM_CFI_PERSONALITY(THRUM_SYMBOL("thrum_watch_exception")) \
  "endbr64\n\t" \
  "subq $8, %rsp\n\t" THRUM_CFI(".cfi_adjust_cfa_offset 8") \
  "movq %rdi, %rax\n\t" \
  "movq %rsi, %rdi\n\t" \
  "callq *%rax\n\t" \
  "addq $8, %rsp\n\t" THRUM_CFI(".cfi_adjust_cfa_offset -8") \
  "ret"
// clang-format on

#include <thrum/detail/arch/place_functions.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace arch {

/// What a switch leaves on the stack.
inline constexpr std::size_t parked_frame_bytes = 56;

/// What a parked stack's frame holds; see contract.hpp.
THRUM_NO_SANITIZE inline frame_registers parked_registers(const void* sp) noexcept {
  const auto* const saved = static_cast<const volatile std::uintptr_t*>(sp);
  frame_registers at;
  at.value[15] = saved[0];
  at.value[14] = saved[1];
  at.value[13] = saved[2];
  at.value[12] = saved[3];
  at.value[3] = saved[4];
  at.value[6] = saved[5];
  at.value[16] = at.pc = saved[6];
  at.value[frame_registers::sp] = reinterpret_cast<std::uintptr_t>(saved + 7);
  return at;
}

/// What a signal has interrupted, from the machine's part of Linux's context.
template <class Machine>
frame_registers interrupted_registers(const Machine& machine) noexcept {
  // r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip stand there in this order.
  constexpr std::size_t place[frame_registers::count] = {13, 12, 14, 11, 9, 8, 10, 15, 0,
                                                         1,  2,  3,  4,  5, 6, 7,  16};
  frame_registers at;
  for (std::size_t i = 0; i != frame_registers::count; ++i) {
    at.value[i] = static_cast<std::uintptr_t>(machine.gregs[place[i]]);
  }
  at.pc = at.value[16];
  return at;
}

/// Writes the first frame below `top`, which is aligned to 16; the first switch to the returned
/// stack pointer calls entry(pass, argument). See contract.hpp.
inline void* prepare_stack(void* top, stack_bounds, void (*entry)(void* pass, void* argument),
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

}}}  // namespace thrum::THRUM_ABI::arch

#endif  // THRUM_ARCH_X86_64_SYSV
#endif  // THRUM_DETAIL_ARCH_X86_64_SYSV_HPP
