// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What an operating system must offer for net and io: the part of system_contract.hpp that is about
// descriptors, sockets, files, directories, pipes and signals. Without it there is no net and no io.
#ifndef THRUM_TESTS_PORTS_IO_CONTRACT_HPP
#define THRUM_TESTS_PORTS_IO_CONTRACT_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/file_modes.hpp>
#include <thrum/detail/os/socket_types.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <type_traits>

namespace thrum { inline namespace THRUM_ABI { namespace os {

// As in system_contract.hpp.
// clang-format off

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

/// pipe: writing to one without a reader is an error, never a signal. The calls that do not wait,
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

// clang-format on

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_TESTS_PORTS_IO_CONTRACT_HPP
