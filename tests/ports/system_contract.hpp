// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What an operating system must offer to the floors above: a concept for each capability. They are
// about a class with the layer's functions and classes as its members; chosen_system.hpp makes one
// of the layer that is compiled, and asks it for all of them.
//
// A layer has a room for each capability, which is a file of its name in os/<system>/. What the
// compiler cannot see stands in the comments. For all rooms:
//
// Units      Times are std::int64_t nanoseconds of one monotonic clock; sizes are bytes.
// Errors     Nothing here throws. A failure the caller can act on is a result (nullptr, false, an
//            error below zero); one that means a broken program ends it with base::fatal. errno may
//            change; no result is in it.
// Threads    Every function may be called by any thread. What reads errno or the thread pointer is
//            not inlined: no address of them lives across a switch in a function that parks.
// Signals    A handler that saves errno may call: now, the futex calls, note, the fences, map,
//            unmap, thread_id, yield_thread, sleep_ns. It may not call: thread::start and join,
//            set_thread_name, available_processors.
#ifndef THRUM_TESTS_PORTS_SYSTEM_CONTRACT_HPP
#define THRUM_TESTS_PORTS_SYSTEM_CONTRACT_HPP

#include "children_contract.hpp"
#include "io_contract.hpp"

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/os/answers.hpp>

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

#include <time.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

// clang-format 14 takes what follows `noexcept` for a statement of its own.
// clang-format off

// ---- without these nothing runs -----------------------------------------------------------------

/// clock: the nanoseconds of one clock that never goes back; any thread, any handler, no system
/// call where that can be. to_timespec gives them as the system's calls take them.
template <class System>
concept has_clock = requires(std::int64_t ns) {
  { System::now() } noexcept -> std::same_as<std::int64_t>;
  { System::to_timespec(ns) } noexcept -> std::same_as<::timespec>;
};

/// An event that happens once, and for which one thread sleeps: a wake before the sleep is not
/// lost, and the note may be destroyed as soon as the sleeper has seen the event. clear() makes it
/// ready for the next one while no thread wakes it, clear_while_woken() also then. nudge() ends a
/// sleep_or_nudge() without the event.
template <class Note>
concept note_like =
    std::is_nothrow_default_constructible_v<Note> && !std::copy_constructible<Note> &&
    requires(Note& note, const Note& seen, std::int64_t ns) {
  { note.sleep() } noexcept -> std::same_as<void>;
  { note.sleep_for(ns) } noexcept -> std::same_as<bool>;
  { note.wake() } noexcept -> std::same_as<void>;
  { note.sleep_or_nudge(ns) } noexcept -> std::same_as<typename Note::wakening>;
  { note.nudge() } noexcept -> std::same_as<void>;
  { note.clear() } noexcept -> std::same_as<void>;
  { note.clear_while_woken() } noexcept -> std::same_as<void>;
  { seen.is_set() } noexcept -> std::same_as<bool>;
};

/// note: such an event; and below it sleeping on a word while it has a value, until a thread wakes
/// the sleepers of its address. wake does not read the word, which may be gone. Leaves errno
/// alone.
template <class System>
concept has_note = note_like<typename System::note> &&
    requires(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t ns, int n) {
  { System::futex_wait(word, expected, ns) } noexcept -> std::same_as<bool>;
  { System::futex_wake(word, n) } noexcept -> std::same_as<void>;
};

/// stack_extent: down to where a stack of a slab can be touched, kept with the stack, and given to
/// prepare_stack. open, before the first run; reach, before another thread writes to a place that the
/// stack has not grown to; note_limit, after each run, with what the stack's last frame says
/// (arch::parked_limit); shrink gives back all pages up to an address, but for those that the next run
/// begins with. What the system does by itself costs nothing here.
template <class Extent>
concept stack_extent_like = std::is_nothrow_default_constructible_v<Extent> &&
    requires(Extent& extent, const Extent& seen, char* low, char* end, const void* limit) {
  { extent.open(low, end) } noexcept -> std::same_as<bool>;
  { extent.reach(low, end) } noexcept -> std::same_as<bool>;
  { seen.limit(low) } noexcept -> std::same_as<const void*>;
  { extent.note_limit(limit) } noexcept -> std::same_as<void>;
  { extent.shrink(low, end) } noexcept -> std::same_as<void>;
};

