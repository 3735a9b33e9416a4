// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Context switch for s390x with the ELF calling convention of Linux.
//
// Each function gives those that it calls 160 bytes at its stack pointer, where they save the
// registers that they must preserve: rN at 8 * N. The frame's address, as DWARF has it, is the
// stack pointer at the call and 160.
//
// The frame of a stack that does not run, from its stack pointer upwards:
//    0 f8-f15    64 what the caller gave: 48 bytes unused, then r6-r15 (r14 is the return address,
//    r15 the caller's stack pointer)
// A switch preserves only that part of the vector registers which they share with f8-f15. Older
// processors have no predictor of returns; newer ones take `br %r14` for a return.
#ifndef THRUM_DETAIL_ARCH_S390X_HPP
#define THRUM_DETAIL_ARCH_S390X_HPP

#include <cstddef>
#include <cstdint>

#include <thrum/detail/arch/contract.hpp>
#include <thrum/detail/arch/exception_watch.hpp>
#include <thrum/detail/base/config.hpp>

#if THRUM_ARCH_S390X

// clang-format off
#define THRUM_ARCH_SAVE_ALL                                                           \
  "stmg %r6, %r15, 48(%r15)\n\t"                                                      \
  THRUM_CFI(".cfi_offset %r6, -112") THRUM_CFI(".cfi_offset %r7, -104")               \
  THRUM_CFI(".cfi_offset %r8, -96") THRUM_CFI(".cfi_offset %r9, -88")                 \
  THRUM_CFI(".cfi_offset %r10, -80") THRUM_CFI(".cfi_offset %r11, -72")               \
  THRUM_CFI(".cfi_offset %r12, -64") THRUM_CFI(".cfi_offset %r13, -56")               \
  THRUM_CFI(".cfi_offset %r14, -48") THRUM_CFI(".cfi_offset %r15, -40")               \
  "aghi %r15, -64\n\t"  THRUM_CFI(".cfi_adjust_cfa_offset 64")

#define THRUM_ARCH_RESTORED(bytes)                                                    \
  THRUM_CFI(".cfi_adjust_cfa_offset -" bytes)                                         \
  THRUM_CFI(".cfi_restore %r6") THRUM_CFI(".cfi_restore %r7")                         \
  THRUM_CFI(".cfi_restore %r8") THRUM_CFI(".cfi_restore %r9")                         \
  THRUM_CFI(".cfi_restore %r10") THRUM_CFI(".cfi_restore %r11")                       \
  THRUM_CFI(".cfi_restore %r12") THRUM_CFI(".cfi_restore %r13")                       \
  THRUM_CFI(".cfi_restore %r14") THRUM_CFI(".cfi_restore %r15")

// r2 = save_sp, r3 = load_sp, r4 = pass
#define THRUM_ARCH_SWITCH_BODY                                                        \
  THRUM_ARCH_SAVE_ALL                                                                 \
  "std %f8, 0(%r15)\n\t"                                                              \
  "std %f9, 8(%r15)\n\t"                                                              \
  "std %f10, 16(%r15)\n\t"                                                            \
  "std %f11, 24(%r15)\n\t"                                                            \
  "std %f12, 32(%r15)\n\t"                                                            \
  "std %f13, 40(%r15)\n\t"                                                            \
  "std %f14, 48(%r15)\n\t"                                                            \
  "std %f15, 56(%r15)\n\t"                                                            \
  "stg %r15, 0(%r2)\n\t"                                                              \
  "lgr %r15, %r3\n\t"                                                                 \
  "lgr %r2, %r4\n\t"                                                                  \
  "ld %f8, 0(%r15)\n\t"                                                               \
  "ld %f9, 8(%r15)\n\t"                                                               \
  "ld %f10, 16(%r15)\n\t"                                                             \
  "ld %f11, 24(%r15)\n\t"                                                             \
  "ld %f12, 32(%r15)\n\t"                                                             \
  "ld %f13, 40(%r15)\n\t"                                                             \
  "ld %f14, 48(%r15)\n\t"                                                             \
  "ld %f15, 56(%r15)\n\t"                                                             \
  "lmg %r6, %r15, 112(%r15)\n\t"  THRUM_ARCH_RESTORED("64")

#define THRUM_ARCH_LEAVE "lgr %r1, %r14\n\t" "br %r1\n\t"
#define THRUM_ARCH_LEAVE_PAIRED "br %r14\n\t"

// r2 = pass, r6 = entry, r7 = argument
#define THRUM_ARCH_ENTRY_BODY           \
  THRUM_CFI(".cfi_undefined %r14")      \
  "lghi %r11, 0\n\t"                    \
  "lgr %r3, %r7\n\t"                    \
  "basr %r14, %r6\n\t"                  \
  ".2byte 0\n\t"  /* traps */

// r2 = where to save the stack pointer, r3 = function, r4 = argument
#define THRUM_ARCH_CALL_BODY                                                          \
  THRUM_ARCH_SAVE_ALL                                                                 \
  "stg %r15, 0(%r2)\n\t"                                                              \
  "aghi %r15, -160\n\t"  THRUM_CFI(".cfi_adjust_cfa_offset 160")                      \
  "lgr %r2, %r4\n\t"                                                                  \
  "basr %r14, %r3\n\t"                                                                \
  "lmg %r6, %r15, 272(%r15)\n\t"  THRUM_ARCH_RESTORED("224")                          \
  "br %r14\n\t"

