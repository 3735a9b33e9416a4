// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the compiler can see of what arch/contract.hpp asks of a processor: concepts about a class with the processor's
// functions as its members. chosen_processor.hpp makes one of the processor that is compiled for.
#ifndef THRUM_TESTS_PORTS_PROCESSOR_CONTRACT_HPP
#define THRUM_TESTS_PORTS_PROCESSOR_CONTRACT_HPP

#include <thrum/detail/arch/contract.hpp>
#include <thrum/detail/base/config.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace arch {

// clang-format 14 takes what follows `noexcept` for a statement of its own.
// clang-format off

/// Both ways to switch, a fresh stack's first frame, and the loop's hint to the processor.
template <class Processor>
concept switches_stacks = requires(void** save_sp, void* load_sp, void* pass, stack_bounds bounds,
                                   entry_function entry, void (*f)(void*)) {
  { Processor::name[0] } -> std::convertible_to<char>;
  requires std::same_as<decltype(Processor::stack_alignment), const std::size_t>;
  { Processor::spin_hint() } noexcept -> std::same_as<void>;
  { Processor::switch_stack(save_sp, load_sp, pass) } noexcept -> std::same_as<void*>;
  { Processor::switch_stack_paired(save_sp, load_sp, pass) } noexcept -> std::same_as<void*>;
  { Processor::prepare_stack(load_sp, bounds, entry, pass) } noexcept -> std::same_as<void*>;
  { Processor::call_as_parked(save_sp, f, pass) } noexcept -> std::same_as<void>;
  { Processor::parked_limit(load_sp) } noexcept -> std::same_as<const void*>;
  { Processor::has_shadow_stack() } noexcept -> std::same_as<bool>;
};

/// Where a stack that is parked, or was interrupted by a signal, stands: registers by DWARF's
/// numbers, `count` of them, of which number `sp` is the stack pointer; and `pc`, the place in the
/// code.
template <class Processor>
concept tells_registers = requires(typename Processor::frame_registers& at, std::uintptr_t address,
                                   const void* sp, const int& machine_of_any_system) {
  requires std::same_as<decltype(Processor::parked_frame_bytes), const std::size_t>;
  requires std::same_as<decltype(Processor::return_register), const int>;
  requires std::same_as<decltype(Processor::return_unknown), const int>;
  requires Processor::frame_registers::sp < Processor::frame_registers::count;
  { at.value[Processor::frame_registers::sp] } -> std::same_as<std::uintptr_t&>;
  { at.pc } -> std::same_as<std::uintptr_t&>;
  { Processor::plain_address(address) } noexcept -> std::same_as<std::uintptr_t>;
  { Processor::parked_registers(sp) } noexcept -> std::same_as<typename Processor::frame_registers>;
  { Processor::interrupted_registers(machine_of_any_system) } noexcept
      -> std::same_as<typename Processor::frame_registers>;
};

/// Calls f(argument); an exception that is about to leave it is shown to observe_exception. Asked
/// only where there are exceptions.
template <class Processor>
concept watches_exceptions = requires(void (*f)(void*), void* argument) {
  { Processor::call_watched(f, argument) } -> std::same_as<void>;
};

/// A request to valgrind, if the program runs in it; else 0.
template <class Processor>
concept asks_valgrind = requires(const std::uintptr_t (&request)[6]) {
  { Processor::ask_valgrind(request) } noexcept -> std::same_as<std::uintptr_t>;
};

// clang-format on

}}}  // namespace thrum::THRUM_ABI::arch

#endif
