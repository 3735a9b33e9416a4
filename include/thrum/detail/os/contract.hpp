// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What an operating system must offer to the floors above: a concept for each capability. They are
// about a class with the layer's functions and classes as its members; chosen_system.hpp makes one
// of the layer that is compiled, and asks it for all of them. os.hpp does not include this file, so
// that a user's program need not read it.
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
#ifndef THRUM_DETAIL_OS_CONTRACT_HPP
#define THRUM_DETAIL_OS_CONTRACT_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/answers.hpp>
#include <thrum/detail/os/children_contract.hpp>  // IWYU pragma: export
#include <thrum/detail/os/file_modes.hpp>
#include <thrum/detail/os/socket_types.hpp>

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
/// call where that can be. The same as the system's calls take it.
template <class System>
concept has_clock = requires(std::int64_t ns) {
  { System::now() } noexcept -> std::same_as<std::int64_t>;
  { System::to_timespec(ns) } noexcept -> std::same_as<::timespec>;
};

/// An event that happens once, and for which one thread sleeps: a wake before the sleep is not
/// lost, and the note may be destroyed as soon as the sleeper has seen the event. clear() makes it
/// ready for the next one while nobody wakes, clear_while_woken() also then. nudge() ends a
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

/// note: such an event, and below it sleeping on a word while it has a value, until somebody wakes
/// those that sleep on its address. wake does not read the word, which may be gone. Leaves errno
/// alone.
template <class System>
concept has_note = note_like<typename System::note> &&
    requires(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t ns, int n) {
  { System::futex_wait(word, expected, ns) } noexcept -> std::same_as<bool>;
  { System::futex_wake(word, n) } noexcept -> std::same_as<void>;
};

