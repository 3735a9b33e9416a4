// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Context switch for 32-bit x86 with the System V calling convention, from the i686 on.
//
// The frame of a stack that does not run, from its stack pointer upwards:
//    0  edi     4  esi     8  ebx    12  ebp    16  return address
// Arguments come on the stack, above the return address, and are read before anything moves; the
// caller takes them away itself. So one line of unwind information describes the function before
// and after the stack pointer changes, as on x86-64. At a call the stack pointer is aligned to 16,
// as compilers have it since gcc 4.5, with or without SSE.
#ifndef THRUM_DETAIL_ARCH_I686_HPP
#define THRUM_DETAIL_ARCH_I686_HPP

#include <cstddef>
#include <cstdint>

#include <thrum/detail/arch/contract.hpp>
#include <thrum/detail/arch/exception_watch.hpp>
#include <thrum/detail/base/config.hpp>

#if THRUM_ARCH_I686

// clang-format off
#define THRUM_ARCH_PUSH(name) \
  "pushl %" name "\n\t"  THRUM_CFI(".cfi_adjust_cfa_offset 4") THRUM_CFI(".cfi_rel_offset " name ", 0")
#define THRUM_ARCH_POP(name) \
  "popl %" name "\n\t"  THRUM_CFI(".cfi_adjust_cfa_offset -4") THRUM_CFI(".cfi_restore " name)

// 4(%esp) = save_sp, 8(%esp) = load_sp, 12(%esp) = pass
#define THRUM_ARCH_SWITCH_BODY \
  "endbr32\n\t" \
  "movl 4(%esp), %edx\n\t" \
  "movl 8(%esp), %ecx\n\t" \
  "movl 12(%esp), %eax\n\t" \
  THRUM_ARCH_PUSH("ebp") \
  THRUM_ARCH_PUSH("ebx") \
  THRUM_ARCH_PUSH("esi") \
  THRUM_ARCH_PUSH("edi") \
  "movl %esp, (%edx)\n\t" \
  "movl %ecx, %esp\n\t" \
  THRUM_ARCH_POP("edi") \
  THRUM_ARCH_POP("esi") \
  THRUM_ARCH_POP("ebx") \
  THRUM_ARCH_POP("ebp")

#define THRUM_ARCH_LEAVE \
  "popl %ecx\n\t" THRUM_CFI(".cfi_adjust_cfa_offset -4") THRUM_CFI(".cfi_register eip, ecx") \
  "notrack jmp *%ecx"
#define THRUM_ARCH_LEAVE_PAIRED "ret"

// eax = pass, edi = entry, esi = argument
#define THRUM_ARCH_ENTRY_BODY \
  THRUM_CFI(".cfi_undefined eip") \
  "endbr32\n\t" \
  "xorl %ebp, %ebp\n\t" \
  "subl $8, %esp\n\t"  THRUM_CFI(".cfi_adjust_cfa_offset 8") \
  "pushl %esi\n\t"  THRUM_CFI(".cfi_adjust_cfa_offset 4") \
  "pushl %eax\n\t"  THRUM_CFI(".cfi_adjust_cfa_offset 4") \
  "call *%edi\n\t" \
  "ud2"

// 4(%esp) = where to save the stack pointer, 8(%esp) = function, 12(%esp) = argument
#define THRUM_ARCH_CALL_BODY \
  "endbr32\n\t" \
  "movl 4(%esp), %edx\n\t" \
  "movl 8(%esp), %ecx\n\t" \
  "movl 12(%esp), %eax\n\t" \
  THRUM_ARCH_PUSH("ebp") \
  THRUM_ARCH_PUSH("ebx") \
  THRUM_ARCH_PUSH("esi") \
  THRUM_ARCH_PUSH("edi") \
  "movl %esp, (%edx)\n\t" \
  "subl $8, %esp\n\t"  THRUM_CFI(".cfi_adjust_cfa_offset 8") \
  "pushl %eax\n\t"  THRUM_CFI(".cfi_adjust_cfa_offset 4") \
  "call *%ecx\n\t" \
  "addl $28, %esp\n\t"  THRUM_CFI(".cfi_adjust_cfa_offset -28") \
  "ret"

