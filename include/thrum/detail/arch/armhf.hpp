// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Context switch for 32-bit Arm, ARMv7 with the calling convention that passes floating-point values
// in registers (armhf).
//
// The frame of a stack that does not run, from its stack pointer upwards:
//    0 4 bytes that keep the alignment    4 d8-d15    68 r4-r11    100 lr (return address)
// r9 is one of those that a called function preserves, as on every system with this convention.
//
// Unwinding is not DWARF's here: each function has an entry in .ARM.exidx, which holds at its calls
// and not at each of its instructions. So .save, .vsave and .pad stand where .cfi lines stand
// elsewhere. A walk along a parked or interrupted stack, which reads DWARF's tables, finds
// the innermost function and no callers.
//
// The code is Arm's, not Thumb's, whatever is compiled around it: bx, blx and the linker go from one
// to the other. `entry` may be Thumb's and has an odd address then.
#ifndef THRUM_DETAIL_ARCH_ARMHF_HPP
#define THRUM_DETAIL_ARCH_ARMHF_HPP

#include <cstddef>
#include <cstdint>

#include <thrum/detail/arch/contract.hpp>
#include <thrum/detail/arch/exception_watch.hpp>
#include <thrum/detail/base/config.hpp>

#if THRUM_ARCH_ARMHF

// clang-format off
#define THRUM_ENTRY_OPEN ".syntax unified\n\t" ".arm\n\t" ".fnstart\n\t"
#define THRUM_ENTRY_CLOSE ".fnend\n\t"

#define THRUM_ARCH_SAVE_ALL                       \
  "push {r4-r11, lr}\n\t"  ".save {r4-r11, lr}\n\t" \
  "vpush {d8-d15}\n\t"     ".vsave {d8-d15}\n\t"    \
  "sub sp, sp, #4\n\t"     ".pad #4\n\t"

// r0 = save_sp, r1 = load_sp, r2 = pass
#define THRUM_ARCH_SWITCH_BODY  \
  THRUM_ARCH_SAVE_ALL           \
  "str sp, [r0]\n\t"            \
  "mov sp, r1\n\t"              \
  "mov r0, r2\n\t"              \
  "add sp, sp, #4\n\t"          \
  "vpop {d8-d15}\n\t"           \
  "pop {r4-r11, lr}\n\t"

#define THRUM_ARCH_LEAVE "mov r12, lr\n\t" "bx r12"
#define THRUM_ARCH_LEAVE_PAIRED "bx lr"

// r0 = pass, r4 = entry, r5 = argument
#define THRUM_ARCH_ENTRY_BODY   \
  ".cantunwind\n\t"             \
  "mov r11, #0\n\t"             \
  "mov r7, #0\n\t"              \
  "mov lr, #0\n\t"              \
  "mov r1, r5\n\t"              \
  "blx r4\n\t"                  \
  "udf #0\n\t"

// r0 = where to save the stack pointer, r1 = function, r2 = argument
#define THRUM_ARCH_CALL_BODY    \
  THRUM_ARCH_SAVE_ALL           \
  "str sp, [r0]\n\t"            \
  "mov r0, r2\n\t"              \
  "blx r1\n\t"                  \
  "add sp, sp, #100\n\t"        \
  "pop {pc}\n\t"

// r0 = function, r1 = argument
#define THRUM_ARCH_WATCHED_BODY                   \
  "push {r4, lr}\n\t"      ".save {r4, lr}\n\t"   \
  ".personality " THRUM_SYMBOL("thrum_watch_exception") "\n\t"        \
  "mov r3, r0\n\t"                                \
  "mov r0, r1\n\t"                                \
  "blx r3\n\t"                                    \
  "pop {r4, pc}\n\t"                              \
  ".handlerdata\n\t"
// clang-format on

#include <thrum/detail/arch/place_functions.hpp>

#undef THRUM_ARCH_SAVE_ALL