/// memory: zeroed pages, null where there are none, without a lock or malloc. A slab for stacks is
/// aligned to a power of two, and its first page can be touched. A guard is pages that no thread may
/// touch; how dear it was is its result, and what it took of a budget is given back with the memory.
/// What is discarded need not be kept; discard_now has it leave the resident set. guard_foreign is for
/// memory that a user has given, which return_foreign makes what it was, but for its contents.
template <class System>
concept has_memory = stack_extent_like<typename System::stack_extent> &&
    requires(void* memory, std::size_t bytes, std::size_t alignment,
             typename System::guard_kind guard) {
  { System::page_size() } noexcept -> std::same_as<std::size_t>;
  { System::map(bytes) } noexcept -> std::same_as<void*>;
  { System::unmap(memory, bytes) } noexcept -> std::same_as<void>;
  { System::map_stacks(bytes, alignment) } noexcept -> std::same_as<void*>;
  { System::install_guard(memory, bytes) } noexcept -> std::same_as<typename System::guard_kind>;
  { System::guard_kind::mprotect } -> std::convertible_to<typename System::guard_kind>;
  { System::return_guard_budget(bytes) } noexcept -> std::same_as<void>;
  { System::guard_foreign(memory, bytes) } noexcept -> std::same_as<typename System::guard_kind>;
  { System::return_foreign(memory, bytes, bytes, guard) } noexcept -> std::same_as<void>;
  { System::discard_now(memory, bytes) } noexcept -> std::same_as<void>;
};

/// A thread that runs; joined before its handle goes. Starting one may allocate.
template <class Thread>
concept thread_like =
    std::movable<Thread> && !std::copy_constructible<Thread> &&
    requires(Thread& thread, const Thread& seen, void* (*entry)(void*), void* argument) {
  { Thread::start(thread, entry, argument) } noexcept -> std::same_as<int>;
  { thread.join() } noexcept -> std::same_as<void>;
  { thread.try_join() } noexcept -> std::same_as<bool>;
  { seen.joinable() } noexcept -> std::same_as<bool>;
};

/// A variable of this type that is declared with THRUM_THREAD_LOCAL has a pointer for each thread, null
/// at first; cheaper to read than a key.
template <class Word>
concept thread_word_like = std::convertible_to<Word, void*> && requires(Word& word, int* value) {
  word = value;
};

/// of_this_thread(): an object of each thread, made when it is asked for first and destroyed at the
/// thread's end; it may end the program where there is no memory. of_this_thread(object): that of a
/// variable that is declared with THRUM_THREAD_LOCAL; also for a handler, and with THRUM_FIXED_THREAD_LOCAL
/// also if that is the first to use it.
template <class System>
concept has_objects_of_threads =
    requires(typename System::template thread_object<typename System::of_thread>& object) {
  { System::template of_this_thread<typename System::of_thread>() } noexcept
      -> std::same_as<typename System::of_thread&>;
  { System::of_this_thread(object) } noexcept -> std::same_as<typename System::of_thread&>;
};

/// A word of each thread, the same for all shared objects that know the key; null at first.
template <class Key>
concept thread_key_like = requires(const Key& key, const void* word) {
  { key.get() } noexcept -> std::same_as<void*>;
  { key.set(word) } noexcept -> std::same_as<void>;
};

