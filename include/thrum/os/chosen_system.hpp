// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The system that is compiled for, as one class, and the check that it offers all of contract.hpp.
// For tests and for authors of a layer: a program does not include it.
//
// A layer that lacks something does not compile here. What it has not declared stands in an error
// with the capability beside the name:
//   error: 'futex_wake' is not a member of 'thrum::os'
//     THRUM_OFFERS(note, futex_wake)
// and what it has declared otherwise makes the assertion of its capability fail, where the compiler
// says which requirement is not met:
//   error: static assertion failed: the system's layer wants has_note: see os/contract.hpp
#ifndef THRUM_OS_CHOSEN_SYSTEM_HPP
#define THRUM_OS_CHOSEN_SYSTEM_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/message.hpp>
#include <thrum/os/contract.hpp>
#include <thrum/os/os.hpp>

#include <atomic>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace os {

#define THRUM_OFFERS(capability, name) static constexpr auto name = &os::name;
#define THRUM_OFFERS_VALUE(capability, name) static constexpr auto name = os::name;
// NOLINTNEXTLINE(bugprone-macro-parentheses): the name of a type
#define THRUM_OFFERS_TYPE(capability, name) using name = os::name;

/// Has what the floors above use of the layer as its members.
struct chosen_system {
  // clang-format off
  THRUM_OFFERS(clock, now)
  THRUM_OFFERS(clock, to_timespec)

  THRUM_OFFERS_TYPE(note, note)
  THRUM_OFFERS(note, futex_wait)
  THRUM_OFFERS(note, futex_wake)

  THRUM_OFFERS_TYPE(memory, guard_kind)
  THRUM_OFFERS(memory, page_size)
  THRUM_OFFERS(memory, map)
  THRUM_OFFERS(memory, unmap)
  THRUM_OFFERS(memory, map_stacks)
  THRUM_OFFERS(memory, install_guard)
  THRUM_OFFERS(memory, return_guard_budget)
  THRUM_OFFERS(memory, discard)
  THRUM_OFFERS(memory, discard_now)

  THRUM_OFFERS_TYPE(thread, thread)
  THRUM_OFFERS_TYPE(thread, thread_key)
  THRUM_OFFERS_TYPE(thread, bystander_scope)
  THRUM_OFFERS(thread, start_detached_thread)
  THRUM_OFFERS(thread, set_thread_name)
  THRUM_OFFERS(thread, thread_id)
  THRUM_OFFERS(thread, count_threads)
  THRUM_OFFERS(thread, bystanders)
  THRUM_OFFERS(thread, yield_thread)
  THRUM_OFFERS(thread, sleep_ns)
  THRUM_OFFERS(thread, current_cpu)
  THRUM_OFFERS(thread, ask_for_short_waits)
  THRUM_OFFERS(thread, real_time_priority)
  THRUM_OFFERS(thread, set_real_time_priority)

  THRUM_OFFERS(fence, prepare_heavy_fence)
  THRUM_OFFERS(fence, light_fence)
  THRUM_OFFERS(fence, heavy_fence)

  THRUM_OFFERS(processors, available_processors)

  THRUM_OFFERS_TYPE(exit, exit_hook)
  THRUM_OFFERS(exit, exit_now)
  THRUM_OFFERS(exit, register_exit_hook)
  THRUM_OFFERS(exit, let_exit_pass_standard_input)
  THRUM_OFFERS(exit, this_threads_exit_watch)

  THRUM_OFFERS(fork_hooks, call_after_fork)

  THRUM_OFFERS_TYPE(thread_records, exception_state)
  THRUM_OFFERS(thread_records, thread_error_number)
  THRUM_OFFERS(thread_records, thread_exception_state)
  THRUM_OFFERS(thread_records, switch_exception_state)

  THRUM_OFFERS_TYPE(thread_clock, thread_clock)
  THRUM_OFFERS(thread_clock, thread_sleeps)
  THRUM_OFFERS(thread_clock, thread_naps)

  THRUM_OFFERS_TYPE(preemption, preempt_target)
  THRUM_OFFERS_TYPE(preemption, signal_stack)
  THRUM_OFFERS_VALUE(preemption, has_preempt_signal)
  THRUM_OFFERS_VALUE(preemption, preempt_signal)
  THRUM_OFFERS(preemption, install_preempt_handler)
  THRUM_OFFERS(preemption, send_preempt_signal)
  THRUM_OFFERS(preemption, unblock_preempt_signal)

  THRUM_OFFERS_TYPE(descriptor, io_result)
  THRUM_OFFERS_VALUE(descriptor, no_descriptor)
  THRUM_OFFERS(descriptor, read)
  THRUM_OFFERS(descriptor, write)
  THRUM_OFFERS(descriptor, close)
  THRUM_OFFERS(descriptor, set_nonblocking)
  THRUM_OFFERS(descriptor, wait_for)

