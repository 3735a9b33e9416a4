// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Context switch for 64-bit Power, little-endian, with the calling convention ELFv2.
//
// The frame of a stack that does not run, from its stack pointer upwards:
//    0 the caller's stack pointer    8 unused    24 r2    32 r14-r31    176 f14-f31    320 v20-v31
//    512 the caller's own first words, where a called function saves: 8 bytes unused, the condition
//    register, the return address
// r2 points to the table of addresses of the shared object whose code runs, and the two sides may
// be in different ones. r13 belongs to the thread. Linux does not use VRSAVE.
//
// A function that is called by its address finds that in r12, from which it makes its r2. Its caller
// loads its own r2 again, by the very instruction that the unwinder looks for.
#ifndef THRUM_DETAIL_ARCH_PPC64LE_HPP
#define THRUM_DETAIL_ARCH_PPC64LE_HPP

#include <cstddef>
#include <cstdint>

#include <thrum/detail/arch/contract.hpp>
#include <thrum/detail/arch/exception_watch.hpp>
#include <thrum/detail/base/config.hpp>

#if THRUM_ARCH_PPC64LE

// clang-format off
#define THRUM_ARCH_SAVE(number, at) \
  "std " number ", " at "(1)\n\t"  THRUM_CFI(".cfi_rel_offset " number ", " at)
#define THRUM_ARCH_LOAD(number, at) \
  "ld " number ", " at "(1)\n\t"  THRUM_CFI(".cfi_restore " number)

#define THRUM_ARCH_SAVE_ALL                                                       \
  "mflr 0\n\t"                                                                    \
  "std 0, 16(1)\n\t"  THRUM_CFI(".cfi_offset lr, 16")                             \
  "mfcr 12\n\t"                                                                   \
  "stw 12, 8(1)\n\t"                                                              \
  "stdu 1, -512(1)\n\t"  THRUM_CFI(".cfi_adjust_cfa_offset 512")                  \
  "std 2, 24(1)\n\t"                                                              \
  THRUM_ARCH_SAVE("14", "32")                                                     \
  THRUM_ARCH_SAVE("15", "40")                                                     \
  THRUM_ARCH_SAVE("16", "48")                                                     \
  THRUM_ARCH_SAVE("17", "56")                                                     \
  THRUM_ARCH_SAVE("18", "64")                                                     \
  THRUM_ARCH_SAVE("19", "72")                                                     \
  THRUM_ARCH_SAVE("20", "80")                                                     \
  THRUM_ARCH_SAVE("21", "88")                                                     \
  THRUM_ARCH_SAVE("22", "96")                                                     \
  THRUM_ARCH_SAVE("23", "104")                                                    \
  THRUM_ARCH_SAVE("24", "112")                                                    \
  THRUM_ARCH_SAVE("25", "120")                                                    \
  THRUM_ARCH_SAVE("26", "128")                                                    \
  THRUM_ARCH_SAVE("27", "136")                                                    \
  THRUM_ARCH_SAVE("28", "144")                                                    \
  THRUM_ARCH_SAVE("29", "152")                                                    \
  THRUM_ARCH_SAVE("30", "160")                                                    \
  THRUM_ARCH_SAVE("31", "168")