namespace thrum { inline namespace THRUM_ABI { namespace arch {

inline constexpr char name[] = "armhf";
inline constexpr std::size_t stack_alignment = 8;

/// Call it in a loop that waits for another processor. `yield` does nothing on most processors.
THRUM_INLINE void spin_hint() noexcept { asm volatile("yield" ::: "memory"); }

/// A request to valgrind, if the program runs in it; else 0 and five instructions without effect.
/// The processor turns r12 around by 64 bits, which no other code would do.
inline std::uintptr_t ask_valgrind(const std::uintptr_t (&request)[6]) noexcept {
  register std::uintptr_t answer asm("r3") = 0;
  register const std::uintptr_t* question asm("r4") = request;
  asm volatile(
      "mov r12, r12, ror #3\n\t"
      "mov r12, r12, ror #13\n\t"
      "mov r12, r12, ror #29\n\t"
      "mov r12, r12, ror #19\n\t"
      "orr r10, r10, r10"
      : "+r"(answer)
      : "r"(question)
      : "cc", "memory");
  return answer;
}

/// What a switch leaves on the stack.
inline constexpr std::size_t parked_frame_bytes = 104;

/// r0 to r15, of which r13 is the stack pointer and r15 the place in the code.
using frame_registers = registers_of_frame<16, 13>;

/// The register that a call leaves its return address in.
inline constexpr int return_register = 14;

/// A return address without the bit that says to which instructions it leads.
constexpr std::uintptr_t plain_address(std::uintptr_t address) noexcept {
  return address & ~std::uintptr_t{1};
}

/// What a parked stack's frame holds; see contract.hpp.
THRUM_NO_SANITIZE inline frame_registers parked_registers(const void* sp) noexcept {
  const auto* const saved = static_cast<const volatile std::uintptr_t*>(sp);
  frame_registers at;
  for (std::size_t i = 4; i != 12; ++i) {
    at.value[i] = saved[13 + i];
  }
  at.value[14] = saved[25];
  at.value[15] = at.pc = plain_address(at.value[14]);
  at.value[frame_registers::sp] = reinterpret_cast<std::uintptr_t>(saved + 26);
  return at;
}

/// What a signal has interrupted, from the machine's part of Linux's context, where r0 to r10, fp,
/// ip, sp, lr and pc stand one behind the other.
template <class Machine>
frame_registers interrupted_registers(const Machine& machine) noexcept {
  const unsigned long* const first = &machine.arm_r0;
  frame_registers at;
  for (std::size_t i = 0; i != frame_registers::count; ++i) {
    at.value[i] = static_cast<std::uintptr_t>(first[i]);
  }
  at.pc = at.value[15];
  return at;
}

/// Writes the first frame below `top`, which is aligned to 16; the first switch to the returned
/// stack pointer calls entry(pass, argument). See contract.hpp.
inline void* prepare_stack(void* top, stack_bounds, void (*entry)(void* pass, void* argument),
                           void* argument) noexcept {
  struct frame {
    std::uintptr_t unused, d8_to_d15[16], r4, r5, r6_to_r11[6], lr, zeros[2];
  };
  static_assert(sizeof(frame) == parked_frame_bytes + 8 && offsetof(frame, r4) == 68 &&
                offsetof(frame, lr) == 100);
  frame* const first = reinterpret_cast<frame*>(static_cast<char*>(top) - sizeof(frame));
  *first = frame{};
  first->r4 = reinterpret_cast<std::uintptr_t>(entry);
  first->r5 = reinterpret_cast<std::uintptr_t>(argument);
  first->lr = reinterpret_cast<std::uintptr_t>(&thrum_goroutine_entry);
  return first;
}

}}}  // namespace thrum::THRUM_ABI::arch

#endif  // THRUM_ARCH_ARMHF
#endif  // THRUM_DETAIL_ARCH_ARMHF_HPP
