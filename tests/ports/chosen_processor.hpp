// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The processor that is compiled for, as one class, and the check that it offers what
// processor_contract.hpp asks.
#ifndef THRUM_TESTS_PORTS_CHOSEN_PROCESSOR_HPP
#define THRUM_TESTS_PORTS_CHOSEN_PROCESSOR_HPP

#include "processor_contract.hpp"

#include <thrum/detail/arch/arch.hpp>
#include <thrum/detail/base/config.hpp>

#include <cstddef>

namespace thrum { inline namespace THRUM_ABI { namespace arch {

/// Has what the floors above use of the processor as its members.
struct chosen_processor {
  static constexpr auto& name = arch::name;
  static constexpr std::size_t stack_alignment = arch::stack_alignment;
  static constexpr auto spin_hint = &arch::spin_hint;
  static constexpr auto switch_stack = &arch::switch_stack;
  static constexpr auto switch_stack_paired = &arch::switch_stack_paired;
  static constexpr auto prepare_stack = &arch::prepare_stack;
  static constexpr auto call_as_parked = &arch::call_as_parked;
  static constexpr auto parked_limit = &arch::parked_limit;
  static constexpr auto has_shadow_stack = &arch::has_shadow_stack;

  static constexpr std::size_t parked_frame_bytes = arch::parked_frame_bytes;
  static constexpr int return_register = arch::return_register;
  static constexpr int return_unknown = arch::return_unknown;
  using frame_registers = arch::frame_registers;
  static constexpr auto plain_address = &arch::plain_address;
  static constexpr auto parked_registers = &arch::parked_registers;
  template <class Machine>
  static frame_registers interrupted_registers(const Machine& machine) noexcept(
      noexcept(arch::interrupted_registers(machine))) {
    return arch::interrupted_registers(machine);
  }

#if THRUM_EXCEPTIONS
  static constexpr auto call_watched = &arch::call_watched;
#endif

  static constexpr auto ask_valgrind = &arch::ask_valgrind;
};

static_assert(switches_stacks<chosen_processor>,
              "the processor's file wants what switches_stacks asks");
static_assert(tells_registers<chosen_processor>,
              "the processor's file wants what tells_registers asks");
static_assert(!THRUM_EXCEPTIONS || watches_exceptions<chosen_processor>,
              "the processor's file wants what watches_exceptions asks");
static_assert(asks_valgrind<chosen_processor>,
              "the processor's file wants what asks_valgrind asks");

}}}  // namespace thrum::THRUM_ABI::arch

#endif