// r3 = save_sp, r4 = load_sp, r5 = pass
#define THRUM_ARCH_SWITCH_BODY                                                    \
  THRUM_ARCH_SAVE_ALL                                                             \
  "stfd 14, 176(1)\n\t"                                                           \
  "stfd 15, 184(1)\n\t"                                                           \
  "stfd 16, 192(1)\n\t"                                                           \
  "stfd 17, 200(1)\n\t"                                                           \
  "stfd 18, 208(1)\n\t"                                                           \
  "stfd 19, 216(1)\n\t"                                                           \
  "stfd 20, 224(1)\n\t"                                                           \
  "stfd 21, 232(1)\n\t"                                                           \
  "stfd 22, 240(1)\n\t"                                                           \
  "stfd 23, 248(1)\n\t"                                                           \
  "stfd 24, 256(1)\n\t"                                                           \
  "stfd 25, 264(1)\n\t"                                                           \
  "stfd 26, 272(1)\n\t"                                                           \
  "stfd 27, 280(1)\n\t"                                                           \
  "stfd 28, 288(1)\n\t"                                                           \
  "stfd 29, 296(1)\n\t"                                                           \
  "stfd 30, 304(1)\n\t"                                                           \
  "stfd 31, 312(1)\n\t"                                                           \
  "li 11, 320\n\t"  "stvx 20, 11, 1\n\t"                                          \
  "li 11, 336\n\t"  "stvx 21, 11, 1\n\t"                                          \
  "li 11, 352\n\t"  "stvx 22, 11, 1\n\t"                                          \
  "li 11, 368\n\t"  "stvx 23, 11, 1\n\t"                                          \
  "li 11, 384\n\t"  "stvx 24, 11, 1\n\t"                                          \
  "li 11, 400\n\t"  "stvx 25, 11, 1\n\t"                                          \
  "li 11, 416\n\t"  "stvx 26, 11, 1\n\t"                                          \
  "li 11, 432\n\t"  "stvx 27, 11, 1\n\t"                                          \
  "li 11, 448\n\t"  "stvx 28, 11, 1\n\t"                                          \
  "li 11, 464\n\t"  "stvx 29, 11, 1\n\t"                                          \
  "li 11, 480\n\t"  "stvx 30, 11, 1\n\t"                                          \
  "li 11, 496\n\t"  "stvx 31, 11, 1\n\t"                                          \
  "std 1, 0(3)\n\t"                                                               \
  "mr 1, 4\n\t"                                                                   \
  "mr 3, 5\n\t"                                                                   \
  THRUM_ARCH_LOAD("14", "32")                                                     \
  THRUM_ARCH_LOAD("15", "40")                                                     \
  THRUM_ARCH_LOAD("16", "48")                                                     \
  THRUM_ARCH_LOAD("17", "56")                                                     \
  THRUM_ARCH_LOAD("18", "64")                                                     \
  THRUM_ARCH_LOAD("19", "72")                                                     \
  THRUM_ARCH_LOAD("20", "80")                                                     \
  THRUM_ARCH_LOAD("21", "88")                                                     \
  THRUM_ARCH_LOAD("22", "96")                                                     \
  THRUM_ARCH_LOAD("23", "104")                                                    \
  THRUM_ARCH_LOAD("24", "112")                                                    \
  THRUM_ARCH_LOAD("25", "120")                                                    \
  THRUM_ARCH_LOAD("26", "128")                                                    \
  THRUM_ARCH_LOAD("27", "136")                                                    \
  THRUM_ARCH_LOAD("28", "144")                                                    \
  THRUM_ARCH_LOAD("29", "152")                                                    \
  THRUM_ARCH_LOAD("30", "160")                                                    \
  THRUM_ARCH_LOAD("31", "168")                                                    \
  "lfd 14, 176(1)\n\t"                                                            \
  "lfd 15, 184(1)\n\t"                                                            \
  "lfd 16, 192(1)\n\t"                                                            \
  "lfd 17, 200(1)\n\t"                                                            \
  "lfd 18, 208(1)\n\t"                                                            \
  "lfd 19, 216(1)\n\t"                                                            \
  "lfd 20, 224(1)\n\t"                                                            \
  "lfd 21, 232(1)\n\t"                                                            \
  "lfd 22, 240(1)\n\t"                                                            \
  "lfd 23, 248(1)\n\t"                                                            \
  "lfd 24, 256(1)\n\t"                                                            \
  "lfd 25, 264(1)\n\t"                                                            \
  "lfd 26, 272(1)\n\t"                                                            \
  "lfd 27, 280(1)\n\t"                                                            \
  "lfd 28, 288(1)\n\t"                                                            \
  "lfd 29, 296(1)\n\t"                                                            \
  "lfd 30, 304(1)\n\t"                                                            \
  "lfd 31, 312(1)\n\t"                                                            \
  "li 11, 320\n\t"  "lvx 20, 11, 1\n\t"                                           \
  "li 11, 336\n\t"  "lvx 21, 11, 1\n\t"                                           \
  "li 11, 352\n\t"  "lvx 22, 11, 1\n\t"                                           \
  "li 11, 368\n\t"  "lvx 23, 11, 1\n\t"                                           \
  "li 11, 384\n\t"  "lvx 24, 11, 1\n\t"                                           \
  "li 11, 400\n\t"  "lvx 25, 11, 1\n\t"                                           \
  "li 11, 416\n\t"  "lvx 26, 11, 1\n\t"                                           \
  "li 11, 432\n\t"  "lvx 27, 11, 1\n\t"                                           \
  "li 11, 448\n\t"  "lvx 28, 11, 1\n\t"                                           \
  "li 11, 464\n\t"  "lvx 29, 11, 1\n\t"                                           \
  "li 11, 480\n\t"  "lvx 30, 11, 1\n\t"                                           \
  "li 11, 496\n\t"  "lvx 31, 11, 1\n\t"                                           \
  "ld 2, 24(1)\n\t"                                                               \
  "addi 1, 1, 512\n\t"  THRUM_CFI(".cfi_adjust_cfa_offset -512")                  \
  "lwz 12, 8(1)\n\t"                                                              \
  "mtcrf 0x38, 12\n\t"                                                            \
  "ld 0, 16(1)\n\t"

