// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Context switch for loongarch64 with the calling convention lp64d.
//
// The frame of a stack that does not run, from its stack pointer upwards:
//    0 ra (return address)    8 fp, s0-s8 (fp is also called s9)
//    88 fs0-fs7, and 8 bytes that keep the alignment
// fs0-fs7 are the lower halves and quarters of vector registers, of which only they are preserved.
// tp and r21 belong to the platform and are left alone.
//
// The predictor of returns looks at the register by which is jumped: ra is a call or a return to it,
// t0 is neither.
#ifndef THRUM_DETAIL_ARCH_LOONGARCH64_HPP
#define THRUM_DETAIL_ARCH_LOONGARCH64_HPP

#include <cstddef>
#include <cstdint>

#include <thrum/detail/arch/contract.hpp>
#include <thrum/detail/arch/exception_watch.hpp>
#include <thrum/detail/base/config.hpp>

#if THRUM_ARCH_LOONGARCH64

// clang-format off
// Assemblers do not agree on the names of registers in call-frame information: by DWARF's numbers.
#define THRUM_ARCH_SAVE(name, number, at) \
  "st.d $" name ", $sp, " at "\n\t"  THRUM_CFI(".cfi_rel_offset " number ", " at)
#define THRUM_ARCH_LOAD(name, number, at) \
  "ld.d $" name ", $sp, " at "\n\t"  THRUM_CFI(".cfi_restore " number)

#define THRUM_ARCH_FLOATS(operation)                                                              \
  operation " $fs0, $sp, 88\n\t"   operation " $fs1, $sp, 96\n\t"   operation " $fs2, $sp, 104\n\t" \
  operation " $fs3, $sp, 112\n\t"  operation " $fs4, $sp, 120\n\t"  operation " $fs5, $sp, 128\n\t" \
  operation " $fs6, $sp, 136\n\t"  operation " $fs7, $sp, 144\n\t"

#define THRUM_ARCH_SAVE_ALL                                                                       \
  "addi.d $sp, $sp, -160\n\t"  THRUM_CFI(".cfi_adjust_cfa_offset 160")                            \
  THRUM_ARCH_SAVE("ra", "1", "0")                                                                 \
  THRUM_ARCH_SAVE("fp", "22", "8")                                                                \
  THRUM_ARCH_SAVE("s0", "23", "16")                                                               \
  THRUM_ARCH_SAVE("s1", "24", "24")                                                               \
  THRUM_ARCH_SAVE("s2", "25", "32")                                                               \
  THRUM_ARCH_SAVE("s3", "26", "40")                                                               \
  THRUM_ARCH_SAVE("s4", "27", "48")                                                               \
  THRUM_ARCH_SAVE("s5", "28", "56")                                                               \
  THRUM_ARCH_SAVE("s6", "29", "64")                                                               \
  THRUM_ARCH_SAVE("s7", "30", "72")                                                               \
  THRUM_ARCH_SAVE("s8", "31", "80")

// a0 = save_sp, a1 = load_sp, a2 = pass
#define THRUM_ARCH_SWITCH_BODY                                                                    \
  THRUM_ARCH_SAVE_ALL                                                                             \
  THRUM_ARCH_FLOATS("fst.d")                                                                      \
  "st.d $sp, $a0, 0\n\t"                                                                          \
  "move $sp, $a1\n\t"                                                                             \
  "move $a0, $a2\n\t"                                                                             \
  THRUM_ARCH_LOAD("ra", "1", "0")                                                                 \
  THRUM_ARCH_LOAD("fp", "22", "8")                                                                \
  THRUM_ARCH_LOAD("s0", "23", "16")                                                               \
  THRUM_ARCH_LOAD("s1", "24", "24")                                                               \
  THRUM_ARCH_LOAD("s2", "25", "32")                                                               \
  THRUM_ARCH_LOAD("s3", "26", "40")                                                               \
  THRUM_ARCH_LOAD("s4", "27", "48")                                                               \
  THRUM_ARCH_LOAD("s5", "28", "56")                                                               \
  THRUM_ARCH_LOAD("s6", "29", "64")                                                               \
  THRUM_ARCH_LOAD("s7", "30", "72")                                                               \
  THRUM_ARCH_LOAD("s8", "31", "80")                                                               \
  THRUM_ARCH_FLOATS("fld.d")                                                                      \
  "addi.d $sp, $sp, 160\n\t"  THRUM_CFI(".cfi_adjust_cfa_offset -160")

#define THRUM_ARCH_LEAVE "move $t0, $ra\n\t" "jr $t0"
#define THRUM_ARCH_LEAVE_PAIRED "ret"

