// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The part of the system that threads and memory need, as one class, and the check that it offers that
// part of system_contract.hpp: of a system of which there is no more yet. Errors are as in chosen_system.hpp,
// which adds the rest.
#ifndef THRUM_TESTS_PORTS_CHOSEN_THREADS_HPP
#define THRUM_TESTS_PORTS_CHOSEN_THREADS_HPP

#include "system_contract.hpp"

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/memory_parts.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/detail/os/thread_parts.hpp>
#include <thrum/detail/os/thread_state.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace os {

#define THRUM_OFFERS(capability, name) static constexpr auto name = &os::name;
#define THRUM_OFFERS_VALUE(capability, name) static constexpr auto name = os::name;
// NOLINTNEXTLINE(bugprone-macro-parentheses): the name of a type
#define THRUM_OFFERS_TYPE(capability, name) using name = os::name;

/// Has what the floors above use of the layer for threads and memory as its members.
struct chosen_threads {
  // clang-format off
  THRUM_OFFERS(clock, now)
  THRUM_OFFERS(clock, to_timespec)

  THRUM_OFFERS_TYPE(note, note)
  THRUM_OFFERS(note, futex_wait)
  THRUM_OFFERS(note, futex_wake)

  THRUM_OFFERS_TYPE(memory, guard_kind)
  THRUM_OFFERS_TYPE(memory, stack_extent)
  THRUM_OFFERS(memory, page_size)
  THRUM_OFFERS(memory, map)
  THRUM_OFFERS(memory, unmap)
  THRUM_OFFERS(memory, map_stacks)
  THRUM_OFFERS(memory, install_guard)
  THRUM_OFFERS(memory, return_guard_budget)
  THRUM_OFFERS(memory, guard_foreign)
  THRUM_OFFERS(memory, return_foreign)
  THRUM_OFFERS(memory, discard_now)

  THRUM_OFFERS_TYPE(thread, thread)
  THRUM_OFFERS_TYPE(thread, thread_key)
  THRUM_OFFERS_TYPE(thread, passive_thread_scope)
  THRUM_OFFERS(thread, start_detached_thread)
  THRUM_OFFERS(thread, set_thread_name)
  THRUM_OFFERS(thread, thread_id)
  THRUM_OFFERS(thread, count_threads)
  THRUM_OFFERS(thread, passive_threads)
  THRUM_OFFERS(thread, yield_thread)
  THRUM_OFFERS(thread, sleep_ns)
  THRUM_OFFERS(thread, current_cpu)
  THRUM_OFFERS(thread, ask_for_short_waits)
  THRUM_OFFERS(thread, real_time_priority)
  THRUM_OFFERS(thread, set_real_time_priority)

  THRUM_OFFERS(fence, prepare_heavy_fence)
  THRUM_OFFERS(fence, light_fence)
  THRUM_OFFERS(fence, heavy_fence)
  THRUM_OFFERS(fence, heavy_fence_for)
  THRUM_OFFERS_TYPE(fence, fence_kind)

  THRUM_OFFERS_TYPE(exit, exit_hook)
  THRUM_OFFERS(exit, exit_now)
  THRUM_OFFERS_VALUE(exit, unknown_exit_status)
  THRUM_OFFERS(exit, register_exit_hook)
  THRUM_OFFERS(exit, let_exit_pass_standard_input)
  THRUM_OFFERS(exit, this_threads_exit_watch)

  THRUM_OFFERS(fork_hooks, call_after_fork)

  THRUM_OFFERS_TYPE(thread_records, exception_state)
  THRUM_OFFERS(thread_records, thread_error_number)
  THRUM_OFFERS(thread_records, thread_exception_state)
  THRUM_OFFERS(thread_records, switch_exception_state)

  THRUM_OFFERS_TYPE(thread_ref, thread_ref)
  THRUM_OFFERS_TYPE(thread_ref, thread_look)

  template <class Pointer>
  using thread_word = os::thread_word<Pointer>;

  struct of_thread {};
  template <class T>
  static T& of_this_thread() noexcept {
    return os::of_this_thread<T>();
  }
  template <class T>
  using thread_object = os::thread_object<T>;
  static of_thread& of_this_thread(thread_object<of_thread>& object) noexcept {
    return os::of_this_thread(object);
  }

  THRUM_OFFERS_TYPE(preemption, preempt_target)
  THRUM_OFFERS_TYPE(preemption, signal_stack)
  THRUM_OFFERS_VALUE(preemption, has_preempt_signal)
  THRUM_OFFERS_VALUE(preemption, preempt_signal)
  THRUM_OFFERS(preemption, install_preempt_handler)
  THRUM_OFFERS(preemption, unblock_preempt_signal)
  // clang-format on
};

#undef THRUM_OFFERS
#undef THRUM_OFFERS_VALUE
#undef THRUM_OFFERS_TYPE

// NOLINTBEGIN(bugprone-macro-parentheses): the name of a concept
#define THRUM_REQUIRES(capability)          \
  static_assert(capability<chosen_threads>, \
                "the system's layer wants " #capability ": see tests/ports/system_contract.hpp");
// NOLINTEND(bugprone-macro-parentheses)
// clang-format off
THRUM_REQUIRES(has_clock)
THRUM_REQUIRES(has_note)
THRUM_REQUIRES(has_memory)
THRUM_REQUIRES(has_thread)
THRUM_REQUIRES(has_fence)
THRUM_REQUIRES(has_exit)
THRUM_REQUIRES(has_fork_hooks)
THRUM_REQUIRES(has_thread_records)
THRUM_REQUIRES(has_thread_ref)
THRUM_REQUIRES(has_preemption)
// clang-format on
#undef THRUM_REQUIRES

}}}  // namespace thrum::THRUM_ABI::os

#endif
