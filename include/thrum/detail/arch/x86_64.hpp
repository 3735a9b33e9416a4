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

/// Whether read_counter counts at one rate, whatever the processor's speed and sleep.
inline bool has_steady_counter() noexcept {
  constexpr std::uint32_t first_of_these = 0x8000'0000;
  constexpr std::uint32_t about_power = 0x8000'0007;
  constexpr std::uint32_t invariant = 1U << 8;
  const auto ask = [](std::uint32_t a, std::uint32_t& d) noexcept {
    std::uint32_t b;
    std::uint32_t c;
    asm volatile("cpuid" : "+a"(a), "=b"(b), "=c"(c), "=d"(d));
    return a;
  };
  std::uint32_t d;
  if (ask(first_of_these, d) < about_power) {
    return false;
  }
  ask(about_power, d);
  return (d & invariant) != 0;
}

/// The processor's counter of time, in a third of the time of a clock.
THRUM_INLINE std::uint64_t read_counter() noexcept {
  std::uint32_t low;
  std::uint32_t high;
  asm volatile("rdtsc" : "=a"(low), "=d"(high));
  return std::uint64_t{high} << 32 | low;
}

/// Likewise, when all earlier instructions are done: the processor else reads the counter while it still waits
/// for the line of memory of an exchange.
THRUM_INLINE std::uint64_t read_counter_in_order() noexcept {
  asm volatile("lfence" : : : "memory");
  return read_counter();
}

/// Registers by DWARF's numbers: rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15, the place in the code.
using frame_registers = registers_of_frame<17, 7>;

/// The register that a call leaves its return address in.
inline constexpr int return_register = return_on_stack;

/// A return address as the call has left it.
constexpr std::uintptr_t plain_address(std::uintptr_t address) noexcept { return address; }

}}}  // namespace thrum::THRUM_ABI::arch

#endif
#endif  // THRUM_DETAIL_ARCH_X86_64_HPP
