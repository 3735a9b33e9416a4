// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What every operating system must offer to the scheduler. Prose first, then what the compiler can
// check.
//
// Units      Times are std::int64_t nanoseconds of one monotonic clock; sizes are bytes.
// Errors     Nothing here throws. A failure the caller can act on is a result (nullptr, false, an
//            errno value); one that means a broken program ends it with base::fatal. errno may
//            change; no result is in it.
// Threads    Every function may be called by any thread. What reads errno or the thread pointer is
//            not inlined: no address of them lives across a switch in a function that parks.
// Signals    A handler that saves errno may call: now, the futex calls, note, the fences, map,
//            unmap, thread_id, yield_thread, sleep_ns. It may not call: thread::start and join,
//            set_thread_name, available_processors.
//
// clock         now() -> ns
// note          futex_wait(word, expected, timeout_ns), futex_wake(word, how_many): sleep on an
//               address, private to the process. note: sleep, sleep_for, wake, clear, is_set: an
//               event that happens once.
// memory        page_size, map, unmap: zeroed pages. map_stacks: an aligned slab. install_guard:
//               pages nobody may touch, and how dear they were; return_guard_budget. discard:
//               contents no longer needed; discard_now: and the pages leave the resident set.
// thread        thread: start, join, try_join, joinable. set_thread_name, real_time_priority,
//               set_real_time_priority, thread_id, yield_thread, sleep_ns, count_threads;
//               bystander_scope, bystanders: threads that make nothing runnable.
//               start_detached_thread.
// fence         prepare_heavy_fence once before the threads that use the two; light_fence,
//               heavy_fence.
// preempt_signal  has_preempt_signal. preempt_target, install_preempt_handler, send_preempt_signal,
//               unblock_preempt_signal:
//               runs a function on another thread of ours, wherever that is. signal_stack: what a
//               thread needs to take it.
// thread_clock  CPU time of a thread, for others to read; thread_sleeps, thread_naps.
// caught_signals  install, remove, sleep, take: signals, noted by a handler for a thread that
//               sleeps. wait_for_handlers.
// quit_signal   quit_listener: hears of the terminal's request to quit.
// symbol        describe_address(code address) -> text for a human. symbolizer: the same for many,
//               with lines of the source.
// source_lines  wants_source_lines, source_lines_patience_ns: settings. Asks a tool of the system
//               for lines, unseen by the program.
// backtrace     call_stack, collect_callers: the callers of the running code. No malloc.
//               machine_state(a handler's context).
// unwind_table  find_code_file, find_unwind_entry: how the caller's registers are found at an
//               address. For handlers. prepare_walks, once before.
// fault         install_fault_observer: a look at each access to memory that is not there.
// child_watch   open, add, remove, wake, sleep, close: until any of many children has ended.
// descriptor, socket, file, pipe, process   the system calls on them, as the system has them:
//               results are counts, or errno values below zero. write_without_signal: a pipe that
//               nobody reads is an error.
// process_wide  process_wide<T>: the one T of the process, though several of its shared objects
//               hold the library and hide it.
// exit          exit_now(status): no destructors, standard output flushed. register_exit_hook,
//               exit_watch: what exit() calls first. let_exit_pass_standard_input.
//               call_after_fork.
// processors    available_processors() >= 1.
// exceptions    thread_exception_state, switch_exception_state.
#ifndef THRUM_OS_CONTRACT_HPP
#define THRUM_OS_CONTRACT_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>

#include <thrum/base/config.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The one-shot event of a system.
template <class Note>
concept note_like = requires(Note& note, const Note& seen, std::int64_t ns) {
  Note();
  { note.sleep() }
  noexcept->std::same_as<void>;
  { note.sleep_for(ns) }
  noexcept->std::same_as<bool>;
  { note.wake() }
  noexcept->std::same_as<void>;
  { note.clear() }
  noexcept->std::same_as<void>;
  { seen.is_set() }
  noexcept->std::same_as<bool>;
}
&&!std::copy_constructible<Note>;

/// The thread handle of a system.
template <class Thread>
concept thread_like = requires(Thread& thread, const Thread& seen, void* (*entry)(void*),
                               void* argument) {
  { Thread::start(thread, entry, argument) }
  noexcept->std::same_as<int>;
  { thread.join() }
  noexcept->std::same_as<void>;
  { seen.joinable() }
  noexcept->std::same_as<bool>;
}
&&std::movable<Thread> && !std::copy_constructible<Thread>;

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_CONTRACT_HPP