/// stack_extent: down to where a stack of a slab can be touched, kept with the stack: prepare_stack is
/// told. open, before the first run; reach, before another thread writes to a place that the stack has
/// not grown to; note_limit, after each run, with what the stack's last frame says
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
/// aligned to a power of two, and its first page can be touched. A guard is pages that nobody may
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
/// number is unique in the system while it lives. A bystander makes nothing runnable: nobody waits
/// for it. Of CPUs and priorities a system that has none says 0. sleep_ns goes on through signals.
template <class System>
concept has_thread = thread_like<typename System::thread> &&
    thread_key_like<typename System::thread_key> &&
    thread_word_like<typename System::template thread_word<int*>> &&
    has_objects_of_threads<System> &&
    std::is_nothrow_default_constructible_v<typename System::bystander_scope> &&
    requires(void* (*entry)(void*), void* argument, const char* name, int priority,
             std::int64_t ns) {
  { System::start_detached_thread(entry, argument) } noexcept -> std::same_as<int>;
  { System::set_thread_name(name) } noexcept -> std::same_as<void>;
  { System::thread_id() } noexcept -> std::same_as<std::uint64_t>;
  { System::count_threads() } noexcept -> std::same_as<std::size_t>;
  requires std::same_as<decltype(System::bystanders), std::atomic<unsigned>* const>;
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

// ---- without these no net, no io ----------------------------------------------------------------

/// result: what calls on descriptors say. A count, or below zero an error of the system, of which
/// error_code_of() makes the one that users see, in whatever category that system's numbers have.
/// Those that the floors above say or ask for have names.
template <class System>
concept has_results = std::signed_integral<typename System::io_result> &&
    sizeof(typename System::io_result) == sizeof(std::int64_t) &&
    requires(typename System::io_result result) {
  requires std::same_as<decltype(System::would_block), const int>;
  requires std::same_as<decltype(System::interrupted), const int>;
  requires std::same_as<decltype(System::cancelled), const int>;
  requires std::same_as<decltype(System::no_memory), const int>;
  requires std::same_as<decltype(System::bad_handle), const int>;
  requires std::same_as<decltype(System::invalid), const int>;
  requires std::same_as<decltype(System::not_supported), const int>;
  requires std::same_as<decltype(System::no_such_process), const int>;
  requires std::same_as<decltype(System::no_offsets), const int>;
  requires std::same_as<decltype(System::no_address), const int>;
  requires std::same_as<decltype(System::in_progress), const int>;
  requires std::same_as<decltype(System::peer_reset), const int>;
  requires std::same_as<decltype(System::peer_refused), const int>;
  requires std::same_as<decltype(System::peer_silent), const int>;
  requires std::same_as<decltype(System::peer_closed), const int>;
  requires std::same_as<decltype(System::address_taken), const int>;
  requires std::same_as<decltype(System::too_long), const int>;
  requires std::same_as<decltype(System::not_connected), const int>;
  requires std::same_as<decltype(System::always_ready), const int>;
  requires std::same_as<decltype(System::already_added), const int>;
  requires std::same_as<decltype(System::not_armed), const int>;
  { System::out_of_handles(result) } noexcept -> std::same_as<bool>;
  { System::error_code_of(result) } noexcept -> std::same_as<std::error_code>;
};

/// handle: what an open descriptor is known by, a plain value. Results carry one; number_of gives a
/// small number, another one for each that is open.
template <class System>
concept has_handles = std::regular<typename System::handle> &&
    std::is_trivially_copyable_v<typename System::handle> &&
    requires(typename System::handle h, typename System::io_result result) {
  requires std::same_as<decltype(System::no_handle), const typename System::handle>;
  { System::is_handle(h) } noexcept -> std::same_as<bool>;
  { System::handle_of(result) } noexcept -> std::same_as<typename System::handle>;
  { System::number_of(h) } noexcept -> std::same_as<unsigned>;
};

/// descriptor: the calls that all kinds of descriptors share. Nothing is repeated after a signal.
template <class System>
concept has_descriptor =
    requires(typename System::handle fd, void* to, const void* from, std::size_t n, bool on,
             int ms) {
  { System::read(fd, to, n) } noexcept -> std::same_as<typename System::io_result>;
  { System::write(fd, from, n) } noexcept -> std::same_as<typename System::io_result>;
  { System::close(fd) } noexcept -> std::same_as<typename System::io_result>;
  { System::set_nonblocking(fd, on) } noexcept -> std::same_as<typename System::io_result>;
  { System::wait_for(fd, on, ms) } noexcept -> std::same_as<typename System::io_result>;
};

/// socket: start_sockets comes before names are looked up. A new socket does not block and is closed
/// by exec; a broken connection is an error, never a signal. connect says in_progress where an event
/// will tell, and then connection_state: how it ended. An accepted connection may be gone already, and
/// a file of a kind that send_file refuses is read and sent. resolver_cause: the system's error behind
/// what getaddrinfo() has returned, or 0. receive_from says more than fits of a datagram that did not,
/// the whole size where the system says it.
template <class System>
concept has_socket = requires(typename System::handle fd, int i, void* to, const void* from,
                              std::size_t n,
                              std::int64_t offset, const ::sockaddr* name, ::sockaddr* found,
                              ::socklen_t size, ::socklen_t* found_size,
                              typename System::piece* pieces, typename System::message& message,
                              const typename System::message& sent,
                              typename System::message* messages, unsigned count, bool peer,
                              const char* link, const typename System::keep_alive_numbers& often,
                              typename System::tcp_numbers& tcp) {
  { System::start_sockets() } noexcept -> std::same_as<void>;
  { System::open_socket(i, i, i) } noexcept -> std::same_as<typename System::io_result>;
  { System::connect(fd, name, size) } noexcept -> std::same_as<typename System::io_result>;
  { System::connection_state(fd) } noexcept -> std::same_as<typename System::io_result>;
  { System::bind(fd, name, size) } noexcept -> std::same_as<typename System::io_result>;
  { System::listen(fd, i) } noexcept -> std::same_as<typename System::io_result>;
  { System::accept(fd) } noexcept -> std::same_as<typename System::io_result>;
  { System::gone_while_queued(offset) } noexcept -> std::same_as<bool>;
  { System::receive(fd, to, n) } noexcept -> std::same_as<typename System::io_result>;
  { System::peek(fd, to, n) } noexcept -> std::same_as<typename System::io_result>;
  { System::send(fd, from, n) } noexcept -> std::same_as<typename System::io_result>;
  { System::piece_of(from, n) } noexcept -> std::same_as<typename System::piece>;
  { message.set_pieces(pieces, n) } noexcept -> std::same_as<void>;
  { message.set_name(name, size) } noexcept -> std::same_as<void>;
  { sent.size() } noexcept -> std::same_as<std::size_t>;
  { sent.name_size() } noexcept -> std::same_as<::socklen_t>;
  { sent.was_cut_off() } noexcept -> std::same_as<bool>;
  { System::send_message(fd, sent) } noexcept -> std::same_as<typename System::io_result>;
  { System::receive_from(fd, to, n, found, found_size) } noexcept
      -> std::same_as<typename System::io_result>;
  { System::send_to(fd, from, n, name, size) } noexcept -> std::same_as<typename System::io_result>;
  { System::send_messages(fd, messages, count) } noexcept
      -> std::same_as<typename System::io_result>;
  { System::receive_messages(fd, messages, count) } noexcept
      -> std::same_as<typename System::io_result>;
  { System::send_file(fd, fd, offset, n) } noexcept -> std::same_as<typename System::io_result>;
  { System::cannot_send_file(offset) } noexcept -> std::same_as<bool>;
  { System::resolver_cause(i) } noexcept -> std::same_as<typename System::io_result>;
  requires std::same_as<decltype(System::reading), const int>;
  requires std::same_as<decltype(System::writing), const int>;
  { System::shut_down(fd, i) } noexcept -> std::same_as<typename System::io_result>;
  { System::reuse_address(fd) } noexcept -> std::same_as<typename System::io_result>;
  { System::reuse_port(fd) } noexcept -> std::same_as<typename System::io_result>;
  { System::set_no_delay(fd, peer) } noexcept -> std::same_as<typename System::io_result>;
  { System::set_keep_alive(fd, peer, often) } noexcept -> std::same_as<typename System::io_result>;
  { System::set_option(fd, i, i, i) } noexcept -> std::same_as<typename System::io_result>;
  { System::socket_family(fd) } noexcept -> std::same_as<typename System::io_result>;
  { System::interface_number(link) } noexcept -> std::same_as<unsigned>;
  { System::set_fast_open(fd, i) } noexcept -> std::same_as<typename System::io_result>;
  { System::set_member(fd, peer, name, size, count) } noexcept
      -> std::same_as<typename System::io_result>;
  { System::set_multicast_link(fd, peer, count) } noexcept
      -> std::same_as<typename System::io_result>;
  { System::set_multicast_hops(fd, peer, i) } noexcept -> std::same_as<typename System::io_result>;
  { System::set_multicast_loop(fd, peer, peer) } noexcept
      -> std::same_as<typename System::io_result>;
  { System::get_tcp_numbers(fd, tcp) } noexcept -> std::same_as<typename System::io_result>;
  { System::get_option(fd, i, i) } noexcept -> std::same_as<typename System::io_result>;
  { System::set_linger(fd, i) } noexcept -> std::same_as<typename System::io_result>;
  { System::socket_name(fd, peer, found, size) } noexcept
      -> std::same_as<typename System::io_result>;
};

/// file: reading, writing and asking at a place; opened so that exec closes it. Any of them may
/// block. A system without flags of open(2) has a type for them of which there is no value.
template <class System>
concept has_file = requires(typename System::handle fd, open_mode mode, seek_from place,
                            typename System::system_open_flags flags, const char* path,
                            unsigned permissions, void* to,
                            const void* from, std::size_t n, std::int64_t offset,
                            typename System::file_kind& kind, file_status& status) {
  requires std::same_as<decltype(System::null_device), const char* const>;
  { System::open_file(path, mode, permissions) } noexcept
      -> std::same_as<typename System::io_result>;
  { System::open_file_with_flags(path, flags, permissions) } noexcept
      -> std::same_as<typename System::io_result>;
  { System::remove_file(path) } noexcept -> std::same_as<typename System::io_result>;
  { System::make_directory(path, permissions) } noexcept
      -> std::same_as<typename System::io_result>;
  { System::read_at(fd, to, n, offset) } noexcept -> std::same_as<typename System::io_result>;
  { System::write_at(fd, from, n, offset) } noexcept -> std::same_as<typename System::io_result>;
  { System::seek(fd, offset, place) } noexcept -> std::same_as<typename System::io_result>;
  { System::sync(fd) } noexcept -> std::same_as<typename System::io_result>;
  { System::truncate(fd, offset) } noexcept -> std::same_as<typename System::io_result>;
  { System::file_size(fd) } noexcept -> std::same_as<typename System::io_result>;
  { System::kind_of(fd, kind) } noexcept -> std::same_as<typename System::io_result>;
  { System::duplicate(fd) } noexcept -> std::same_as<typename System::io_result>;
  { System::standard_handle(0) } noexcept -> std::same_as<typename System::handle>;
  { System::status_of(fd, status) } noexcept -> std::same_as<typename System::io_result>;
  { System::give_rights(fd, path, status) } noexcept -> std::same_as<typename System::io_result>;
  requires std::same_as<decltype(kind.may_wait), bool>;
  requires std::same_as<decltype(kind.may_break), bool>;
  requires std::same_as<decltype(kind.is_nonblocking), bool>;
  requires std::same_as<decltype(kind.appends), bool>;
};

/// directory: names, without "." and "..", one after the other until next() says 0, and the calls that
/// take paths. Any of them may block. None but open() and
/// status_of_target follows a link at a path's end. What gives a path writes it, with a
/// null at its end, if it fits into `room`, and says its length in any case.
template <class System>
concept has_directory =
    std::is_nothrow_default_constructible_v<typename System::directory_reader> &&
    !std::copy_constructible<typename System::directory_reader> &&
    requires(typename System::directory_reader& reader, const char* path, const char*& name,
             entry_kind& kind, char c, char* to, std::size_t room, file_status& status,
             typename System::open_directory& held) {
  { reader.open(path) } noexcept -> std::same_as<typename System::io_result>;
  { reader.open(held) } noexcept -> std::same_as<typename System::io_result>;
  { held.open(path) } noexcept -> std::same_as<typename System::io_result>;
  { held.open_in(held, path, path) } noexcept -> std::same_as<typename System::io_result>;
  { held.open_above(held, status) } noexcept -> std::same_as<typename System::io_result>;
  { held.is_open() } noexcept -> std::same_as<bool>;
  { held.status(status) } noexcept -> std::same_as<typename System::io_result>;
  { held.close() } noexcept;
  { reader.next(name, kind) } noexcept -> std::same_as<typename System::io_result>;
  requires std::same_as<decltype(System::path_separator), const char>;
  { System::ends_directory(c) } noexcept -> std::same_as<bool>;
  { System::remove_tree(path) } noexcept -> std::same_as<typename System::io_result>;
  { System::rename_file(path, path) } noexcept -> std::same_as<typename System::io_result>;
  { System::read_link(path, to, room) } noexcept -> std::same_as<typename System::io_result>;
  { System::absolute_path(path, to, room) } noexcept -> std::same_as<typename System::io_result>;
  { System::temporary_path(to, room) } noexcept -> std::same_as<typename System::io_result>;
  { System::status_of_name(path, status) } noexcept -> std::same_as<typename System::io_result>;
  { System::status_of_target(path, status) } noexcept -> std::same_as<typename System::io_result>;
  { System::sync_directory(path) } noexcept -> std::same_as<typename System::io_result>;
};

/// pipe: writing to one that nobody reads is an error, never a signal. The calls that do not wait,
/// whatever the mode of the open file, may say cannot_tell. splice_... move bytes between a pipe and
/// another descriptor, neither of which waits; a system without it has has_splice false, and one with
/// it may refuse descriptors of a kind.
template <class System>
concept has_pipe = requires(typename System::handle fd, typename System::handle (&ends)[2],
                            bool child_reads, typename System::io_result moved,
                            const typename System::piece* parts,
                            void* to, const void* from, std::size_t n) {
  { System::read_pieces(fd, parts, n) } noexcept -> std::same_as<typename System::io_result>;
  { System::write_pieces(fd, parts, n) } noexcept -> std::same_as<typename System::io_result>;
  requires std::same_as<decltype(System::has_splice), const bool>;
  { System::splice_to_pipe(fd, fd, n) } noexcept -> std::same_as<typename System::io_result>;
  { System::splice_from_pipe(fd, fd, n) } noexcept -> std::same_as<typename System::io_result>;
  { System::cannot_splice(moved) } noexcept -> std::same_as<bool>;
  { System::widen_pipe(fd, n) } noexcept -> std::same_as<void>;
  requires std::same_as<decltype(System::cannot_tell), const typename System::io_result>;
  { System::open_pipe(ends) } noexcept -> std::same_as<typename System::io_result>;
  { System::open_pipe_to_child(ends, child_reads) } noexcept
      -> std::same_as<typename System::io_result>;
  { System::write_without_signal(fd, from, n) } noexcept
      -> std::same_as<typename System::io_result>;
  { System::read_at_once(fd, to, n) } noexcept -> std::same_as<typename System::io_result>;
  { System::write_at_once(fd, from, n) } noexcept -> std::same_as<typename System::io_result>;
};

/// caught_signals: signals that a handler only notes, for one thread that sleeps until some have
/// come. After remove() and wait_for_handlers() no handler of ours runs.
template <class System>
concept has_caught_signals = requires(int number, std::int64_t ns) {
  requires std::same_as<decltype(System::caught_signals::last), const int>;
  { System::caught_signals::bit(number) } noexcept -> std::same_as<std::uint64_t>;
  { System::caught_signals::is_raised_by_code(number) } noexcept -> std::same_as<bool>;
  { System::caught_signals::install(number) } noexcept -> std::same_as<typename System::io_result>;
  { System::caught_signals::remove(number) } noexcept -> std::same_as<void>;
  { System::caught_signals::wait_for_handlers() } noexcept -> std::same_as<void>;
  { System::caught_signals::sleep(ns) } noexcept -> std::same_as<void>;
  { System::caught_signals::take() } noexcept -> std::same_as<std::uint64_t>;
  { System::caught_signals::wake() } noexcept -> std::same_as<void>;
  { System::caught_signals::leave_to_other_threads() } noexcept -> std::same_as<void>;
};

/// quit_signal: one listener hears, in a handler, that the terminal wants the program to quit.
template <class System>
concept has_quit_signal = requires(void (*call)(void*) noexcept, void* argument) {
  { System::quit_listener::open(call, argument) } noexcept -> std::same_as<bool>;
  { System::quit_listener::close(argument) } noexcept -> std::same_as<void>;
};

// ---- without these reports say less -------------------------------------------------------------

/// fault: a look at each access to memory that is not there, on its thread, before what was there
/// before us sees it.
template <class System>
concept has_fault = requires(void (*observe)(const void*, const void*) noexcept) {
  { System::install_fault_observer(observe) } noexcept -> std::same_as<void>;
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
};

/// source_lines: whether and for how long reports may ask a tool of the system for lines of the
/// source, unseen by the program. A system without such a tool has the two settings and no lines.
template <class System>
concept has_source_lines = requires {
  requires std::same_as<decltype(System::wants_source_lines), std::atomic<bool>* const>;
  requires std::same_as<decltype(System::source_lines_patience_ns),
                        std::atomic<std::int64_t>* const>;
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

#endif  // THRUM_DETAIL_OS_CONTRACT_HPP
