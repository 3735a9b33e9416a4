// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Context switch for aarch64 with Windows' calling convention.
//
// The frame of a stack that does not run, from its stack pointer upwards; of the vector registers a
// called function preserves the lower halves of v8-v15:
//    0 d8-d15    64 x19-x28    144 x29 (frame pointer)    152 x30 (return address)
//  160 StackLimit    168 StackBase    176 DeallocationStack    184 GuaranteedStackBytes
//
// The last four words are the thread's: the system keeps in the thread's block (TEB), which x18 points
// to, where its stack lies, grows a stack by them, and looks for handlers of exceptions between them
// only; so they go with the stack. x18 is the thread's, too, and is never saved: a goroutine that is
// moved finds that of the thread it runs on.
//
// Exceptions and walks are by the system's tables (.seh_*), which describe a function by what each
// instruction of its prologue, and of its epilogue, has done. Both stacks hold the frame at the moment
// the stack pointer changes, so this is right before and after.
//
// Compiled and linked only: there is no such machine here, and no emulator that runs its Windows.
#ifndef THRUM_DETAIL_ARCH_AARCH64_WIN64_HPP
#define THRUM_DETAIL_ARCH_AARCH64_WIN64_HPP

#include <cstddef>  // IWYU pragma: keep
#include <cstdint>  // IWYU pragma: keep

#include <thrum/detail/arch/aarch64.hpp>          // IWYU pragma: export
#include <thrum/detail/arch/contract.hpp>         // IWYU pragma: keep
#include <thrum/detail/arch/exception_watch.hpp>  // IWYU pragma: keep: the assembly names its function
#include <thrum/detail/arch/win64.hpp>            // IWYU pragma: keep
#include <thrum/detail/base/config.hpp>

#if THRUM_ARCH_AARCH64_WIN64

#define THRUM_ARCH_LEAVE "br x30"
#define THRUM_ARCH_LEAVE_PAIRED "ret x30"

// clang-format off
#define THRUM_ARCH_SAVE_ALL                                         \
  "sub sp, sp, #192\n\t"           ".seh_stackalloc 192\n\t"        \
  "stp d8, d9, [sp]\n\t"           ".seh_save_fregp d8, 0\n\t"      \
  "stp d10, d11, [sp, #16]\n\t"    ".seh_save_fregp d10, 16\n\t"    \
  "stp d12, d13, [sp, #32]\n\t"    ".seh_save_fregp d12, 32\n\t"    \
  "stp d14, d15, [sp, #48]\n\t"    ".seh_save_fregp d14, 48\n\t"    \
  "stp x19, x20, [sp, #64]\n\t"    ".seh_save_regp x19, 64\n\t"     \
  "stp x21, x22, [sp, #80]\n\t"    ".seh_save_regp x21, 80\n\t"     \
  "stp x23, x24, [sp, #96]\n\t"    ".seh_save_regp x23, 96\n\t"     \
  "stp x25, x26, [sp, #112]\n\t"   ".seh_save_regp x25, 112\n\t"    \
  "stp x27, x28, [sp, #128]\n\t"   ".seh_save_regp x27, 128\n\t"    \
  "stp x29, x30, [sp, #144]\n\t"   ".seh_save_fplr 144\n\t"

#define THRUM_ARCH_LOAD_ALL                                         \
  "ldp x29, x30, [sp, #144]\n\t"   ".seh_save_fplr 144\n\t"         \
  "ldp x27, x28, [sp, #128]\n\t"   ".seh_save_regp x27, 128\n\t"    \
  "ldp x25, x26, [sp, #112]\n\t"   ".seh_save_regp x25, 112\n\t"    \
  "ldp x23, x24, [sp, #96]\n\t"    ".seh_save_regp x23, 96\n\t"     \
  "ldp x21, x22, [sp, #80]\n\t"    ".seh_save_regp x21, 80\n\t"     \
  "ldp x19, x20, [sp, #64]\n\t"    ".seh_save_regp x19, 64\n\t"     \
  "ldp d14, d15, [sp, #48]\n\t"    ".seh_save_fregp d14, 48\n\t"    \
  "ldp d12, d13, [sp, #32]\n\t"    ".seh_save_fregp d12, 32\n\t"    \
  "ldp d10, d11, [sp, #16]\n\t"    ".seh_save_fregp d10, 16\n\t"    \
  "ldp d8, d9, [sp]\n\t"           ".seh_save_fregp d8, 0\n\t"      \
  "add sp, sp, #192\n\t"           ".seh_stackalloc 192\n\t"

