// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Context switch for aarch64 with the procedure call standard AAPCS64.
//
// The frame of a stack that does not run, from its stack pointer upwards; of the vector registers a
// called function preserves the lower halves of v8-v15:
//    0 d8-d15    64 x19-x28    144 x29 (frame pointer)    152 x30 (return address)
// x18 belongs to the platform and is left alone.
//
// `bti c` (hint 34) and `bti jc` (hint 38) mark the two entries for branch target identification
// and do nothing on older processors. With it a `br` may only land on such a mark, and the switch
// goes to the middle of a function: under -mbranch-protection=bti it ends in `ret`, which may land
// anywhere, otherwise in `br`, which the predictor of returns does not see. A program has the
// protection only if all of its objects have it, so either copy of the function is right for the
// program that keeps it.
#ifndef THRUM_DETAIL_ARCH_AARCH64_AAPCS64_HPP
#define THRUM_DETAIL_ARCH_AARCH64_AAPCS64_HPP

#include <cstddef>
#include <cstdint>

#include <thrum/detail/arch/aarch64.hpp>  // IWYU pragma: export
#include <thrum/detail/arch/contract.hpp>
#include <thrum/detail/arch/exception_watch.hpp>
#include <thrum/detail/base/config.hpp>

#if THRUM_ARCH_AARCH64_AAPCS64

#if defined(__ARM_FEATURE_BTI_DEFAULT)
#define THRUM_ARCH_LEAVE "ret x30"
#else
#define THRUM_ARCH_LEAVE "br x30"
#endif
#define THRUM_ARCH_LEAVE_PAIRED "ret x30"

// x0 = save_sp, x1 = load_sp, x2 = pass
// clang-format off
#define THRUM_ARCH_SWITCH_BODY                                                                    \
  "hint #34\n\t"                                                                                  \
  "stp d8, d9, [sp, #-160]!\n\t"  THRUM_CFI(".cfi_adjust_cfa_offset 160")                         \
  "stp d10, d11, [sp, #16]\n\t"                                                                   \
  "stp d12, d13, [sp, #32]\n\t"                                                                   \
  "stp d14, d15, [sp, #48]\n\t"                                                                   \
  "stp x19, x20, [sp, #64]\n\t"  THRUM_CFI(".cfi_rel_offset x19, 64")                             \
                                   THRUM_CFI(".cfi_rel_offset x20, 72")                           \
  "stp x21, x22, [sp, #80]\n\t"  THRUM_CFI(".cfi_rel_offset x21, 80")                             \
                                   THRUM_CFI(".cfi_rel_offset x22, 88")                           \
  "stp x23, x24, [sp, #96]\n\t"  THRUM_CFI(".cfi_rel_offset x23, 96")                             \
                                   THRUM_CFI(".cfi_rel_offset x24, 104")                          \
  "stp x25, x26, [sp, #112]\n\t"  THRUM_CFI(".cfi_rel_offset x25, 112")                           \
                                   THRUM_CFI(".cfi_rel_offset x26, 120")                          \
  "stp x27, x28, [sp, #128]\n\t"  THRUM_CFI(".cfi_rel_offset x27, 128")                           \
                                   THRUM_CFI(".cfi_rel_offset x28, 136")                          \
  "stp x29, x30, [sp, #144]\n\t"  THRUM_CFI(".cfi_rel_offset x29, 144")                           \
                                   THRUM_CFI(".cfi_rel_offset x30, 152")                          \
  "mov x9, sp\n\t"                                                                                \
  "str x9, [x0]\n\t"                                                                              \
  "mov sp, x1\n\t"                                                                                \
  "mov x0, x2\n\t"                                                                                \
  "ldp x29, x30, [sp, #144]\n\t"  THRUM_CFI(".cfi_restore x29") THRUM_CFI(".cfi_restore x30")     \
  "ldp x27, x28, [sp, #128]\n\t"  THRUM_CFI(".cfi_restore x27") THRUM_CFI(".cfi_restore x28")     \
  "ldp x25, x26, [sp, #112]\n\t"  THRUM_CFI(".cfi_restore x25") THRUM_CFI(".cfi_restore x26")     \
  "ldp x23, x24, [sp, #96]\n\t"  THRUM_CFI(".cfi_restore x23") THRUM_CFI(".cfi_restore x24")      \
  "ldp x21, x22, [sp, #80]\n\t"  THRUM_CFI(".cfi_restore x21") THRUM_CFI(".cfi_restore x22")      \
  "ldp x19, x20, [sp, #64]\n\t"  THRUM_CFI(".cfi_restore x19") THRUM_CFI(".cfi_restore x20")      \
  "ldp d14, d15, [sp, #48]\n\t"                                                                   \
  "ldp d12, d13, [sp, #32]\n\t"                                                                   \
  "ldp d10, d11, [sp, #16]\n\t"                                                                   \
  "ldp d8, d9, [sp], #160\n\t"  THRUM_CFI(".cfi_adjust_cfa_offset -160")

