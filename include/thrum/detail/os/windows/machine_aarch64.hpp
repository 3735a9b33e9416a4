// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The words of a thread and the registers of interrupted code, on aarch64.
#ifndef THRUM_DETAIL_OS_WINDOWS_MACHINE_AARCH64_HPP
#define THRUM_DETAIL_OS_WINDOWS_MACHINE_AARCH64_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_ARCH_AARCH64_WIN64

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The registers of interrupted code, by the names that they have in the system's own record.
struct interrupted_machine {
  std::uint64_t X[31], Sp, Pc;
};

/// What the system has of the calling thread (TEB).
inline const char* own_thread_block() noexcept {
  const char* block;
  asm volatile("mov %0, x18" : "=r"(block));
  return block;
}

/// A word of the calling thread's block, in one instruction: the thread may be another one after it.
inline void* load_thread_word(std::uint32_t at) noexcept {
  void* value;
  asm volatile("ldr %0, [x18, %1]" : "=r"(value) : "r"(std::uintptr_t{at}));
  return value;
}

inline void store_thread_word(std::uint32_t at, void* value) noexcept {
  asm volatile("str %0, [x18, %1]" : : "r"(value), "r"(std::uintptr_t{at}) : "memory");
}

/// What the injected call has kept (preempt_signal.hpp): `context` is preempt_target::context.
interrupted_machine machine_state(const void* context) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
// What stops a thread, looks at it and sends it elsewhere; and the call that an interrupted thread makes.
//
// No register is free to jump back with, so the call keeps everything in a record of the system's
// (CONTEXT) on its own stack, and goes back by RtlRestoreContext. The record lies where the stack
// pointer is while the call runs, and the function's table says so (.seh_context): a walk goes on to
// the interrupted function. 16 bytes below the old stack pointer are left alone, as the calling
// convention wants it. The record has no room for what SVE adds to the vector registers: if the
// processor has that, no thread is interrupted.
//
// Compiled and linked only, as arch/aarch64_win64.hpp.

#include <thrum/detail/os/windows/api.hpp>
#include <thrum/detail/os/windows/preempt_target.hpp>

#include <cstddef>

// clang-format off
// x0 = target
#define THRUM_INJECTED_CALL THRUM_SYMBOL("thrum_injected_call")
asm(".ifndef " THRUM_INJECTED_CALL "\n\t"
    ".section .text$" THRUM_INJECTED_CALL ", \"xr\"\n\t"
    ".linkonce discard\n\t"
    ".globl " THRUM_INJECTED_CALL "\n\t"
    ".def " THRUM_INJECTED_CALL "; .scl 2; .type 32; .endef\n\t"
    ".p2align 4\n"
    THRUM_INJECTED_CALL ":\n\t"
    ".seh_proc " THRUM_INJECTED_CALL "\n\t"
    "sub sp, sp, #0x3a0\n\t" ".seh_context\n\t"
    ".seh_endprologue\n\t"
    "stp x1, x2, [sp, #0x10]\n\t"   "stp x3, x4, [sp, #0x20]\n\t"
    "stp x5, x6, [sp, #0x30]\n\t"   "stp x7, x8, [sp, #0x40]\n\t"
    "stp x9, x10, [sp, #0x50]\n\t"  "stp x11, x12, [sp, #0x60]\n\t"
    "stp x13, x14, [sp, #0x70]\n\t" "stp x15, x16, [sp, #0x80]\n\t"
    "stp x17, x18, [sp, #0x90]\n\t" "stp x19, x20, [sp, #0xa0]\n\t"
    "stp x21, x22, [sp, #0xb0]\n\t" "stp x23, x24, [sp, #0xc0]\n\t"
    "stp x25, x26, [sp, #0xd0]\n\t" "stp x27, x28, [sp, #0xe0]\n\t"
    "stp x29, x30, [sp, #0xf0]\n\t"
    "mrs x1, nzcv\n\t"
    "movz w2, #0x0007\n\t" "movk w2, #0x0040, lsl #16\n\t"  // CONTEXT_FULL
    "stp w2, w1, [sp]\n\t"
    "ldp x1, x2, [x0]\n\t"
    "str x2, [sp, #0x08]\n\t"
    "add x2, sp, #0x3a0\n\t"
    "stp x2, x1, [sp, #0x100]\n\t"
    "add x1, sp, #0x110\n\t"
    "stp q0, q1, [x1]\n\t"         "stp q2, q3, [x1, #32]\n\t"
    "stp q4, q5, [x1, #64]\n\t"    "stp q6, q7, [x1, #96]\n\t"
    "stp q8, q9, [x1, #128]\n\t"   "stp q10, q11, [x1, #160]\n\t"
    "stp q12, q13, [x1, #192]\n\t" "stp q14, q15, [x1, #224]\n\t"
    "stp q16, q17, [x1, #256]\n\t" "stp q18, q19, [x1, #288]\n\t"
    "stp q20, q21, [x1, #320]\n\t" "stp q22, q23, [x1, #352]\n\t"
    "stp q24, q25, [x1, #384]\n\t" "stp q26, q27, [x1, #416]\n\t"
    "stp q28, q29, [x1, #448]\n\t" "stp q30, q31, [x1, #480]\n\t"
    "mrs x1, fpcr\n\t" "mrs x2, fpsr\n\t"
    "str w1, [sp, #0x310]\n\t" "str w2, [sp, #0x314]\n\t"
    "mov x1, sp\n\t"
    "bl " THRUM_SYMBOL("thrum_run_interruption") "\n\t"
    "mov x0, sp\n\t"
    "bl " THRUM_SYMBOL("thrum_go_back") "\n\t"
    "brk #1\n\t"
    ".seh_endproc\n\t"
    ".text\n\t"
    ".endif");
