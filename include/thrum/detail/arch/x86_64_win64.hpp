// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Context switch for x86-64 with Windows' calling convention.
//
// The frame of a stack that does not run, from its stack pointer upwards:
//    0  xmm6 to xmm15 (160 bytes)
//  160  StackLimit   168  StackBase   176  DeallocationStack   184  GuaranteedStackBytes
//  192  ExceptionList
//  200  r15   208  r14   216  r13   224  r12   232  rdi   240  rsi   248  rbx   256  rbp
//  264  return address
//
// The five words in the middle are the thread's: the system keeps in the thread's block (TEB), which
// gs:0x30 points to, where its stack lies. It grows a stack by them when the guard page is touched,
// and looks for handlers of exceptions between them only; so they go with the stack. ExceptionList is
// a leftover of 32 bits, but an emulation of the system may link frames there. What else the block
// has of the thread stays: its fibre, and its activation contexts, of which a goroutine must give
// back those that it took before it parks.
//
// Exceptions and walks are by the system's tables (.seh_*), which describe a function by what its
// prologue has done. Both stacks hold the frame at the moment the stack pointer changes, so this is
// right before and after. From there to the last store to the block nothing may fault.
#ifndef THRUM_DETAIL_ARCH_X86_64_WIN64_HPP
#define THRUM_DETAIL_ARCH_X86_64_WIN64_HPP

#include <cstddef>
#include <cstdint>

#include <thrum/detail/arch/contract.hpp>
#include <thrum/detail/arch/exception_watch.hpp>  // IWYU pragma: keep: the assembly names its function
#include <thrum/detail/arch/win64.hpp>
#include <thrum/detail/arch/x86_64.hpp>  // IWYU pragma: export
#include <thrum/detail/base/config.hpp>

#if THRUM_ARCH_X86_64_WIN64

// clang-format off
#define THRUM_ARCH_PUSH(name) "pushq %" name "\n\t" ".seh_pushreg %" name "\n\t"
#define THRUM_ARCH_SAVE_XMM(name, at) \
  "movaps %" name ", " at "(%rsp)\n\t" ".seh_savexmm %" name ", " at "\n\t"

// The integers are pushed, so that r10 and rax are free and the stack pointer is the frame's.
#define THRUM_ARCH_SAVE_ALL                                                                     \
  THRUM_ARCH_PUSH("rbp") THRUM_ARCH_PUSH("rbx") THRUM_ARCH_PUSH("rsi") THRUM_ARCH_PUSH("rdi")   \
  THRUM_ARCH_PUSH("r12") THRUM_ARCH_PUSH("r13") THRUM_ARCH_PUSH("r14") THRUM_ARCH_PUSH("r15")   \
  "subq $200, %rsp\n\t" ".seh_stackalloc 200\n\t"                                               \
  THRUM_ARCH_SAVE_XMM("xmm6", "0")    THRUM_ARCH_SAVE_XMM("xmm7", "16")                         \
  THRUM_ARCH_SAVE_XMM("xmm8", "32")   THRUM_ARCH_SAVE_XMM("xmm9", "48")                         \
  THRUM_ARCH_SAVE_XMM("xmm10", "64")  THRUM_ARCH_SAVE_XMM("xmm11", "80")                        \
  THRUM_ARCH_SAVE_XMM("xmm12", "96")  THRUM_ARCH_SAVE_XMM("xmm13", "112")                       \
  THRUM_ARCH_SAVE_XMM("xmm14", "128") THRUM_ARCH_SAVE_XMM("xmm15", "144")

#define THRUM_ARCH_SAVE_BOUNDS                                    \
  "movq %gs:0x30, %r10\n\t"                                       \
  "movq 0x10(%r10), %rax\n\t"   "movq %rax, 160(%rsp)\n\t"        \
  "movq 0x08(%r10), %rax\n\t"   "movq %rax, 168(%rsp)\n\t"        \
  "movq 0x1478(%r10), %rax\n\t" "movq %rax, 176(%rsp)\n\t"        \
  "movl 0x1748(%r10), %eax\n\t" "movq %rax, 184(%rsp)\n\t"        \
  "movq (%r10), %rax\n\t"       "movq %rax, 192(%rsp)\n\t"