// 4(%esp) = function, 8(%esp) = argument
#define THRUM_ARCH_WATCHED_BODY \
  THRUM_CFI_PERSONALITY(THRUM_SYMBOL("thrum_watch_exception")) \
  "endbr32\n\t" \
  "movl 4(%esp), %ecx\n\t" \
  "movl 8(%esp), %eax\n\t" \
  "subl $8, %esp\n\t"  THRUM_CFI(".cfi_adjust_cfa_offset 8") \
  "pushl %eax\n\t"  THRUM_CFI(".cfi_adjust_cfa_offset 4") \
  "call *%ecx\n\t" \
  "addl $12, %esp\n\t"  THRUM_CFI(".cfi_adjust_cfa_offset -12") \
  "ret"
// clang-format on

#include <thrum/detail/arch/place_functions.hpp>

#undef THRUM_ARCH_PUSH
#undef THRUM_ARCH_POP

namespace thrum { inline namespace THRUM_ABI { namespace arch {

inline constexpr char name[] = "i686";
inline constexpr std::size_t stack_alignment = 16;

/// Call it in a loop that waits for another processor.
THRUM_INLINE void spin_hint() noexcept { __builtin_ia32_pause(); }

/// A request to valgrind, if the program runs in it; else 0 and six instructions without effect.
/// The processor turns edi around by 64 bits, which no other code would do.
inline std::uintptr_t ask_valgrind(const std::uintptr_t (&request)[6]) noexcept {
  std::uintptr_t answer = 0;
  asm volatile(
      "roll $3, %%edi\n\t"
      "roll $13, %%edi\n\t"
      "roll $29, %%edi\n\t"
      "roll $19, %%edi\n\t"
      "xchgl %%ebx, %%ebx"
      : "+d"(answer)
      : "a"(&request)
      : "cc", "memory");
  return answer;
}

/// What a switch leaves on the stack.
inline constexpr std::size_t parked_frame_bytes = 20;

/// Registers by DWARF's numbers: eax, ecx, edx, ebx, esp, ebp, esi, edi, the place in the code.
using frame_registers = registers_of_frame<9, 4>;

/// The register that a call leaves its return address in.
inline constexpr int return_register = return_on_stack;

/// A return address as the call has left it.
constexpr std::uintptr_t plain_address(std::uintptr_t address) noexcept { return address; }

/// What a parked stack's frame holds; see contract.hpp.
THRUM_NO_SANITIZE inline frame_registers parked_registers(const void* sp) noexcept {
  const auto* const saved = static_cast<const volatile std::uintptr_t*>(sp);
  frame_registers at;
  at.value[7] = saved[0];
  at.value[6] = saved[1];
  at.value[3] = saved[2];
  at.value[5] = saved[3];
  at.value[8] = at.pc = saved[4];
  at.value[frame_registers::sp] = reinterpret_cast<std::uintptr_t>(saved + 5);
  return at;
}

/// What a signal has interrupted, from the machine's part of Linux's context.
template <class Machine>
frame_registers interrupted_registers(const Machine& machine) noexcept {
  // Four segments, edi, esi, ebp, esp, ebx, edx, ecx, eax, two of traps, and eip stand there.
  constexpr std::size_t place[frame_registers::count] = {11, 10, 9, 8, 7, 6, 5, 4, 14};
  frame_registers at;
  for (std::size_t i = 0; i != frame_registers::count; ++i) {
    at.value[i] = static_cast<std::uintptr_t>(machine.gregs[place[i]]);
  }
  at.pc = at.value[8];
  return at;
}

/// Writes the first frame below `top`, which is aligned to 16; the first switch to the returned
/// stack pointer calls entry(pass, argument). See contract.hpp.
inline void* prepare_stack(void* top, stack_bounds, void (*entry)(void* pass, void* argument),
                           void* argument) noexcept {
  struct frame {
    std::uintptr_t edi, esi, ebx, ebp, return_address, zeros[4];
  };
  static_assert(sizeof(frame) == 9 * 4 && offsetof(frame, zeros) == parked_frame_bytes);
  frame* const first = reinterpret_cast<frame*>(static_cast<char*>(top) - sizeof(frame));
  *first = frame{};
  first->edi = reinterpret_cast<std::uintptr_t>(entry);
  first->esi = reinterpret_cast<std::uintptr_t>(argument);
  first->return_address = reinterpret_cast<std::uintptr_t>(&thrum_goroutine_entry);
  return first;
}

}}}  // namespace thrum::THRUM_ABI::arch

#endif  // THRUM_ARCH_I686
#endif  // THRUM_DETAIL_ARCH_I686_HPP
