// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a processor must define, what a switch keeps, and what a fresh stack looks like.
//
// A processor's file defines
//   arch::name               text
//   arch::stack_alignment    of the stack pointer at a call
//   arch::spin_hint()        to be called in a loop that waits for another processor
//   arch::switch_stack(save_sp, load_sp, pass) -> void*
//   arch::prepare_stack(top, entry, argument) -> void*
//
// switch_stack pushes the registers that a called function must preserve, stores the stack pointer
// in *save_sp, loads load_sp, pops the other side's registers and jumps to where that side had
// called switch_stack; there the call returns `pass`. To its caller it is an ordinary function call
// that takes long. save_sp and load_sp may belong to the same goroutine only if nothing is
// switched, so there is no such call.
//   Kept       integer and vector registers that the calling convention wants preserved, the stack pointer, the
//              return address, with them all local variables
//   Not kept   caller-saved registers (the compiler saved what it needs), the floating-point control words
//              (rounding, traps: they belong to the thread; 2 ns a switch), the signal mask (a system call),
//              errno, thread-local storage, and the C++ ABI's exception record (os/exception_state.hpp)
//
// Both symbols are functions of their own, never inlined: with inline assembly and a clobber list a
// switch is 1 ns cheaper on a path of 50, but it depends on the flags of the including translation
// unit for which registers may be named, and one compiler silently kept values in registers that
// the list named. On the processors that predict returns by a stack of their own the switch ends in
// pop and jump: a `ret` that does not match its call is mispredicted every time (9.6 ns against
// 1.9).
//
// Where the compiler has the attribute, the two are `naked inline` functions, which any number of
// translation units may define. gcc has no naked functions on aarch64; there they are assembly at
// file scope, in a comdat section, weak and hidden, and guarded by .ifndef because gcc's link-time
// optimisation pastes such assembly of all translation units into one.
//
// A fresh stack, as prepare_stack leaves it; addresses grow upwards:
//
//   top ->            +----------------------------------+  aligned to 16
//                     | 0                                |  16 bytes of zeros: a reader of frames that does not
//                     | 0                                |  know where to stop finds no caller here
//                     +----------------------------------+  <- stack pointer in thrum_goroutine_entry, aligned to 16
//                     | address of thrum_goroutine_entry |  where the first switch jumps
//                     | frame pointer: 0                 |
//                     | preserved registers; two of them |
//                     | hold `entry` and `argument`      |
//   returned value -> +----------------------------------+
//
// thrum_goroutine_entry calls entry(pass, argument). entry does not return; the instruction after
// the call traps. Its unwind information says that it has no caller, its frame pointer and return
// address are zero: debuggers, profilers and the C++ unwinder end there, and an exception that
// leaves `entry` reaches std::terminate.
//
// Under AddressSanitizer call base::context_create before prepare_stack: used stacks are poisoned.
#ifndef THRUM_ARCH_CONTRACT_HPP
#define THRUM_ARCH_CONTRACT_HPP

#include <cstddef>

#include <thrum/base/config.hpp>

// Lines of call-frame information inside assembly. The compiler opens and closes the function's
// entry around a naked body only where it emits such information at all.
#if defined(__GCC_HAVE_DWARF2_CFI_ASM)
#define THRUM_CFI(line) line "\n\t"
#else
#define THRUM_CFI(line) ""
#endif

namespace thrum::inline THRUM_ABI::arch {

/// The first function on a fresh stack; never returns. `pass` comes from whoever made the first
/// switch to it.
using entry_function = void (*)(void* pass, void* argument);

}  // namespace thrum::inline THRUM_ABI::arch

#endif  // THRUM_ARCH_CONTRACT_HPP