  THRUM_OFFERS(socket, open_socket)
  THRUM_OFFERS(socket, connect)
  THRUM_OFFERS(socket, bind)
  THRUM_OFFERS(socket, listen)
  THRUM_OFFERS(socket, accept)
  THRUM_OFFERS(socket, receive)
  THRUM_OFFERS(socket, peek)
  THRUM_OFFERS(socket, send)
  THRUM_OFFERS(socket, send_message)
  THRUM_OFFERS(socket, receive_from)
  THRUM_OFFERS(socket, send_to)
  THRUM_OFFERS(socket, send_messages)
  THRUM_OFFERS(socket, receive_messages)
  THRUM_OFFERS(socket, send_file)
  THRUM_OFFERS(socket, shut_down)
  THRUM_OFFERS(socket, set_option)
  THRUM_OFFERS(socket, get_option)
  THRUM_OFFERS(socket, set_linger)
  THRUM_OFFERS(socket, socket_name)

  THRUM_OFFERS_TYPE(file, file_kind)
  THRUM_OFFERS(file, open_file)
  THRUM_OFFERS(file, read_at)
  THRUM_OFFERS(file, write_at)
  THRUM_OFFERS(file, seek)
  THRUM_OFFERS(file, sync)
  THRUM_OFFERS(file, truncate)
  THRUM_OFFERS(file, file_size)
  THRUM_OFFERS(file, kind_of)
  THRUM_OFFERS(file, duplicate)

  THRUM_OFFERS_VALUE(pipe, cannot_tell)
  THRUM_OFFERS(pipe, open_pipe)
  THRUM_OFFERS(pipe, write_without_signal)
  THRUM_OFFERS(pipe, read_at_once)
  THRUM_OFFERS(pipe, write_at_once)

  THRUM_OFFERS_TYPE(process, spawn_request)
  THRUM_OFFERS_TYPE(process, process_end)
  THRUM_OFFERS(process, own_process)
  THRUM_OFFERS(process, spawn)
  THRUM_OFFERS(process, open_process)
  THRUM_OFFERS(process, wait_process)
  THRUM_OFFERS(process, signal_process)

  THRUM_OFFERS_TYPE(child_watch, child_watch)

  THRUM_OFFERS_TYPE(caught_signals, caught_signals)

  THRUM_OFFERS_TYPE(quit_signal, quit_listener)

  THRUM_OFFERS(fault, install_fault_observer)

  THRUM_OFFERS_TYPE(symbol, symbolizer)
  THRUM_OFFERS(symbol, describe_address)

  THRUM_OFFERS(source_lines, wants_source_lines)
  THRUM_OFFERS(source_lines, source_lines_patience_ns)

  THRUM_OFFERS_TYPE(backtrace, call_stack)
  THRUM_OFFERS(backtrace, collect_callers)
  THRUM_OFFERS(backtrace, machine_state)

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
};

#undef THRUM_OFFERS
#undef THRUM_OFFERS_VALUE
#undef THRUM_OFFERS_TYPE

// NOLINTBEGIN(bugprone-macro-parentheses): the name of a concept
#define THRUM_REQUIRES(capability)         \
  static_assert(capability<chosen_system>, \
                "the system's layer wants " #capability ": see os/contract.hpp");
// NOLINTEND(bugprone-macro-parentheses)
// clang-format off
THRUM_REQUIRES(has_clock)
THRUM_REQUIRES(has_note)
THRUM_REQUIRES(has_memory)
THRUM_REQUIRES(has_thread)
THRUM_REQUIRES(has_fence)
THRUM_REQUIRES(has_processors)
THRUM_REQUIRES(has_exit)
THRUM_REQUIRES(has_fork_hooks)
THRUM_REQUIRES(has_process_wide)
THRUM_REQUIRES(has_thread_records)
THRUM_REQUIRES(has_thread_clock)
THRUM_REQUIRES(has_preemption)
THRUM_REQUIRES(has_descriptor)
THRUM_REQUIRES(has_socket)
THRUM_REQUIRES(has_file)
THRUM_REQUIRES(has_pipe)
THRUM_REQUIRES(has_process)
THRUM_REQUIRES(has_child_watch)
THRUM_REQUIRES(has_caught_signals)
THRUM_REQUIRES(has_quit_signal)
THRUM_REQUIRES(has_fault)
THRUM_REQUIRES(has_symbol)
THRUM_REQUIRES(has_source_lines)
THRUM_REQUIRES(has_backtrace)
THRUM_REQUIRES(has_unwind_table)
// clang-format on
#undef THRUM_REQUIRES

}}}  // namespace thrum::THRUM_ABI::os

#endif