/// thread: starting and naming threads; those that are never joined take no signals. A thread's
/// number is unique in the system while it lives. A passive thread makes nothing runnable: a deadlock is
/// reported although it runs. A system without CPUs or priorities says 0. Signals do not end sleep_ns.
template <class System>
concept has_thread = thread_like<typename System::thread> &&
    thread_key_like<typename System::thread_key> &&
    thread_word_like<typename System::template thread_word<int*>> &&
    has_objects_of_threads<System> &&
    std::is_nothrow_default_constructible_v<typename System::passive_thread_scope> &&
    requires(void* (*entry)(void*), void* argument, const char* name, int priority,
             std::int64_t ns) {
  { System::start_detached_thread(entry, argument) } noexcept -> std::same_as<int>;
  { System::set_thread_name(name) } noexcept -> std::same_as<void>;
  { System::thread_id() } noexcept -> std::same_as<std::uint64_t>;
  { System::count_threads() } noexcept -> std::same_as<std::size_t>;
  requires std::same_as<decltype(System::passive_threads), base::shared_figure<unsigned>* const>;
  { System::yield_thread() } noexcept -> std::same_as<void>;
  { System::sleep_ns(ns) } noexcept -> std::same_as<void>;
  { System::current_cpu() } noexcept -> std::same_as<std::uint32_t>;
  { System::ask_for_short_waits() } noexcept -> std::same_as<void>;
  { System::real_time_priority() } noexcept -> std::same_as<int>;
  { System::set_real_time_priority(priority) } noexcept -> std::same_as<int>;
};

/// fence: the two sides of an asymmetric fence, made ready once before the threads that use it, which
/// says what kind there is. A side that runs often passes the light one, which should cost nothing;
/// the other passes the heavy one, which acts on every running thread of the process, or, where one
/// thread has the other side, the one for it, which may be cheaper.
template <class System>
concept has_fence = requires(const typename System::thread_ref& thread) {
  { System::prepare_heavy_fence() } noexcept -> std::same_as<fence_kind>;
  { System::light_fence() } noexcept -> std::same_as<void>;
  { System::heavy_fence() } noexcept -> std::same_as<void>;
  { System::heavy_fence_for(thread) } noexcept -> std::same_as<void>;
};

/// processors: how many this process may use, quotas counted; at least 1.
template <class System>
concept has_processors = requires {
  { System::available_processors() } noexcept -> std::same_as<unsigned>;
};

/// exit: the end of the process at once, with what was written to standard output; and a hook that
/// exit() calls before all that was registered, on a thread that watches it.
template <class System>
concept has_exit = std::same_as<typename System::exit_hook, void (*)(int) noexcept> &&
    requires(typename System::exit_hook hook, int status) {
  { System::exit_now(status) } noexcept -> std::same_as<void>;
  requires std::same_as<decltype(System::unknown_exit_status), const int>;
  { System::register_exit_hook(hook) } noexcept -> std::same_as<void>;
  { System::let_exit_pass_standard_input() } noexcept -> std::same_as<void>;
  { System::this_threads_exit_watch().watch(hook) } noexcept -> std::same_as<void>;
  { System::this_threads_exit_watch().forget() } noexcept -> std::same_as<void>;
};

/// fork hooks: a function that the child of each fork calls. A system without fork does nothing.
template <class System>
concept has_fork_hooks = requires(void (*in_child)()) {
  { System::call_after_fork(in_child) } noexcept -> std::same_as<void>;
};

/// process_wide: the one T of the process, though several of its shared objects hold the library
/// and hide it; and which of them was the first to bring a function. A system whose linker joins
/// inline variables across shared objects needs no more than such a variable.
template <class System>
concept has_process_wide = requires(std::atomic<void (*)()>& first, void (*own)()) {
  { System::template process_wide<typename System::probe>::get() } noexcept
      -> std::same_as<typename System::probe&>;
  { System::first_in_process(first, own) } noexcept -> std::same_as<void (*)()>;
};

/// error_number, exception_state: where the calling thread keeps errno and its record of
/// exceptions. A switch takes the record along.
template <class System>
concept has_thread_records = requires(typename System::exception_state* live,
                                      typename System::exception_state& from,
                                      const typename System::exception_state& to) {
  { System::thread_error_number() } noexcept -> std::same_as<int*>;
  { System::thread_exception_state() } noexcept -> std::same_as<typename System::exception_state*>;
  { System::switch_exception_state(live, from, to) } noexcept -> std::same_as<void>;
};

// ---- without these the monitor sees less --------------------------------------------------------

