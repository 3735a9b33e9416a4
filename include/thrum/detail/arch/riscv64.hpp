// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Context switch for riscv64 with the calling conventions lp64d and lp64.
//
// The frame of a stack that does not run, from its stack pointer upwards:
//    0 ra (return address)    8 s0-s11 (s0 is the frame pointer)
//    104 fs0-fs11 and 8 bytes that keep the alignment, with lp64d; 8 such bytes with lp64
// What is preserved is a matter of the convention and not of the processor: with lp64 no called
// function preserves a floating-point register, whether there are any or not. No function preserves
// a vector register. gp and tp belong to the platform and are left alone.
//
// The predictor of returns looks at the register by which is jumped: ra and t0 are calls and
// returns to it, t1 and t2 are neither. By t2 (and by ra) a jump may land anywhere where the
// processor has landing pads (Zicfilp). Shadow stacks (Zicfiss) belong to a thread, and no stack
// that was made by hand has one: a program that has them is refused.
#ifndef THRUM_DETAIL_ARCH_RISCV64_HPP
#define THRUM_DETAIL_ARCH_RISCV64_HPP

#include <cstddef>
#include <cstdint>

#include <thrum/detail/arch/contract.hpp>
#include <thrum/detail/arch/exception_watch.hpp>
#include <thrum/detail/base/config.hpp>

#if THRUM_ARCH_RISCV64

// clang-format off
#define THRUM_ARCH_SAVE(name, at) \
  "sd " name ", " at "(sp)\n\t"  THRUM_CFI(".cfi_rel_offset " name ", " at)
#define THRUM_ARCH_LOAD(name, at) \
  "ld " name ", " at "(sp)\n\t"  THRUM_CFI(".cfi_restore " name)

#if THRUM_CALLS_KEEP_FLOATS
#define THRUM_ARCH_FRAME "208"
#define THRUM_ARCH_FLOATS(operation)                                                              \
  operation " fs0, 104(sp)\n\t"  operation " fs1, 112(sp)\n\t"  operation " fs2, 120(sp)\n\t"     \
  operation " fs3, 128(sp)\n\t"  operation " fs4, 136(sp)\n\t"  operation " fs5, 144(sp)\n\t"     \
  operation " fs6, 152(sp)\n\t"  operation " fs7, 160(sp)\n\t"  operation " fs8, 168(sp)\n\t"     \
  operation " fs9, 176(sp)\n\t"  operation " fs10, 184(sp)\n\t" operation " fs11, 192(sp)\n\t"
#else
#define THRUM_ARCH_FRAME "112"
#define THRUM_ARCH_FLOATS(operation)
#endif

#define THRUM_ARCH_SAVE_ALL                                                                       \
  "addi sp, sp, -" THRUM_ARCH_FRAME "\n\t"  THRUM_CFI(".cfi_adjust_cfa_offset " THRUM_ARCH_FRAME) \
  THRUM_ARCH_SAVE("ra", "0")                                                                      \
  THRUM_ARCH_SAVE("s0", "8")                                                                      \
  THRUM_ARCH_SAVE("s1", "16")                                                                     \
  THRUM_ARCH_SAVE("s2", "24")                                                                     \
  THRUM_ARCH_SAVE("s3", "32")                                                                     \
  THRUM_ARCH_SAVE("s4", "40")                                                                     \
  THRUM_ARCH_SAVE("s5", "48")                                                                     \
  THRUM_ARCH_SAVE("s6", "56")                                                                     \
  THRUM_ARCH_SAVE("s7", "64")                                                                     \
  THRUM_ARCH_SAVE("s8", "72")                                                                     \
  THRUM_ARCH_SAVE("s9", "80")                                                                     \
  THRUM_ARCH_SAVE("s10", "88")                                                                    \
  THRUM_ARCH_SAVE("s11", "96")