// r2 = function, r3 = argument
#define THRUM_ARCH_WATCHED_BODY                                                       \
  THRUM_CFI_PERSONALITY(THRUM_SYMBOL("thrum_watch_exception"))                                      \
  "stmg %r14, %r15, 112(%r15)\n\t"                                                    \
  THRUM_CFI(".cfi_offset %r14, -48") THRUM_CFI(".cfi_offset %r15, -40")               \
  "aghi %r15, -160\n\t"  THRUM_CFI(".cfi_adjust_cfa_offset 160")                      \
  "lgr %r1, %r2\n\t"                                                                  \
  "lgr %r2, %r3\n\t"                                                                  \
  "basr %r14, %r1\n\t"                                                                \
  "lmg %r14, %r15, 272(%r15)\n\t"  THRUM_CFI(".cfi_adjust_cfa_offset -160")           \
  THRUM_CFI(".cfi_restore %r14") THRUM_CFI(".cfi_restore %r15")                       \
  "br %r14\n\t"
// clang-format on

#include <thrum/detail/arch/place_functions.hpp>

#undef THRUM_ARCH_SAVE_ALL
#undef THRUM_ARCH_RESTORED

namespace thrum { inline namespace THRUM_ABI { namespace arch {

inline constexpr char name[] = "s390x";
inline constexpr std::size_t stack_alignment = 8;

/// Call it in a loop that waits for another processor. This processor has no hint for that.
THRUM_INLINE void spin_hint() noexcept { asm volatile("" ::: "memory"); }

/// A request to valgrind, if the program runs in it; else 0 and five instructions without effect.
/// No other code loads registers from themselves.
inline std::uintptr_t ask_valgrind(const std::uintptr_t (&request)[6]) noexcept {
  register const std::uintptr_t* question asm("2") = request;
  register std::uintptr_t answer asm("3") = 0;
  asm volatile(
      "lr 15, 15\n\t"
      "lr 1, 1\n\t"
      "lr 2, 2\n\t"
      "lr 3, 3\n\t"
      "lr 2, 2"
      : "+d"(answer)
      : "d"(question)
      : "cc", "memory");
  return answer;
}

/// What a switch leaves on the stack.
inline constexpr std::size_t parked_frame_bytes = 64 + 128;

/// Registers by DWARF's numbers, as far as needed: r0 to r15, of which the last is the stack pointer.
using frame_registers = registers_of_frame<16, 15, 160>;

/// The register that a call leaves its return address in.
inline constexpr int return_register = 14;

/// A return address as the call has left it.
constexpr std::uintptr_t plain_address(std::uintptr_t address) noexcept { return address; }

/// What a parked stack's frame holds; see contract.hpp.
THRUM_NO_SANITIZE inline frame_registers parked_registers(const void* sp) noexcept {
  const auto* const saved = static_cast<const volatile std::uintptr_t*>(sp);
  frame_registers at;
  for (std::size_t i = 6; i != 15; ++i) {
    at.value[i] = saved[8 + i];
  }
  at.pc = at.value[14];
  at.value[frame_registers::sp] = reinterpret_cast<std::uintptr_t>(saved + 8);
  return at;
}

/// What a signal has interrupted, from the machine's part of Linux's context.
template <class Machine>
frame_registers interrupted_registers(const Machine& machine) noexcept {
  frame_registers at;
  for (std::size_t i = 0; i != frame_registers::count; ++i) {
    at.value[i] = static_cast<std::uintptr_t>(machine.gregs[i]);
  }
  at.pc = static_cast<std::uintptr_t>(machine.psw.addr);
  return at;
}

/// Writes the first frame below `top`, which is aligned to 16; the first switch to the returned
/// stack pointer calls entry(pass, argument). See contract.hpp.
inline void* prepare_stack(void* top, stack_bounds, void (*entry)(void* pass, void* argument),
                           void* argument) noexcept {
  struct frame {
    // The entry's own stack pointer is where `given` begins: it calls with these 160 bytes.
    std::uintptr_t f8_to_f15[8], given[6], r6, r7, r8_to_r13[6], r14, r15, floats[4];
  };
  static_assert(sizeof(frame) == 64 + 160 && offsetof(frame, r6) == 112 &&
                offsetof(frame, r15) == 184);
  frame* const first = reinterpret_cast<frame*>(static_cast<char*>(top) - sizeof(frame));
  *first = frame{};
  first->r6 = reinterpret_cast<std::uintptr_t>(entry);
  first->r7 = reinterpret_cast<std::uintptr_t>(argument);
  first->r14 = reinterpret_cast<std::uintptr_t>(&thrum_goroutine_entry);
  first->r15 = reinterpret_cast<std::uintptr_t>(&first->given);
  return first;
}

}}}  // namespace thrum::THRUM_ABI::arch

#endif  // THRUM_ARCH_S390X
#endif  // THRUM_DETAIL_ARCH_S390X_HPP