#define THRUM_ARCH_SAVE_BOUNDS                                      \
  "ldr x9, [x18, #0x10]\n\t"       "ldr x10, [x18, #0x08]\n\t"      \
  "stp x9, x10, [sp, #160]\n\t"                                     \
  "ldr x9, [x18, #0x1478]\n\t"     "ldr w10, [x18, #0x1748]\n\t"    \
  "stp x9, x10, [sp, #176]\n\t"

#define THRUM_ARCH_LOAD_BOUNDS                                      \
  "ldp x9, x10, [sp, #160]\n\t"                                     \
  "str x9, [x18, #0x10]\n\t"       "str x10, [x18, #0x08]\n\t"      \
  "ldp x9, x10, [sp, #176]\n\t"                                     \
  "str x9, [x18, #0x1478]\n\t"     "str w10, [x18, #0x1748]\n\t"

// x0 = save_sp, x1 = load_sp, x2 = pass
#define THRUM_ARCH_SWITCH_BODY                                      \
  THRUM_ARCH_SAVE_ALL ".seh_endprologue\n\t"                        \
  THRUM_ARCH_SAVE_BOUNDS                                            \
  "mov x9, sp\n\t"                                                  \
  "str x9, [x0]\n\t"                                                \
  "mov sp, x1\n\t"                                                  \
  THRUM_ARCH_LOAD_BOUNDS                                            \
  "mov x0, x2\n\t"                                                  \
  ".seh_startepilogue\n\t" THRUM_ARCH_LOAD_ALL ".seh_endepilogue\n\t"

#if THRUM_EXCEPTIONS
#define THRUM_ARCH_ENTRY_HANDLER ".seh_handler " THRUM_SYMBOL("thrum_end_by_exception") ", @except\n\t"
#else
#define THRUM_ARCH_ENTRY_HANDLER
#endif

// x0 = pass, x19 = entry, x20 = argument; x29 and x30 are 0, and their frame ends a walk
#define THRUM_ARCH_ENTRY_BODY                                       \
  THRUM_ARCH_ENTRY_HANDLER                                          \
  "stp x29, x30, [sp, #-16]!\n\t"  ".seh_save_fplr_x 16\n\t"        \
  ".seh_endprologue\n\t"                                            \
  "mov x1, x20\n\t"                                                 \
  "blr x19\n\t"                                                     \
  "brk #1\n\t"

// x0 = where to save the stack pointer, x1 = function, x2 = argument
#define THRUM_ARCH_CALL_BODY                                        \
  THRUM_ARCH_SAVE_ALL ".seh_endprologue\n\t"                        \
  THRUM_ARCH_SAVE_BOUNDS                                            \
  "mov x9, sp\n\t"                                                  \
  "str x9, [x0]\n\t"                                                \
  "mov x0, x2\n\t"                                                  \
  "blr x1\n\t"                                                      \
  ".seh_startepilogue\n\t" THRUM_ARCH_LOAD_ALL ".seh_endepilogue\n\t" \
  "ret\n\t"