// a0 = save_sp, a1 = load_sp, a2 = pass
#define THRUM_ARCH_SWITCH_BODY                                                                    \
  THRUM_ARCH_SAVE_ALL                                                                             \
  THRUM_ARCH_FLOATS("fsd")                                                                        \
  "sd sp, 0(a0)\n\t"                                                                              \
  "mv sp, a1\n\t"                                                                                 \
  "mv a0, a2\n\t"                                                                                 \
  THRUM_ARCH_LOAD("ra", "0")                                                                      \
  THRUM_ARCH_LOAD("s0", "8")                                                                      \
  THRUM_ARCH_LOAD("s1", "16")                                                                     \
  THRUM_ARCH_LOAD("s2", "24")                                                                     \
  THRUM_ARCH_LOAD("s3", "32")                                                                     \
  THRUM_ARCH_LOAD("s4", "40")                                                                     \
  THRUM_ARCH_LOAD("s5", "48")                                                                     \
  THRUM_ARCH_LOAD("s6", "56")                                                                     \
  THRUM_ARCH_LOAD("s7", "64")                                                                     \
  THRUM_ARCH_LOAD("s8", "72")                                                                     \
  THRUM_ARCH_LOAD("s9", "80")                                                                     \
  THRUM_ARCH_LOAD("s10", "88")                                                                    \
  THRUM_ARCH_LOAD("s11", "96")                                                                    \
  THRUM_ARCH_FLOATS("fld")                                                                        \
  "addi sp, sp, " THRUM_ARCH_FRAME "\n\t"  THRUM_CFI(".cfi_adjust_cfa_offset -" THRUM_ARCH_FRAME)

#define THRUM_ARCH_LEAVE "mv t2, ra\n\t" "jr t2"
#define THRUM_ARCH_LEAVE_PAIRED "ret"

// a0 = pass, s1 = entry, s2 = argument
#define THRUM_ARCH_ENTRY_BODY       \
  THRUM_CFI(".cfi_undefined ra")    \
  "li s0, 0\n\t"                    \
  "li ra, 0\n\t"                    \
  "mv a1, s2\n\t"                   \
  "jalr s1\n\t"                     \
  "ebreak\n\t"

// a0 = where to save the stack pointer, a1 = function, a2 = argument
#define THRUM_ARCH_CALL_BODY                                                                      \
  THRUM_ARCH_SAVE_ALL                                                                             \
  "sd sp, 0(a0)\n\t"                                                                              \
  "mv a0, a2\n\t"                                                                                 \
  "jalr a1\n\t"                                                                                   \
  THRUM_ARCH_LOAD("ra", "0")                                                                      \
  "addi sp, sp, " THRUM_ARCH_FRAME "\n\t"  THRUM_CFI(".cfi_adjust_cfa_offset -" THRUM_ARCH_FRAME) \
  "ret\n\t"

// a0 = function, a1 = argument
#define THRUM_ARCH_WATCHED_BODY                                                                   \
  THRUM_CFI_PERSONALITY(THRUM_SYMBOL("thrum_watch_exception"))                                                  \
  "addi sp, sp, -16\n\t"  THRUM_CFI(".cfi_adjust_cfa_offset 16")                                  \
  THRUM_ARCH_SAVE("ra", "8")                                                                      \
  "mv t1, a0\n\t"                                                                                 \
  "mv a0, a1\n\t"                                                                                 \
  "jalr t1\n\t"                                                                                   \
  THRUM_ARCH_LOAD("ra", "8")                                                                      \
  "addi sp, sp, 16\n\t"  THRUM_CFI(".cfi_adjust_cfa_offset -16")                                  \
  "ret\n\t"
// clang-format on

#include <thrum/detail/arch/place_functions.hpp>

#undef THRUM_ARCH_SAVE
#undef THRUM_ARCH_LOAD
#undef THRUM_ARCH_SAVE_ALL
#undef THRUM_ARCH_FRAME
#undef THRUM_ARCH_FLOATS

