// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The words of a thread and the registers of interrupted code, on x86-64.
#ifndef THRUM_OS_WINDOWS_MACHINE_X86_64_HPP
#define THRUM_OS_WINDOWS_MACHINE_X86_64_HPP

#include <thrum/base/config.hpp>

#if THRUM_ARCH_X86_64_WIN64

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The registers of interrupted code, by the names that they have in the system's own record.
struct interrupted_machine {
  std::uint64_t Rax, Rcx, Rdx, Rbx, Rsp, Rbp, Rsi, Rdi;
  std::uint64_t R8, R9, R10, R11, R12, R13, R14, R15, Rip;
};

/// What the system has of the calling thread (TEB).
inline const char* own_thread_block() noexcept {
  const char* block;
  asm volatile("movq %%gs:0x30, %0" : "=r"(block));  // a pointer to itself
  return block;
}

/// A word of the calling thread's block, in one instruction: the thread may be another one after it.
inline void* load_thread_word(std::uint32_t at) noexcept {
  void* value;
  asm volatile("movq %%gs:(%1), %0" : "=r"(value) : "r"(std::uintptr_t{at}));
  return value;
}

inline void store_thread_word(std::uint32_t at, void* value) noexcept {
  asm volatile("movq %0, %%gs:(%1)" : : "r"(value), "r"(std::uintptr_t{at}) : "memory");
}

/// What the injected call has kept (preempt_signal.hpp): `context` is preempt_target::context.
interrupted_machine machine_state(const void* context) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/windows/machine_x86_64_definition.hpp>
#endif

#endif  // THRUM_ARCH_X86_64_WIN64
#endif  // THRUM_OS_WINDOWS_MACHINE_X86_64_HPP