// a0 = pass, s0 = entry, s1 = argument
#define THRUM_ARCH_ENTRY_BODY       \
  THRUM_CFI(".cfi_undefined 1")     \
  "move $fp, $zero\n\t"             \
  "move $ra, $zero\n\t"             \
  "move $a1, $s1\n\t"               \
  "jirl $ra, $s0, 0\n\t"            \
  "break 0\n\t"

// a0 = where to save the stack pointer, a1 = function, a2 = argument
#define THRUM_ARCH_CALL_BODY                                                                      \
  THRUM_ARCH_SAVE_ALL                                                                             \
  "st.d $sp, $a0, 0\n\t"                                                                          \
  "move $a0, $a2\n\t"                                                                             \
  "jirl $ra, $a1, 0\n\t"                                                                          \
  THRUM_ARCH_LOAD("ra", "1", "0")                                                                 \
  "addi.d $sp, $sp, 160\n\t"  THRUM_CFI(".cfi_adjust_cfa_offset -160")                            \
  "ret\n\t"

// a0 = function, a1 = argument
#define THRUM_ARCH_WATCHED_BODY                                                                   \
  THRUM_CFI_PERSONALITY(THRUM_SYMBOL("thrum_watch_exception"))                                                  \
  "addi.d $sp, $sp, -16\n\t"  THRUM_CFI(".cfi_adjust_cfa_offset 16")                              \
  THRUM_ARCH_SAVE("ra", "1", "8")                                                                 \
  "move $t0, $a0\n\t"                                                                             \
  "move $a0, $a1\n\t"                                                                             \
  "jirl $ra, $t0, 0\n\t"                                                                          \
  THRUM_ARCH_LOAD("ra", "1", "8")                                                                 \
  "addi.d $sp, $sp, 16\n\t"  THRUM_CFI(".cfi_adjust_cfa_offset -16")                              \
  "ret\n\t"
// clang-format on

#include <thrum/detail/arch/place_functions.hpp>

#undef THRUM_ARCH_SAVE
#undef THRUM_ARCH_LOAD
#undef THRUM_ARCH_SAVE_ALL
#undef THRUM_ARCH_FLOATS

namespace thrum { inline namespace THRUM_ABI { namespace arch {

inline constexpr char name[] = "loongarch64";
inline constexpr std::size_t stack_alignment = 16;

/// Call it in a loop that waits for another processor. This processor has no instruction for that.
THRUM_INLINE void spin_hint() noexcept { asm volatile("nop" ::: "memory"); }

/// No valgrind that there is when this is written runs programs for this processor.
inline std::uintptr_t ask_valgrind(const std::uintptr_t (&)[6]) noexcept { return 0; }

/// What a switch leaves on the stack.
inline constexpr std::size_t parked_frame_bytes = 160;

/// Registers by DWARF's numbers: r0 to r31, of which r3 is the stack pointer.
using frame_registers = registers_of_frame<32, 3>;

/// The register that a call leaves its return address in.
inline constexpr int return_register = 1;

/// A return address as the call has left it.
constexpr std::uintptr_t plain_address(std::uintptr_t address) noexcept { return address; }

/// What a parked stack's frame holds; see contract.hpp.
THRUM_NO_SANITIZE inline frame_registers parked_registers(const void* sp) noexcept {
  const auto* const saved = static_cast<const volatile std::uintptr_t*>(sp);
  frame_registers at;
  at.value[1] = at.pc = saved[0];
  for (std::size_t i = 0; i != 10; ++i) {
    at.value[22 + i] = saved[1 + i];
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
  at.pc = static_cast<std::uintptr_t>(machine.__pc);
  return at;
}

/// Writes the first frame below `top`, which is aligned to 16; the first switch to the returned
/// stack pointer calls entry(pass, argument). See contract.hpp.
inline void* prepare_stack(void* top, stack_bounds, void (*entry)(void* pass, void* argument),
                           void* argument) noexcept {
  struct frame {
    std::uintptr_t ra, fp, s0, s1, s2_to_s8[7], floats[8], alignment, zeros[2];
  };
  static_assert(sizeof(frame) == parked_frame_bytes + 16 && offsetof(frame, s0) == 16);
  frame* const first = reinterpret_cast<frame*>(static_cast<char*>(top) - sizeof(frame));
  *first = frame{};
  first->s0 = reinterpret_cast<std::uintptr_t>(entry);
  first->s1 = reinterpret_cast<std::uintptr_t>(argument);
  first->ra = reinterpret_cast<std::uintptr_t>(&thrum_goroutine_entry);
  return first;
}

}}}  // namespace thrum::THRUM_ABI::arch

#endif  // THRUM_ARCH_LOONGARCH64
#endif  // THRUM_DETAIL_ARCH_LOONGARCH64_HPP