#undef THRUM_INJECTED_CALL
// clang-format on

namespace thrum { inline namespace THRUM_ABI { namespace os {

void thrum_injected_call() asm(THRUM_SYMBOL("thrum_injected_call"));

/// The end of it: the thread goes on where it was interrupted. On whatever thread the code is by now: x18,
/// which the record has of the old one, is set to the new one's.
void thrum_go_back(::CONTEXT*) noexcept asm(THRUM_SYMBOL("thrum_go_back"));
[[gnu::used]] THRUM_NOINLINE inline void thrum_go_back(::CONTEXT* machine) noexcept {
  machine->X18 = reinterpret_cast<std::uintptr_t>(own_thread_block());
  ::RtlRestoreContext(machine, nullptr);
}

static_assert(offsetof(::CONTEXT, X0) == 0x08 && offsetof(::CONTEXT, Fp) == 0xf0);
static_assert(offsetof(::CONTEXT, Sp) == 0x100 && offsetof(::CONTEXT, Pc) == 0x108);
static_assert(offsetof(::CONTEXT, V) == 0x110 && offsetof(::CONTEXT, Fpcr) == 0x310);
static_assert(sizeof(::CONTEXT) == 0x390 && CONTEXT_FULL == 0x40'0007);

/// Where a stopped thread is, and its stack pointer, by the system's record of it.
inline std::uintptr_t place_of(const ::CONTEXT& machine) noexcept { return machine.Pc; }
inline std::uintptr_t stack_pointer_of(const ::CONTEXT& machine) noexcept { return machine.Sp; }

/// Goes from a function that has nothing on the stack to its caller.
inline void return_from_leaf(::CONTEXT& machine) noexcept { machine.Pc = machine.Lr; }

/// Whether a step of a walk has come nearer to the end. A function that calls none may have nothing on the
/// stack, but only the innermost, or one that was interrupted, is such a function.
inline bool has_left_frame(const ::CONTEXT& machine, std::uintptr_t sp_before) noexcept {
  return machine.Sp >= sp_before;
}

/// How long the instruction is by which the system is called.
inline constexpr std::size_t system_call_bytes = 4;

/// Whether such an instruction, `svc` with any number, ends at `place`.
inline bool is_behind_system_call(std::uintptr_t place) noexcept {
  constexpr std::uint32_t without_number = 0xffe0'001f;
  constexpr std::uint32_t svc = 0xd400'0001;
  return (reinterpret_cast<const std::uint32_t*>(place)[-1] & without_number) == svc;
}

/// Whether the registers of vectors are no longer than the record has room for.
inline constinit bool record_holds_all = false;

/// Bytes of the stack for what is kept; 0 where no thread can be interrupted.
inline std::uintptr_t kept_bytes() noexcept {
  return record_holds_all ? sizeof(::CONTEXT) + 16 : 0;
}

/// The thread makes the injected call when it goes on.
inline void send_to_injected_call(::CONTEXT& machine, preempt_target& target) noexcept {
  target.place = machine.Pc;
  target.first_register = machine.X0;
  machine.Pc = reinterpret_cast<std::uintptr_t>(&thrum_injected_call);
  machine.X0 = reinterpret_cast<std::uintptr_t>(&target);
}

/// Called by one thread at a time, before any thread is interrupted.
inline void find_what_a_call_keeps() noexcept {
  constexpr ::DWORD has_sve = 46;
  record_holds_all = ::IsProcessorFeaturePresent(has_sve) == 0;
}

THRUM_NOINLINE THRUM_NO_SANITIZE THRUM_OUT_OF_LINE interrupted_machine
machine_state(const void* context) noexcept {
  const auto& kept = *static_cast<const ::CONTEXT*>(context);
  interrupted_machine at{};
  for (std::size_t i = 0; i != 31; ++i) {
    at.X[i] = kept.X[i];
  }
  at.Sp = kept.Sp;
  at.Pc = kept.Pc;
  return at;
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_ARCH_AARCH64_WIN64
#endif  // THRUM_DETAIL_OS_WINDOWS_MACHINE_AARCH64_HPP
