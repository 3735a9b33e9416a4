// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a processor must define, what a switch keeps, and what a fresh stack looks like.
//
// A processor's file defines these; of the functions that are assembly it writes the bodies, which
// place_functions.hpp and arch.hpp make into functions with these names:
//   arch::name               text
//   arch::stack_alignment    of the stack pointer at a call
//   arch::spin_hint()        to be called in a loop that waits for another processor
//   arch::switch_stack(save_sp, load_sp, pass) -> void*
//   arch::switch_stack_paired(save_sp, load_sp, pass) -> void*
//   arch::prepare_stack(top, bounds, entry, argument) -> void*
//   arch::frame_registers, parked_registers(sp), interrupted_registers(machine context),
//   plain_address(address), parked_frame_bytes: where a parked or interrupted stack stands, for
//   the walk along its callers.
//   arch::parked_limit(sp)   stack_bounds::limit of a parked stack, which may have grown; where the
//   system is not asked for it (arch.hpp) null.
//   arch::return_register: the register, by DWARF's numbers, in which a call leaves its return address;
//   return_on_stack: it leaves the address at the stack pointer.
//   arch::has_shadow_stack(): whether the thread has one, which a switch does not exchange; arch.hpp
//   says no where a processor's file does not say.
//   arch::has_steady_counter(), read_counter(), read_counter_in_order(): whether there is a counter of time, for
//   traces; arch.hpp says no where a processor's file does not say.
//   arch::call_watched(f, argument): calls f(argument); see exception_watch.hpp.
//   arch::ask_valgrind(request): the instructions by which a program speaks to valgrind.
//   arch::call_as_parked(save_sp, f, argument): calls f(argument) with a frame like a parked one
//   below it, at *save_sp: for a stack that sleeps inside f without having been switched from.
// tests/ports/processor_contract.hpp has concepts for what the compiler can see of it.
//
// switch_stack pushes the registers that a called function must preserve, stores the stack pointer
// in *save_sp, loads load_sp, pops the other side's registers and jumps to where that side had
// called switch_stack; there the call returns `pass`. To its caller it is an ordinary function call
// that takes long.
//   Kept       integer and vector registers that the calling convention wants preserved, the stack
//              pointer, the return address, and with them all local variables
//   Not kept   caller-saved registers (the compiler saved what it needs), the floating-point
//              control words (rounding, traps: they belong to the thread; keeping them costs 2 ns),
//              the signal mask (a system call), errno, thread-local storage, and the C++ ABI's
//              exception record (os/thread_state.hpp)
//
// All symbols are functions of their own, never inlined: with inline assembly and a clobber list a
// switch is 1 ns cheaper on a path of 50, but it depends on the flags of the including translation
// unit for which registers may be named, and one compiler silently kept values in registers that
// the list named.
//
// Two ways to end a switch. Processors predict a `ret` by a stack of the calls that they saw.
//   switch_stack         ends in pop and jump, which is predicted like any indirect jump. In a loop
//                        over two call sites it costs 1.9 ns where a `ret` costs 9.6. But the
//                        predictor's stack keeps the call that was left, and every return of the
//                        callers above is then mispredicted.
//   switch_stack_paired  ends in `ret`. When the side that is arrived at once left by the same
//                        call, the prediction is right, and the predictor's stack fits the callers
//                        above as well. In the scheduler, where most goroutines that hand the
//                        processor to each other wait in the same function, that is the common case: measured, a yield
//                        fell from 15.5 to 10.3 ns and an item through an unbuffered channel from
//                        43 to 32 ns. For the first switch to a fresh stack, and the last one from
//                        a dying one, it is the worse choice (spawn and join: 70 ns against 56).
//
// place_functions.hpp makes functions of the assembly: on x86-64, and with clang on aarch64, `naked
// inline` ones, which any number of translation units may define; elsewhere it is assembly at file
// scope.
//
// A fresh stack, as prepare_stack leaves it; addresses grow upwards:
//
//   top ->            +----------------------------------+  aligned to 16
//                     | 0                                |  a reader of frames that does not know
//                     | 0                                |  where to stop finds no caller here
//   in the entry ->   +----------------------------------+  aligned to 16
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
#ifndef THRUM_DETAIL_ARCH_CONTRACT_HPP
#define THRUM_DETAIL_ARCH_CONTRACT_HPP

#include <cstddef>
#include <cstdint>

#include <thrum/detail/base/config.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace arch {

/// The first function on a fresh stack; never returns. `pass` comes from the first switch to it.
using entry_function = void (*)(void* pass, void* argument);

/// Where a stack ends below its top. Only a system that keeps this for the thread which runs on the
/// stack has a processor's file that asks.
struct stack_bounds {
  const void* low;    ///< the lowest address that the stack may ever have
  const void* limit;  ///< the lowest one that may be touched now; above `low` where it grows
};

/// The registers that say where a stack stands, by DWARF's numbers, and the place in the code.
/// In place of the number of the register that a call leaves its return address in.
inline constexpr int return_on_stack = -1;
inline constexpr int return_unknown = -2;

/// A frame's address, as DWARF has it, lies BelowFrame bytes above the stack pointer that its caller
/// had at the call, or has again after it.
template <std::size_t Count, std::size_t StackPointer, std::size_t BelowFrame = 0>
struct registers_of_frame {
  static constexpr std::size_t count = Count;
  static constexpr std::size_t sp = StackPointer;
  static constexpr std::size_t below_frame = BelowFrame;
  std::uintptr_t value[count] = {};
  std::uintptr_t pc = 0;
};

}}}  // namespace thrum::THRUM_ABI::arch

#endif  // THRUM_DETAIL_ARCH_CONTRACT_HPP