#define THRUM_ARCH_LEAVE "mtctr 0\n\t" "mtlr 0\n\t"  THRUM_CFI(".cfi_restore lr")  "bctr\n\t"
#define THRUM_ARCH_LEAVE_PAIRED "mtlr 0\n\t"  THRUM_CFI(".cfi_restore lr")  "blr\n\t"

// r3 = pass, r14 = entry, r15 = argument
#define THRUM_ARCH_ENTRY_BODY                                                     \
  THRUM_CFI(".cfi_undefined lr")                                                  \
  "li 31, 0\n\t"                                                                  \
  "mr 4, 15\n\t"                                                                  \
  "mr 12, 14\n\t"                                                                 \
  "mtctr 12\n\t"                                                                  \
  "bctrl\n\t"                                                                     \
  "trap\n\t"

// r3 = where to save the stack pointer, r4 = function, r5 = argument
#define THRUM_ARCH_CALL_BODY                                                      \
  THRUM_ARCH_SAVE_ALL                                                             \
  "std 1, 0(3)\n\t"                                                               \
  "stdu 1, -32(1)\n\t"  THRUM_CFI(".cfi_adjust_cfa_offset 32")                    \
  "std 2, 24(1)\n\t"                                                              \
  "mr 3, 5\n\t"                                                                   \
  "mr 12, 4\n\t"                                                                  \
  "mtctr 12\n\t"                                                                  \
  "bctrl\n\t"                                                                     \
  "ld 2, 24(1)\n\t"                                                               \
  "addi 1, 1, 544\n\t"  THRUM_CFI(".cfi_adjust_cfa_offset -544")                  \
  "ld 0, 16(1)\n\t"                                                               \
  "mtlr 0\n\t"  THRUM_CFI(".cfi_restore lr")                                      \
  "blr\n\t"

// r3 = function, r4 = argument
#define THRUM_ARCH_WATCHED_BODY                                                   \
  THRUM_CFI_PERSONALITY(THRUM_SYMBOL("thrum_watch_exception"))                                  \
  "mflr 0\n\t"                                                                    \
  "std 0, 16(1)\n\t"  THRUM_CFI(".cfi_offset lr, 16")                             \
  "stdu 1, -32(1)\n\t"  THRUM_CFI(".cfi_adjust_cfa_offset 32")                    \
  "std 2, 24(1)\n\t"                                                              \
  "mr 12, 3\n\t"                                                                  \
  "mr 3, 4\n\t"                                                                   \
  "mtctr 12\n\t"                                                                  \
  "bctrl\n\t"                                                                     \
  "ld 2, 24(1)\n\t"                                                               \
  "addi 1, 1, 32\n\t"  THRUM_CFI(".cfi_adjust_cfa_offset -32")                    \
  "ld 0, 16(1)\n\t"                                                               \
  "mtlr 0\n\t"  THRUM_CFI(".cfi_restore lr")                                      \
  "blr\n\t"
// clang-format on

#include <thrum/detail/arch/place_functions.hpp>

#undef THRUM_ARCH_SAVE
#undef THRUM_ARCH_LOAD
#undef THRUM_ARCH_SAVE_ALL