// x0 = pass, x19 = entry, x20 = argument
#define THRUM_ARCH_ENTRY_BODY              \
  THRUM_CFI(".cfi_undefined x30")          \
  "hint #38\n\t"                           \
  "mov x29, #0\n\t"                        \
  "mov x30, #0\n\t"                        \
  "mov x1, x20\n\t"                        \
  "blr x19\n\t"                            \
  "brk #1\n\t"

// x0 = where to save the stack pointer, x1 = function, x2 = argument
#define THRUM_ARCH_CALL_BODY                                                                      \
  "hint #34\n\t"                                                                                  \
  "sub sp, sp, #160\n\t"  THRUM_CFI(".cfi_adjust_cfa_offset 160")                                 \
  "stp x19, x20, [sp, #64]\n\t"                                                                   \
  "stp x21, x22, [sp, #80]\n\t"                                                                   \
  "stp x23, x24, [sp, #96]\n\t"                                                                   \
  "stp x25, x26, [sp, #112]\n\t"                                                                  \
  "stp x27, x28, [sp, #128]\n\t"                                                                  \
  "stp x29, x30, [sp, #144]\n\t"  THRUM_CFI(".cfi_rel_offset x29, 144")                           \
                                  THRUM_CFI(".cfi_rel_offset x30, 152")                           \
  "mov x9, sp\n\t"                                                                                \
  "str x9, [x0]\n\t"                                                                              \
  "mov x0, x2\n\t"                                                                                \
  "blr x1\n\t"                                                                                    \
  "ldp x29, x30, [sp, #144]\n\t"  THRUM_CFI(".cfi_restore x29") THRUM_CFI(".cfi_restore x30")     \
  "add sp, sp, #160\n\t"  THRUM_CFI(".cfi_adjust_cfa_offset -160")                                \
  "ret\n\t"

// x0 = function, x1 = argument
#define THRUM_ARCH_WATCHED_BODY                                                                   \
  THRUM_CFI_PERSONALITY(THRUM_SYMBOL("thrum_watch_exception"))                                                  \
  "hint #34\n\t"                                                                                  \
  "stp x29, x30, [sp, #-16]!\n\t"  THRUM_CFI(".cfi_adjust_cfa_offset 16")                         \
                                   THRUM_CFI(".cfi_rel_offset x29, 0")                            \
                                   THRUM_CFI(".cfi_rel_offset x30, 8")                            \
  "mov x9, x0\n\t"                                                                                \
  "mov x0, x1\n\t"                                                                                \
  "blr x9\n\t"                                                                                    \
  "ldp x29, x30, [sp], #16\n\t"  THRUM_CFI(".cfi_adjust_cfa_offset -16")                          \
                                 THRUM_CFI(".cfi_restore x29") THRUM_CFI(".cfi_restore x30")      \
  "ret\n\t"
// clang-format on

#include <thrum/detail/arch/place_functions.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace arch {

/// What a switch leaves on the stack.
inline constexpr std::size_t parked_frame_bytes = 160;

/// What a parked stack's frame holds; see contract.hpp.
THRUM_NO_SANITIZE inline frame_registers parked_registers(const void* sp) noexcept {
  const auto* const saved = static_cast<const volatile std::uintptr_t*>(sp);
  frame_registers at;
  for (std::size_t i = 0; i != 12; ++i) {
    at.value[19 + i] = saved[8 + i];
  }
  at.pc = plain_address(at.value[30]);
  at.value[frame_registers::sp] = reinterpret_cast<std::uintptr_t>(saved + 20);
  return at;
}

/// What a signal has interrupted, from the machine's part of Linux's context.
template <class Machine>
frame_registers interrupted_registers(const Machine& machine) noexcept {
  frame_registers at;
  for (std::size_t i = 0; i != 31; ++i) {
    at.value[i] = static_cast<std::uintptr_t>(machine.regs[i]);
  }
  at.value[frame_registers::sp] = static_cast<std::uintptr_t>(machine.sp);
  at.pc = static_cast<std::uintptr_t>(machine.pc);
  return at;
}

/// Writes the first frame below `top`, which is aligned to 16; the first switch to the returned
/// stack pointer calls entry(pass, argument). See contract.hpp.
inline void* prepare_stack(void* top, stack_bounds, void (*entry)(void* pass, void* argument),
                           void* argument) noexcept {
  struct frame {
    std::uintptr_t d8_to_d15[8], x19, x20, x21_to_x28[8], x29, x30, zeros[2];
  };
  static_assert(sizeof(frame) == 160 + 16 && offsetof(frame, x19) == 64 &&
                offsetof(frame, x30) == 152);
  frame* const first = reinterpret_cast<frame*>(static_cast<char*>(top) - sizeof(frame));
  *first = frame{};
  first->x19 = reinterpret_cast<std::uintptr_t>(entry);
  first->x20 = reinterpret_cast<std::uintptr_t>(argument);
  first->x30 = reinterpret_cast<std::uintptr_t>(&thrum_goroutine_entry);
  return first;
}

}}}  // namespace thrum::THRUM_ABI::arch

#endif  // THRUM_ARCH_AARCH64_AAPCS64
#endif  // THRUM_DETAIL_ARCH_AARCH64_AAPCS64_HPP
