// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What both calling conventions of x86-64 have in common.
#ifndef THRUM_DETAIL_ARCH_X86_64_HPP
#define THRUM_DETAIL_ARCH_X86_64_HPP

#include <cstddef>
#include <cstdint>

#include <thrum/detail/arch/contract.hpp>
#include <thrum/detail/base/config.hpp>

#if THRUM_ARCH_X86_64_SYSV || THRUM_ARCH_X86_64_WIN64

namespace thrum { inline namespace THRUM_ABI { namespace arch {

inline constexpr char name[] = "x86_64";
inline constexpr std::size_t stack_alignment = 16;

/// Call it in a loop that waits for another processor.
THRUM_INLINE void spin_hint() noexcept { __builtin_ia32_pause(); }

/// A request to valgrind, if the program runs in it; else 0 and six instructions without effect.
/// The processor turns rdi around by 128 bits, which no other code would do.
inline std::uintptr_t ask_valgrind(const std::uintptr_t (&request)[6]) noexcept {
  std::uintptr_t answer = 0;
  asm volatile(
      "rolq $3, %%rdi\n\t"
      "rolq $13, %%rdi\n\t"
      "rolq $61, %%rdi\n\t"
      "rolq $51, %%rdi\n\t"
      "xchgq %%rbx, %%rbx"
      : "+d"(answer)
      : "a"(&request)
      : "cc", "memory");
  return answer;
}

/// Whether the calling thread has a shadow stack. `rdssp` leaves the register alone where there is
/// none, and on older processors.
inline bool has_shadow_stack() noexcept {
  std::uintptr_t top = 0;
  asm volatile(".byte 0xf3, 0x48, 0x0f, 0x1e, 0xc8" : "+a"(top));  // rdsspq %rax
  return top != 0;
}

/// Registers by DWARF's numbers: rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15, the place in the code.
using frame_registers = registers_of_frame<17, 7>;

/// A return address as the call has left it.
constexpr std::uintptr_t plain_address(std::uintptr_t address) noexcept { return address; }

}}}  // namespace thrum::THRUM_ABI::arch

#endif
#endif  // THRUM_DETAIL_ARCH_X86_64_HPP
