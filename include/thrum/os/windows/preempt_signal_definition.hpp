// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/windows/preempt_signal.hpp declares: the bodies that are not inlined; and the call that an
// interrupted thread makes.
//
// The call keeps all that the interrupted code may have in use: the flags, the integers, and what xsave
// keeps of x87, SSE, AVX and AVX-512. Below the old stack pointer nobody keeps anything here. From the
// place that it pushes first on it looks like a function that was called there: its tables let a walk
// go on to the interrupted function.
#ifndef THRUM_OS_WINDOWS_PREEMPT_SIGNAL_DEFINITION_HPP
#define THRUM_OS_WINDOWS_PREEMPT_SIGNAL_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/base/order.hpp>
#include <thrum/os/windows/api.hpp>
#include <thrum/os/windows/preempt_signal.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <cpuid.h>

// clang-format off
// rax = target
asm(".ifndef thrum_injected_call\n\t"
    ".section .text$thrum_injected_call, \"xr\"\n\t"
    ".linkonce discard\n\t"
    ".globl thrum_injected_call\n\t"
    ".def thrum_injected_call; .scl 2; .type 32; .endef\n\t"
    ".p2align 4\n"
    "thrum_injected_call:\n\t"
    ".seh_proc thrum_injected_call\n\t"
    "pushq (%rax)\n\t"
    "pushfq\n\t"          ".seh_stackalloc 8\n\t"
    "pushq 8(%rax)\n\t"   ".seh_stackalloc 8\n\t"
    "pushq %rcx\n\t"      ".seh_stackalloc 8\n\t"
    "pushq %rdx\n\t"      ".seh_stackalloc 8\n\t"
    "pushq %r8\n\t"       ".seh_stackalloc 8\n\t"
    "pushq %r9\n\t"       ".seh_stackalloc 8\n\t"
    "pushq %r10\n\t"      ".seh_stackalloc 8\n\t"
    "pushq %r11\n\t"      ".seh_stackalloc 8\n\t"
    "pushq %rbx\n\t"      ".seh_pushreg %rbx\n\t"
    "pushq %rsi\n\t"      ".seh_pushreg %rsi\n\t"
    "pushq %rdi\n\t"      ".seh_pushreg %rdi\n\t"
    "pushq %r12\n\t"      ".seh_pushreg %r12\n\t"
    "pushq %r13\n\t"      ".seh_pushreg %r13\n\t"
    "pushq %r14\n\t"      ".seh_pushreg %r14\n\t"
    "pushq %r15\n\t"      ".seh_pushreg %r15\n\t"
    "pushq %rbp\n\t"      ".seh_pushreg %rbp\n\t"
    "movq %rsp, %rbp\n\t" ".seh_setframe %rbp, 0\n\t"
    ".seh_endprologue\n\t"
    "cld\n\t"
    "movq %rax, %rcx\n\t"
    "movl 24(%rax), %r13d\n\t"
    "subq 16(%rax), %rsp\n\t"
    "andq $-64, %rsp\n\t"
    "movq %rsp, %r12\n\t"
    "xorl %edx, %edx\n\t"
    // the head of the area, which xsave wants to be zero
    "movq %rdx, 512(%rsp)\n\t" "movq %rdx, 520(%rsp)\n\t" "movq %rdx, 528(%rsp)\n\t"
    "movq %rdx, 536(%rsp)\n\t" "movq %rdx, 544(%rsp)\n\t" "movq %rdx, 552(%rsp)\n\t"
    "movq %rdx, 560(%rsp)\n\t" "movq %rdx, 568(%rsp)\n\t"
    "movl %r13d, %eax\n\t"
    "xsave64 (%rsp)\n\t"
    "emms\n\t"
    "movq %rbp, %rdx\n\t"
    "subq $32, %rsp\n\t"
    "callq thrum_run_interruption\n\t"
    "movl %r13d, %eax\n\t"
    "xorl %edx, %edx\n\t"
    "xrstor64 (%r12)\n\t"
    "movq %rbp, %rsp\n\t"
    "popq %rbp\n\t" "popq %r15\n\t" "popq %r14\n\t" "popq %r13\n\t" "popq %r12\n\t"
    "popq %rdi\n\t" "popq %rsi\n\t" "popq %rbx\n\t" "popq %r11\n\t" "popq %r10\n\t"
    "popq %r9\n\t"  "popq %r8\n\t"  "popq %rdx\n\t" "popq %rcx\n\t" "popq %rax\n\t"
    "popfq\n\t"
    "ret\n\t"
    ".seh_endproc\n\t"
    ".text\n\t"
    ".endif");
// clang-format on

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

extern "C" {

void thrum_injected_call();

/// The part of it that needs no assembly.
[[gnu::used]] THRUM_NOINLINE inline void thrum_run_interruption(preempt_target* target,
                                                                const void* pushed) noexcept {
  const ::DWORD last_error = ::GetLastError();
  const int error_number = errno;
  target->context = pushed;
  target->interrupt(target->argument);
  target->context = nullptr;
  errno = error_number;
  ::SetLastError(last_error);
  target->is_under_way.store(false, release);  // [pt.call >] the words of the target are free again
}

}  // extern "C"

/// What the injected call keeps beyond the integers: 0 bytes where there is no xsave, and then nobody is
/// interrupted.
struct vector_state {
  std::uintptr_t bytes = 0;
  std::uint32_t mask = 0;
};
inline constinit vector_state kept_vectors;

/// Where a library lies in memory.
struct code_range {
  std::uintptr_t low = 0;
  std::uintptr_t high = 0;

  bool holds(std::uintptr_t address) const noexcept { return address >= low && address < high; }

  static code_range of(const wchar_t* library) noexcept {
    const auto* const begin = reinterpret_cast<const char*>(::GetModuleHandleW(library));
    if (begin == nullptr) {
      return {};
    }
    const auto* const old = reinterpret_cast<const ::IMAGE_DOS_HEADER*>(begin);
    const auto* const head = reinterpret_cast<const ::IMAGE_NT_HEADERS*>(begin + old->e_lfanew);
    const auto low = reinterpret_cast<std::uintptr_t>(begin);
    return {low, low + head->OptionalHeader.SizeOfImage};
  }
};

/// Those with locks that the system has no way to take from a thread that stands still.
inline constinit code_range system_code[2];
/// Those from which it is called.
inline constinit code_range calling_code[2];

[[gnu::target("xsave")]] inline std::uint64_t enabled_states() noexcept {
  return __builtin_ia32_xgetbv(0);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void install_preempt_handler() noexcept {
  system_code[0] = code_range::of(L"ntdll.dll");
  system_code[1] = code_range::of(L"kernelbase.dll");
  calling_code[0] = system_code[0];
  calling_code[1] = code_range::of(L"win32u.dll");
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  constexpr unsigned system_has_xsave = 1U << 27;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & system_has_xsave) == 0) {
    return;
  }
  constexpr std::uint32_t x87_to_avx512 = 0xE7;
  constexpr unsigned leaf = 13;
  constexpr unsigned head_bytes = 576;
  const auto mask = static_cast<std::uint32_t>(enabled_states()) & x87_to_avx512;
  std::uintptr_t end = head_bytes;
  for (unsigned part = 2; part != 8; ++part) {
    if ((mask >> part & 1U) != 0 && __get_cpuid_count(leaf, part, &a, &b, &c, &d) != 0) {
      end = a + b > end ? a + b : end;  // its size, and where it begins
    }
  }
  kept_vectors = {end, mask};
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_WINDOWS
#endif
