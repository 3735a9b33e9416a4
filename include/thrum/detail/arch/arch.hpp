// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Chooses the processor, and gives what its assembly defines the names that others call.
#ifndef THRUM_DETAIL_ARCH_ARCH_HPP
#define THRUM_DETAIL_ARCH_ARCH_HPP

#include <thrum/detail/arch/contract.hpp>  // IWYU pragma: export
#include <thrum/detail/arch/exception_watch.hpp>
#include <thrum/detail/base/config.hpp>

#if THRUM_ARCH_X86_64_SYSV
#include <thrum/detail/arch/x86_64_sysv.hpp>  // IWYU pragma: export
#elif THRUM_ARCH_X86_64_WIN64
#include <thrum/detail/arch/x86_64_win64.hpp>  // IWYU pragma: export
#elif THRUM_ARCH_AARCH64_AAPCS64
#include <thrum/detail/arch/aarch64_aapcs64.hpp>  // IWYU pragma: export
#elif THRUM_ARCH_AARCH64_WIN64
#include <thrum/detail/arch/aarch64_win64.hpp>  // IWYU pragma: export
#elif THRUM_ARCH_RISCV64
#include <thrum/detail/arch/riscv64.hpp>  // IWYU pragma: export
#elif THRUM_ARCH_I686
#include <thrum/detail/arch/i686.hpp>  // IWYU pragma: export
#elif THRUM_ARCH_ARMHF
#include <thrum/detail/arch/armhf.hpp>  // IWYU pragma: export
#elif THRUM_ARCH_PPC64LE
#include <thrum/detail/arch/ppc64le.hpp>  // IWYU pragma: export
#elif THRUM_ARCH_S390X
#include <thrum/detail/arch/s390x.hpp>  // IWYU pragma: export
#elif THRUM_ARCH_LOONGARCH64
#include <thrum/detail/arch/loongarch64.hpp>  // IWYU pragma: export
#endif

namespace thrum { inline namespace THRUM_ABI { namespace arch {

/// Leaves the current stack and goes on with another; returns, on this stack, what the switch back
/// to it passes. See contract.hpp.
THRUM_INLINE void* switch_stack(void** save_sp, void* load_sp, void* pass) noexcept {
  return thrum_switch_stack(save_sp, load_sp, pass);
}

/// As switch_stack, but faster when most switches are made by the same call: see contract.hpp.
THRUM_INLINE void* switch_stack_paired(void** save_sp, void* load_sp, void* pass) noexcept {
  return thrum_switch_stack_paired(save_sp, load_sp, pass);
}

#if !THRUM_HAS_SEH_UNWINDER
/// A frame does not say.
THRUM_INLINE const void* parked_limit(const void*) noexcept { return nullptr; }
#endif

#if !(THRUM_ARCH_X86_64_SYSV || THRUM_ARCH_X86_64_WIN64 || THRUM_ARCH_AARCH64_AAPCS64 || \
      THRUM_ARCH_AARCH64_WIN64)
/// No thread has a shadow stack: base/config.hpp refuses to compile for those of riscv64.
constexpr bool has_shadow_stack() noexcept { return false; }
/// There is no counter that is known here.
constexpr bool has_steady_counter() noexcept { return false; }
/// Not called.
constexpr std::uint64_t read_counter() noexcept { return 0; }
constexpr std::uint64_t read_counter_in_order() noexcept { return 0; }
#endif

/// Calls f(argument); meanwhile *save_sp is as if the stack were parked. See contract.hpp.
THRUM_INLINE void call_as_parked(void** save_sp, void (*f)(void*), void* argument) noexcept {
  thrum_call_as_parked(save_sp, f, argument);
}

#if THRUM_EXCEPTIONS
/// Calls f(argument); an exception that is about to leave it is shown to observe_exception.
THRUM_INLINE void call_watched(void (*f)(void*), void* argument) {
  // Through a pointer that the compiler does not see through: gcc takes a function that is all
  // assembly for one that cannot throw. Without call-frame information nothing may pass one.
  void (*call)(void (*)(void*), void*) = &thrum_call_watched;
  if constexpr (THRUM_HAS_CFI == 0) {
    f(argument);
    return;
  }
  // The second operand is no instruction. It names the function that the assembly names: in a module, or a
  // header unit, a compiler leaves out a function that no C++ names, also one that is [[gnu::used]].
  asm("" : "+r"(call) : "X"(&thrum_watch_exception));
  call(f, argument);
}
#endif

static_assert(stack_alignment <= 16);  // what every prepared stack has

}}}  // namespace thrum::THRUM_ABI::arch

#endif  // THRUM_DETAIL_ARCH_ARCH_HPP
