// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the calling conventions of aarch64 have in common.
#ifndef THRUM_DETAIL_ARCH_AARCH64_HPP
#define THRUM_DETAIL_ARCH_AARCH64_HPP

#include <cstddef>
#include <cstdint>

#include <thrum/detail/arch/contract.hpp>
#include <thrum/detail/base/config.hpp>

#if THRUM_ARCH_AARCH64_AAPCS64 || THRUM_ARCH_AARCH64_WIN64

namespace thrum { inline namespace THRUM_ABI { namespace arch {

inline constexpr char name[] = "aarch64";
inline constexpr std::size_t stack_alignment = 16;

/// Call it in a loop that waits for another processor. isb waits for about as long as x86's
/// pause; yield, the instruction made for it, does nothing on most processors.
THRUM_INLINE void spin_hint() noexcept { asm volatile("isb" ::: "memory"); }

/// A request to valgrind, if the program runs in it; else 0 and five instructions without effect.
/// The processor turns x12 around by 128 bits, which no other code would do.
inline std::uintptr_t ask_valgrind(const std::uintptr_t (&request)[6]) noexcept {
  register std::uintptr_t answer asm("x3") = 0;
  register const std::uintptr_t* question asm("x4") = request;
  asm volatile(
      "ror x12, x12, #3\n\t"
      "ror x12, x12, #13\n\t"
      "ror x12, x12, #51\n\t"
      "ror x12, x12, #61\n\t"
      "orr x10, x10, x10"
      : "+r"(answer)
      : "r"(question)
      : "cc", "memory");
  return answer;
}

/// Whether the calling thread has a shadow stack (Guarded Control Stack). `chkfeat` clears the bits
/// of the features that are on; an older processor does nothing.
inline bool has_shadow_stack() noexcept {
  register std::uintptr_t asked asm("x16") = 1;
  asm volatile("hint #40" : "+r"(asked));  // chkfeat x16
  return asked == 0;
}

/// Whether read_counter counts at one rate: the architecture says so.
constexpr bool has_steady_counter() noexcept { return true; }

/// The processor's counter of time.
THRUM_INLINE std::uint64_t read_counter() noexcept {
  std::uint64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
}

/// Likewise, when all earlier instructions are done.
THRUM_INLINE std::uint64_t read_counter_in_order() noexcept {
  asm volatile("isb" : : : "memory");
  return read_counter();
}

/// Registers by DWARF's numbers: x0 to x30, the stack pointer.
using frame_registers = registers_of_frame<32, 31>;

/// The register that a call leaves its return address in.
inline constexpr int return_register = 30;

/// A return address without its signature, if it was signed. An older processor does nothing.
inline std::uintptr_t plain_address(std::uintptr_t address) noexcept {
  register std::uintptr_t signed_address asm("x30") = address;
  asm("hint #7" : "+r"(signed_address));  // xpaclri
  return signed_address;
}

}}}  // namespace thrum::THRUM_ABI::arch

#endif
#endif  // THRUM_DETAIL_ARCH_AARCH64_HPP