namespace thrum { inline namespace THRUM_ABI { namespace arch {

inline constexpr char name[] = "ppc64le";
inline constexpr std::size_t stack_alignment = 16;

/// Call it in a loop that waits for another processor: lets the core's other threads go first.
THRUM_INLINE void spin_hint() noexcept { asm volatile("or 27, 27, 27" ::: "memory"); }

/// A request to valgrind, if the program runs in it; else 0 and five instructions without effect.
/// The processor turns r0 around by 128 bits, which no other code would do.
inline std::uintptr_t ask_valgrind(const std::uintptr_t (&request)[6]) noexcept {
  register std::uintptr_t answer asm("r3") = 0;
  register const std::uintptr_t* question asm("r4") = request;
  asm volatile(
      "rotldi 0, 0, 3\n\t"
      "rotldi 0, 0, 13\n\t"
      "rotldi 0, 0, 61\n\t"
      "rotldi 0, 0, 51\n\t"
      "or 1, 1, 1"
      : "+r"(answer)
      : "r"(question)
      : "cc", "memory");
  return answer;
}

/// What a switch leaves on the stack, with the words of its caller that it uses.
inline constexpr std::size_t parked_frame_bytes = 512 + 24;

/// Registers by DWARF's numbers, as far as needed: r0 to r31, of which r1 is the stack pointer, and
/// the return address, which has number 65.
using frame_registers = registers_of_frame<66, 1>;

/// The register that a call leaves its return address in.
inline constexpr int return_register = return_unknown;

/// A return address as the call has left it.
constexpr std::uintptr_t plain_address(std::uintptr_t address) noexcept { return address; }

/// What a parked stack's frame holds; see contract.hpp.
THRUM_NO_SANITIZE inline frame_registers parked_registers(const void* sp) noexcept {
  const auto* const saved = static_cast<const volatile std::uintptr_t*>(sp);
  frame_registers at;
  at.value[2] = saved[3];
  for (std::size_t i = 14; i != 32; ++i) {
    at.value[i] = saved[i - 10];
  }
  at.value[65] = at.pc = saved[66];
  at.value[frame_registers::sp] = reinterpret_cast<std::uintptr_t>(saved + 64);
  return at;
}

/// What a signal has interrupted, from the machine's part of Linux's context: r0 to r31, then the
/// place in the code, and as the fifth behind the registers the return address.
template <class Machine>
frame_registers interrupted_registers(const Machine& machine) noexcept {
  frame_registers at;
  for (std::size_t i = 0; i != 32; ++i) {
    at.value[i] = static_cast<std::uintptr_t>(machine.gp_regs[i]);
  }
  at.pc = static_cast<std::uintptr_t>(machine.gp_regs[32]);
  at.value[65] = static_cast<std::uintptr_t>(machine.gp_regs[36]);
  return at;
}

/// Writes the first frame below `top`, which is aligned to 16; the first switch to the returned
/// stack pointer calls entry(pass, argument). See contract.hpp.
inline void* prepare_stack(void* top, stack_bounds, void (*entry)(void* pass, void* argument),
                           void* argument) noexcept {
  struct frame {
    std::uintptr_t header[4], r14, r15, r16_to_r31[16], f14_to_f31[18], v20_to_v31[24];
    // The entry's own frame, with room for its return address and r2.
    std::uintptr_t back_chain, condition, return_address, r2, zeros[2];
  };
  static_assert(sizeof(frame) == 512 + 48 && offsetof(frame, r14) == 32 &&
                offsetof(frame, v20_to_v31) == 320 && offsetof(frame, return_address) == 528);
  frame* const first = reinterpret_cast<frame*>(static_cast<char*>(top) - sizeof(frame));
  *first = frame{};
  first->header[0] = reinterpret_cast<std::uintptr_t>(&first->back_chain);
  first->r14 = reinterpret_cast<std::uintptr_t>(entry);
  first->r15 = reinterpret_cast<std::uintptr_t>(argument);
  first->return_address = reinterpret_cast<std::uintptr_t>(&thrum_goroutine_entry);
  return first;
}

}}}  // namespace thrum::THRUM_ABI::arch

#endif  // THRUM_ARCH_PPC64LE
#endif  // THRUM_DETAIL_ARCH_PPC64LE_HPP
