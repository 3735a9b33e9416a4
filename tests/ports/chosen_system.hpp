// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The system that is compiled for, as one class, and the check that it offers all of system_contract.hpp.
//
// A layer that lacks something does not compile here. What it has not declared stands in an error
// with the capability beside the name:
//   error: 'futex_wake' is not a member of 'thrum::os'
// and what it has declared otherwise makes the assertion of its capability fail, where the compiler
// says which requirement is not met:
//   error: static assertion failed: the system's layer wants has_note: see tests/ports/system_contract.hpp
#ifndef THRUM_TESTS_PORTS_CHOSEN_SYSTEM_HPP
#define THRUM_TESTS_PORTS_CHOSEN_SYSTEM_HPP

#include "chosen_io.hpp"
#include "chosen_threads.hpp"
#include "system_contract.hpp"

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/os/all_memory.hpp>
#include <thrum/detail/os/cpu_timer.hpp>
#include <thrum/detail/os/os.hpp>

#include <atomic>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace os {

#define THRUM_OFFERS(capability, name) static constexpr auto name = &os::name;
#define THRUM_OFFERS_VALUE(capability, name) static constexpr auto name = os::name;
// NOLINTNEXTLINE(bugprone-macro-parentheses): the name of a type
#define THRUM_OFFERS_TYPE(capability, name) using name = os::name;

/// Has what the floors above use of the layer as its members.
struct chosen_system : chosen_io, chosen_threads {
  // clang-format off
  THRUM_OFFERS(processors, available_processors)

  THRUM_OFFERS_TYPE(caught_signals, caught_signals)

  THRUM_OFFERS_TYPE(quit_signal, quit_listener)

  THRUM_OFFERS(fault, install_fault_observer)
  THRUM_OFFERS_TYPE(fault, fault)
  THRUM_OFFERS_TYPE(fault, fault_kinds)
  static decltype(auto) fault_machine(const fault& what) noexcept { return os::fault_machine(what); }

  THRUM_OFFERS_TYPE(symbol, symbolizer)
  THRUM_OFFERS(symbol, describe_address)

  THRUM_OFFERS_TYPE(source_lines, bare_places)
  THRUM_OFFERS(source_lines, is_foreign_source)
  THRUM_OFFERS(source_lines, wants_source_lines)
  THRUM_OFFERS(source_lines, source_lines_patience_ns)

  THRUM_OFFERS_TYPE(backtrace, call_stack)
  THRUM_OFFERS(backtrace, collect_callers)
  THRUM_OFFERS(backtrace, machine_state)

  THRUM_OFFERS_TYPE(cpu_timer, cpu_timer)
  THRUM_OFFERS_TYPE(cpu_timer, cpu_timer_signal)
  static std::uint64_t number_of(const os::thread_ref& thread) noexcept {
    return os::number_of(thread);
  }

  THRUM_OFFERS_VALUE(all_memory, sees_all_memory)
  THRUM_OFFERS(all_memory, copy_own_memory)
  THRUM_OFFERS_TYPE(all_memory, used_memory)
  THRUM_OFFERS_TYPE(all_memory, all_threads_stopped)

  THRUM_OFFERS_TYPE(unwind_table, code_file)
  THRUM_OFFERS_TYPE(unwind_table, unwind_entry)
  THRUM_OFFERS_TYPE(unwind_table, byte_reader)
  THRUM_OFFERS(unwind_table, prepare_walks)
  THRUM_OFFERS(unwind_table, find_code_file)
  THRUM_OFFERS(unwind_table, find_unwind_entry)

  // clang-format on
  // process_wide
  template <class T>
  using process_wide = os::process_wide<T>;
  struct probe {
    static constexpr std::string_view process_name = "os::chosen_system::probe";
  };
  template <class Function>
  static auto first_in_process(std::atomic<Function*>& first,
                               Function* own) noexcept(noexcept(os::first_in_process(first, own))) {
    return os::first_in_process(first, own);
  }

  // symbol
  using text = base::message<64>;
  static void append_address(text& to,
                             const void* address) noexcept(noexcept(os::append_address(to,
                                                                                       address))) {
    os::append_address(to, address);
  }
  static void append_file(text& to, const void* address) noexcept { os::append_file(to, address); }
};

#undef THRUM_OFFERS
#undef THRUM_OFFERS_VALUE
#undef THRUM_OFFERS_TYPE

// NOLINTBEGIN(bugprone-macro-parentheses): the name of a concept
#define THRUM_REQUIRES(capability)         \
  static_assert(capability<chosen_system>, \
                "the system's layer wants " #capability ": see tests/ports/system_contract.hpp");
// NOLINTEND(bugprone-macro-parentheses)
// clang-format off
THRUM_REQUIRES(has_processors)
THRUM_REQUIRES(has_process_wide)
THRUM_REQUIRES(has_caught_signals)
THRUM_REQUIRES(has_quit_signal)
THRUM_REQUIRES(has_fault)
THRUM_REQUIRES(has_symbol)
THRUM_REQUIRES(has_source_lines)
THRUM_REQUIRES(has_backtrace)
THRUM_REQUIRES(has_cpu_timer)
THRUM_REQUIRES(has_all_memory)
THRUM_REQUIRES(has_unwind_table)
// clang-format on
#undef THRUM_REQUIRES

}}}  // namespace thrum::THRUM_ABI::os

#endif