#define THRUM_ARCH_LOAD_BOUNDS                                    \
  "movq 160(%rsp), %rax\n\t"    "movq %rax, 0x10(%r10)\n\t"       \
  "movq 168(%rsp), %rax\n\t"    "movq %rax, 0x08(%r10)\n\t"       \
  "movq 176(%rsp), %rax\n\t"    "movq %rax, 0x1478(%r10)\n\t"     \
  "movq 184(%rsp), %rax\n\t"    "movl %eax, 0x1748(%r10)\n\t"     \
  "movq 192(%rsp), %rax\n\t"    "movq %rax, (%r10)\n\t"

#define THRUM_ARCH_POP_INTEGERS                                                                 \
  "popq %r15\n\t" "popq %r14\n\t" "popq %r13\n\t" "popq %r12\n\t"                               \
  "popq %rdi\n\t" "popq %rsi\n\t" "popq %rbx\n\t" "popq %rbp\n\t"

// rcx = save_sp, rdx = load_sp, r8 = pass
#define THRUM_ARCH_SWITCH_BODY                                                                  \
  THRUM_ARCH_SAVE_ALL ".seh_endprologue\n\t"                                                    \
  THRUM_ARCH_SAVE_BOUNDS                                                                        \
  "movq %rsp, (%rcx)\n\t"                                                                       \
  "movq %rdx, %rsp\n\t"                                                                         \
  THRUM_ARCH_LOAD_BOUNDS                                                                        \
  "movq %r8, %rax\n\t"                                                                          \
  "movaps (%rsp), %xmm6\n\t"     "movaps 16(%rsp), %xmm7\n\t"                                   \
  "movaps 32(%rsp), %xmm8\n\t"   "movaps 48(%rsp), %xmm9\n\t"                                   \
  "movaps 64(%rsp), %xmm10\n\t"  "movaps 80(%rsp), %xmm11\n\t"                                  \
  "movaps 96(%rsp), %xmm12\n\t"  "movaps 112(%rsp), %xmm13\n\t"                                 \
  "movaps 128(%rsp), %xmm14\n\t" "movaps 144(%rsp), %xmm15\n\t"                                 \
  "addq $200, %rsp\n\t"                                                                         \
  THRUM_ARCH_POP_INTEGERS

#define THRUM_ARCH_LEAVE "popq %rcx\n\t" "jmp *%rcx"
#define THRUM_ARCH_LEAVE_PAIRED "ret"

#if THRUM_EXCEPTIONS
#define THRUM_ARCH_ENTRY_HANDLER ".seh_handler " THRUM_SYMBOL("thrum_end_by_exception") ", @except\n\t"
#else
#define THRUM_ARCH_ENTRY_HANDLER
#endif

// rax = pass, r12 = entry, r13 = argument. A walk takes what lies above these 32 bytes, which the
// called function may use, for the return address: it is 0.
#define THRUM_ARCH_ENTRY_BODY                                     \
  THRUM_ARCH_ENTRY_HANDLER                                        \
  "subq $32, %rsp\n\t" ".seh_stackalloc 32\n\t"                   \
  ".seh_endprologue\n\t"                                          \
  "xorl %ebp, %ebp\n\t"                                           \
  "movq %rax, %rcx\n\t"                                           \
  "movq %r13, %rdx\n\t"                                           \
  "callq *%r12\n\t"                                               \
  "ud2"

// rcx = where to save the stack pointer, rdx = function, r8 = argument
#define THRUM_ARCH_CALL_BODY                                      \
  THRUM_ARCH_SAVE_ALL                                             \
  "movq %rsp, %rbp\n\t" ".seh_setframe %rbp, 0\n\t"               \
  ".seh_endprologue\n\t"                                          \
  THRUM_ARCH_SAVE_BOUNDS                                          \
  "movq %rsp, (%rcx)\n\t"                                         \
  "movq %r8, %rcx\n\t"                                            \
  "subq $32, %rsp\n\t"                                            \
  "callq *%rdx\n\t"                                               \
  "leaq 200(%rbp), %rsp\n\t"                                      \
  THRUM_ARCH_POP_INTEGERS                                         \
  "ret"