namespace thrum { inline namespace THRUM_ABI { namespace arch {

inline constexpr char name[] = "riscv64";
inline constexpr std::size_t stack_alignment = 16;

/// Call it in a loop that waits for another processor: `pause`, which processors without it
/// take for a fence that orders nothing.
THRUM_INLINE void spin_hint() noexcept { asm volatile(".4byte 0x0100000f" ::: "memory"); }

/// A request to valgrind, if the program runs in it; else 0 and five instructions without effect.
/// No other code shifts the register that is always zero, and compressed forms would not be known.
inline std::uintptr_t ask_valgrind(const std::uintptr_t (&request)[6]) noexcept {
  register std::uintptr_t answer asm("a3") = 0;
  register const std::uintptr_t* question asm("a4") = request;
  asm volatile(
      ".option push\n\t"
      ".option norvc\n\t"
      "srli zero, zero, 3\n\t"
      "srli zero, zero, 13\n\t"
      "srli zero, zero, 51\n\t"
      "srli zero, zero, 61\n\t"
      "or a0, a0, a0\n\t"
      ".option pop"
      : "+r"(answer)
      : "r"(question)
      : "memory");
  return answer;
}

/// What a switch leaves on the stack.
inline constexpr std::size_t parked_frame_bytes = THRUM_CALLS_KEEP_FLOATS != 0 ? 208 : 112;

/// Registers by DWARF's numbers: x0 to x31, of which x2 is the stack pointer.
using frame_registers = registers_of_frame<32, 2>;

/// The register that a call leaves its return address in.
inline constexpr int return_register = 1;

/// A return address as the call has left it.
constexpr std::uintptr_t plain_address(std::uintptr_t address) noexcept { return address; }

/// What a parked stack's frame holds; see contract.hpp.
THRUM_NO_SANITIZE inline frame_registers parked_registers(const void* sp) noexcept {
  const auto* const saved = static_cast<const volatile std::uintptr_t*>(sp);
  frame_registers at;
  at.value[1] = at.pc = saved[0];
  at.value[8] = saved[1];
  at.value[9] = saved[2];
  for (std::size_t i = 2; i != 12; ++i) {
    at.value[16 + i] = saved[1 + i];  // s2 is x18
  }
  at.value[frame_registers::sp] = reinterpret_cast<std::uintptr_t>(sp) + parked_frame_bytes;
  return at;
}

/// What a signal has interrupted, from the machine's part of Linux's context.
template <class Machine>
frame_registers interrupted_registers(const Machine& machine) noexcept {
  frame_registers at;
  for (std::size_t i = 1; i != frame_registers::count; ++i) {
    at.value[i] = static_cast<std::uintptr_t>(machine.__gregs[i]);
  }
  at.pc = static_cast<std::uintptr_t>(machine.__gregs[0]);
  return at;
}

/// Writes the first frame below `top`, which is aligned to 16; the first switch to the returned
/// stack pointer calls entry(pass, argument). See contract.hpp.
inline void* prepare_stack(void* top, stack_bounds, void (*entry)(void* pass, void* argument),
                           void* argument) noexcept {
  struct frame {
    std::uintptr_t ra, s0, s1, s2, s3_to_s11[9], floats[parked_frame_bytes / 8 - 13], zeros[2];
  };
  static_assert(sizeof(frame) == parked_frame_bytes + 16 && offsetof(frame, s2) == 24);
  frame* const first = reinterpret_cast<frame*>(static_cast<char*>(top) - sizeof(frame));
  *first = frame{};
  first->s1 = reinterpret_cast<std::uintptr_t>(entry);
  first->s2 = reinterpret_cast<std::uintptr_t>(argument);
  first->ra = reinterpret_cast<std::uintptr_t>(&thrum_goroutine_entry);
  return first;
}

}}}  // namespace thrum::THRUM_ABI::arch

#endif  // THRUM_ARCH_RISCV64
#endif  // THRUM_DETAIL_ARCH_RISCV64_HPP