/// thread_ref: what others need of a thread; opened and closed by itself. They see its CPU time,
/// what it does at this moment, and whether it only sleeps for a time, and interrupt it: they have
/// target.interrupt(target.argument) called there (see has_preemption). No malloc. A system that
/// does not say: 0, unknown, false. has_fine_clock: the CPU time grows by steps of less than a
/// millisecond; where it does not, look() never says unknown. Not open, or the thread has ended:
/// in_system, and no interruption; nor where a system cannot interrupt a thread at this moment, and
/// wants to be asked again.
template <class System>
concept has_thread_ref =
    std::is_nothrow_default_constructible_v<typename System::thread_ref> &&
    !std::copy_constructible<typename System::thread_ref> &&
    requires(typename System::thread_ref& own, const typename System::thread_ref& seen,
             typename System::preempt_target& target) {
  requires std::same_as<decltype(System::thread_ref::has_fine_clock), const bool>;
  { own.open() } noexcept -> std::same_as<void>;
  { own.close() } noexcept -> std::same_as<void>;
  { seen.is_calling_thread() } noexcept -> std::same_as<bool>;
  { seen.cpu_now() } noexcept -> std::same_as<std::int64_t>;
  { seen.look() } noexcept -> std::same_as<thread_look>;
  { seen.naps() } noexcept -> std::same_as<bool>;
  { seen.interrupt(target) } noexcept -> std::same_as<bool>;
};

/// A stack for handlers: reserved by any thread, opened and closed by the one that takes signals on
/// it.
template <class Stack, class Target>
concept signal_stack_like = requires(Stack& stack, Target& target) {
  { stack.reserve() } noexcept -> std::same_as<bool>;
  { stack.open(target) } noexcept -> std::same_as<void>;
  { stack.open_for_faults() } noexcept -> std::same_as<bool>;
  { stack.close() } noexcept -> std::same_as<void>;
  { stack.give_back() } noexcept -> std::same_as<void>;
};

/// preempt_signal: what a thread needs to be interrupted wherever it is, with target.context naming
/// what was interrupted. Where has_preempt_signal is false the rest, and thread_ref::interrupt, may do
/// nothing.
template <class System>
concept has_preemption =
    signal_stack_like<typename System::signal_stack, typename System::preempt_target> &&
    requires(typename System::preempt_target& target, void (*interrupt)(void*) noexcept) {
  requires std::same_as<decltype(System::has_preempt_signal), const bool>;
  requires std::same_as<decltype(System::preempt_signal), const int>;
  { target.interrupt = interrupt } noexcept;
  requires std::same_as<decltype(target.argument), void*>;
  requires std::same_as<decltype(target.context), const void*>;
  { System::install_preempt_handler() } noexcept -> std::same_as<void>;
  { System::unblock_preempt_signal() } noexcept -> std::same_as<void>;
};

// ---- without these reports say less -------------------------------------------------------------

/// fault: a look at each fault by which a program crashes, on its thread, before what was there
/// before us sees it.
template <class System>
concept has_fault = requires(void (*observe)(const typename System::fault&) noexcept,
                             const typename System::fault& what,
                             typename System::fault_kinds kinds) {
  { System::install_fault_observer(observe, kinds) } noexcept -> std::same_as<void>;
  { what.name } -> std::convertible_to<const char*>;
  { System::fault_machine(what) } noexcept;
  { what.address } -> std::convertible_to<const void*>;
  { what.stack_pointer } -> std::convertible_to<const void*>;
  { what.is_memory && what.has_address && what.is_last } -> std::same_as<bool>;
};

/// symbol: what lies at a code address, as text for a human. append_address allocates nothing and
/// says what it can.
template <class System>
concept has_symbol = requires(typename System::symbolizer& names,
                              const typename System::symbolizer& seen, const void* address,
                              std::vector<const void*> addresses, const char* name,
                              typename System::text& text) {
  { names.describe(address) } -> std::convertible_to<std::string_view>;
  { names.find_lines(addresses) } -> std::same_as<void>;
  { seen.line_of(address) } noexcept -> std::same_as<std::string_view>;
  { System::symbolizer::demangled(name) } -> std::same_as<std::string>;
  { System::describe_address(address) } -> std::same_as<std::string>;
  { System::append_address(text, address) } noexcept -> std::same_as<void>;
  { System::append_file(text, address) } noexcept -> std::same_as<void>;
};