// rcx = function, rdx = argument
#define THRUM_ARCH_WATCHED_BODY                                   \
  ".seh_handler " THRUM_SYMBOL("thrum_watch_exception") ", @except\n\t"               \
  "subq $40, %rsp\n\t" ".seh_stackalloc 40\n\t"                   \
  ".seh_endprologue\n\t"                                          \
  "movq %rcx, %rax\n\t"                                           \
  "movq %rdx, %rcx\n\t"                                           \
  "callq *%rax\n\t"                                               \
  "nop\n\t"                                                       \
  "addq $40, %rsp\n\t"                                            \
  "ret"
// clang-format on

#include <thrum/detail/arch/place_functions.hpp>

#undef THRUM_ARCH_PUSH
#undef THRUM_ARCH_SAVE_XMM
#undef THRUM_ARCH_SAVE_ALL
#undef THRUM_ARCH_SAVE_BOUNDS
#undef THRUM_ARCH_LOAD_BOUNDS
#undef THRUM_ARCH_POP_INTEGERS
#undef THRUM_ARCH_ENTRY_HANDLER

namespace thrum { inline namespace THRUM_ABI { namespace arch {

/// What a switch leaves on the stack.
inline constexpr std::size_t parked_frame_bytes = 272;

/// What a parked stack's frame holds; see contract.hpp.
THRUM_NO_SANITIZE inline frame_registers parked_registers(const void* sp) noexcept {
  const auto* const saved = static_cast<const volatile std::uintptr_t*>(sp) + 25;
  frame_registers at;
  at.value[15] = saved[0];
  at.value[14] = saved[1];
  at.value[13] = saved[2];
  at.value[12] = saved[3];
  at.value[5] = saved[4];
  at.value[4] = saved[5];
  at.value[3] = saved[6];
  at.value[6] = saved[7];
  at.value[16] = at.pc = saved[8];
  at.value[frame_registers::sp] = reinterpret_cast<std::uintptr_t>(saved + 9);
  return at;
}

/// Down to where a parked stack can be touched.
inline const void* parked_limit(const void* sp) noexcept {
  return static_cast<const void* const*>(sp)[20];
}

/// Where a thread was stopped, from the system's record of it (CONTEXT).
template <class Machine>
frame_registers interrupted_registers(const Machine& machine) noexcept {
  frame_registers at;
  const std::uintptr_t values[frame_registers::count] = {
      machine.Rax, machine.Rdx, machine.Rcx, machine.Rbx, machine.Rsi, machine.Rdi,
      machine.Rbp, machine.Rsp, machine.R8,  machine.R9,  machine.R10, machine.R11,
      machine.R12, machine.R13, machine.R14, machine.R15, machine.Rip};
  for (std::size_t i = 0; i != frame_registers::count; ++i) {
    at.value[i] = values[i];
  }
  at.pc = at.value[16];
  return at;
}

/// Writes the first frame below `top`, which is aligned to 16; the first switch to the returned
/// stack pointer calls entry(pass, argument). See contract.hpp.
inline void* prepare_stack(void* top, stack_bounds bounds,
                           void (*entry)(void* pass, void* argument), void* argument) noexcept {
  struct frame {
    std::uintptr_t xmm[20], limit, base, low, guaranteed, handlers, r15, r14, r13, r12, rdi, rsi,
        rbx, rbp, return_address, end_of_walk[2], zeros[2];
  };
  static_assert(sizeof(frame) == 38 * 8 && offsetof(frame, return_address) == 264);
  frame* const first = reinterpret_cast<frame*>(static_cast<char*>(top) - sizeof(frame));
  *first = frame{};
  first->limit = reinterpret_cast<std::uintptr_t>(bounds.limit);
  first->base = reinterpret_cast<std::uintptr_t>(top);
  first->low = reinterpret_cast<std::uintptr_t>(bounds.low);
  first->guaranteed = bytes_for_overflow(first->base - first->low);
  first->handlers = UINTPTR_MAX;  // none
  first->r13 = reinterpret_cast<std::uintptr_t>(argument);
  first->r12 = reinterpret_cast<std::uintptr_t>(entry);
  first->return_address = reinterpret_cast<std::uintptr_t>(&thrum_goroutine_entry);
  return first;
}

}}}  // namespace thrum::THRUM_ABI::arch

#endif  // THRUM_ARCH_X86_64_WIN64
#endif  // THRUM_DETAIL_ARCH_X86_64_WIN64_HPP
