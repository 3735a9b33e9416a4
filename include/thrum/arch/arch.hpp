// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Chooses the processor.
#ifndef THRUM_ARCH_ARCH_HPP
#define THRUM_ARCH_ARCH_HPP

#include <concepts>
#include <cstddef>

#include <thrum/arch/contract.hpp>
#include <thrum/base/config.hpp>

#if THRUM_ARCH_X86_64
#include <thrum/arch/x86_64_sysv.hpp>
#elif THRUM_ARCH_AARCH64
#include <thrum/arch/aarch64.hpp>
#endif

namespace thrum::inline THRUM_ABI::arch {

static_assert(std::same_as<decltype(switch_stack(nullptr, nullptr, nullptr)), void*>);
static_assert(std::same_as<decltype(switch_stack_paired(nullptr, nullptr, nullptr)), void*>);
static_assert(std::same_as<decltype(prepare_stack(nullptr, entry_function{}, nullptr)), void*>);
static_assert(stack_alignment == 16);

}  // namespace thrum::inline THRUM_ABI::arch

#endif  // THRUM_ARCH_ARCH_HPP