/// source_lines: whether and for how long reports may ask a tool of the system for lines of the
/// source, unseen by the program; bare_places asks without malloc. A system without such a tool has the two
/// settings and no lines.
template <class System>
concept has_source_lines = requires(typename System::bare_places& places,
                                    const typename System::bare_places& asked, const void* address,
                                    std::string_view file) {
  { System::is_foreign_source(file) } noexcept -> std::same_as<bool>;
  { places.add(address) } noexcept -> std::same_as<void>;
  { places.ask() } noexcept -> std::same_as<void>;
  { asked.function_at(address) } noexcept -> std::same_as<std::string_view>;
  { asked.line_of(address) } noexcept -> std::same_as<std::string_view>;
  requires std::same_as<decltype(System::wants_source_lines), base::hint<bool>* const>;
  requires std::same_as<decltype(System::source_lines_patience_ns),
                        base::hint<std::int64_t>* const>;
};

/// backtrace: the callers of the running code, without malloc; and the registers of what a handler
/// has interrupted.
template <class System>
concept has_backtrace = requires(typename System::call_stack& out, std::size_t skip,
                                 const void* context) {
  { System::collect_callers(out, skip) } noexcept -> std::same_as<void>;
  { System::machine_state(context) } noexcept;
  { out.frames[out.size] } -> std::convertible_to<const void*>;
  requires System::call_stack::capacity != 0;
};

/// cpu_timer: calls a function in the handler of a thread whenever the thread has computed for so long, for CPU profiles. Not on this
/// system: `exists` is false. number_of names a thread to its timer.
template <class System>
concept has_cpu_timer =
    requires(typename System::cpu_timer& timer, const typename System::thread_ref& thread,
             void (*handler)(const typename System::cpu_timer_signal&) noexcept) {
  requires std::same_as<decltype(System::cpu_timer::exists), const bool>;
  { System::cpu_timer::install(handler) } noexcept -> std::same_as<bool>;
  { timer.open(std::uint64_t{1}, std::uint32_t{1}, std::int64_t{1}, std::int64_t{1}) } noexcept -> std::same_as<bool>;
  { timer.close() } noexcept -> std::same_as<void>;
  { System::cpu_timer::outer_context(nullptr, std::uintptr_t{1}) } noexcept
      -> std::same_as<const void*>;
  { System::number_of(thread) } noexcept -> std::same_as<std::uint64_t>;
};

/// all_memory: stops all threads and shows all words of the process, for leaks of goroutines. Not on this system:
/// `sees_all_memory` is false.
template <class System>
concept has_all_memory = requires(void* to, std::uintptr_t from, std::uintptr_t& edge,
                                  typename System::used_memory& all,
                                  const typename System::all_threads_stopped& stopped) {
  requires std::same_as<decltype(System::sees_all_memory), const bool>;
  { System::copy_own_memory(to, from, std::size_t{1}) } noexcept -> std::same_as<std::size_t>;
  { all.is_open() } noexcept -> std::same_as<bool>;
  { all.next(edge, edge) } noexcept -> std::same_as<bool>;
  { stopped.complete() } noexcept -> std::same_as<bool>;
};

/// unwind_table: how the caller's registers are found at an address: call-frame information, in a
/// reader that handlers may use. prepare_walks, once before. Nothing found: the walk ends there.
template <class System>
concept has_unwind_table = requires(std::uintptr_t address, typename System::code_file& file,
                                    const typename System::code_file& known,
                                    typename System::unwind_entry& entry,
                                    typename System::byte_reader& reader) {
  { System::prepare_walks() } noexcept -> std::same_as<void>;
  { System::find_code_file(address, file) } noexcept -> std::same_as<bool>;
  { System::find_unwind_entry(address, known, entry) } noexcept -> std::same_as<bool>;
  { entry.common } -> std::same_as<typename System::byte_reader&>;
  { entry.own } -> std::same_as<typename System::byte_reader&>;
  { reader.at_end() } noexcept -> std::same_as<bool>;
};

// clang-format on

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_TESTS_PORTS_SYSTEM_CONTRACT_HPP