// x0 = function, x1 = argument
#define THRUM_ARCH_WATCHED_BODY                                     \
  ".seh_handler " THRUM_SYMBOL("thrum_watch_exception") ", @except\n\t"                 \
  "stp x29, x30, [sp, #-16]!\n\t"  ".seh_save_fplr_x 16\n\t"        \
  ".seh_endprologue\n\t"                                            \
  "mov x9, x0\n\t"                                                  \
  "mov x0, x1\n\t"                                                  \
  "blr x9\n\t"                                                      \
  ".seh_startepilogue\n\t"                                          \
  "ldp x29, x30, [sp], #16\n\t"    ".seh_save_fplr_x 16\n\t"        \
  ".seh_endepilogue\n\t"                                            \
  "ret\n\t"
// clang-format on

#include <thrum/detail/arch/place_functions.hpp>

#undef THRUM_ARCH_SAVE_ALL
#undef THRUM_ARCH_LOAD_ALL
#undef THRUM_ARCH_SAVE_BOUNDS
#undef THRUM_ARCH_LOAD_BOUNDS
#undef THRUM_ARCH_ENTRY_HANDLER

namespace thrum { inline namespace THRUM_ABI { namespace arch {

/// What a switch leaves on the stack.
inline constexpr std::size_t parked_frame_bytes = 192;

/// What a parked stack's frame holds; see contract.hpp.
THRUM_NO_SANITIZE inline frame_registers parked_registers(const void* sp) noexcept {
  const auto* const saved = static_cast<const volatile std::uintptr_t*>(sp);
  frame_registers at;
  for (std::size_t i = 0; i != 12; ++i) {
    at.value[19 + i] = saved[8 + i];
  }
  at.pc = plain_address(at.value[30]);
  at.value[frame_registers::sp] = reinterpret_cast<std::uintptr_t>(saved + 24);
  return at;
}

/// Down to where a parked stack can be touched.
inline const void* parked_limit(const void* sp) noexcept {
  return static_cast<const void* const*>(sp)[20];
}

/// Where a thread was stopped, from the system's record of it (CONTEXT).
template <class Machine>
frame_registers interrupted_registers(const Machine& machine) noexcept {
  frame_registers at;
  for (std::size_t i = 0; i != 31; ++i) {
    at.value[i] = static_cast<std::uintptr_t>(machine.X[i]);
  }
  at.value[frame_registers::sp] = static_cast<std::uintptr_t>(machine.Sp);
  at.pc = static_cast<std::uintptr_t>(machine.Pc);
  return at;
}

/// Writes the first frame below `top`, which is aligned to 16; the first switch to the returned
/// stack pointer calls entry(pass, argument). See contract.hpp.
inline void* prepare_stack(void* top, stack_bounds bounds,
                           void (*entry)(void* pass, void* argument), void* argument) noexcept {
  struct frame {
    std::uintptr_t d8_to_d15[8], x19, x20, x21_to_x28[8], x29, x30, limit, base, low, guaranteed,
        zeros[2];
  };
  static_assert(sizeof(frame) == 192 + 16 && offsetof(frame, x19) == 64 &&
                offsetof(frame, x30) == 152 && offsetof(frame, limit) == 160);
  frame* const first = reinterpret_cast<frame*>(static_cast<char*>(top) - sizeof(frame));
  *first = frame{};
  first->x19 = reinterpret_cast<std::uintptr_t>(entry);
  first->x20 = reinterpret_cast<std::uintptr_t>(argument);
  first->x30 = reinterpret_cast<std::uintptr_t>(&thrum_goroutine_entry);
  first->limit = reinterpret_cast<std::uintptr_t>(bounds.limit);
  first->base = reinterpret_cast<std::uintptr_t>(top);
  first->low = reinterpret_cast<std::uintptr_t>(bounds.low);
  first->guaranteed = bytes_for_overflow(first->base - first->low);
  return first;
}

}}}  // namespace thrum::THRUM_ABI::arch

#endif  // THRUM_ARCH_AARCH64_WIN64
#endif  // THRUM_DETAIL_ARCH_AARCH64_WIN64_HPP
