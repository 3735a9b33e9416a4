// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The part of chosen_system.hpp that is about descriptors, files, sockets, pipes and processes. Apart,
// since a layer may have these before it has the rest.
#ifndef THRUM_TESTS_PORTS_CHOSEN_IO_HPP
#define THRUM_TESTS_PORTS_CHOSEN_IO_HPP

#include "system_contract.hpp"

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/io_parts.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace os {

#define THRUM_OFFERS(capability, name) static constexpr auto name = &os::name;
#define THRUM_OFFERS_VALUE(capability, name) static constexpr auto name = os::name;
// NOLINTNEXTLINE(bugprone-macro-parentheses): the name of a type
#define THRUM_OFFERS_TYPE(capability, name) using name = os::name;

/// Has what io and net use of the layer as its members.
struct chosen_io {
  // clang-format off
  THRUM_OFFERS_TYPE(results, io_result)
  THRUM_OFFERS_VALUE(results, would_block)
  THRUM_OFFERS_VALUE(results, interrupted)
  THRUM_OFFERS_VALUE(results, cancelled)
  THRUM_OFFERS_VALUE(results, no_memory)
  THRUM_OFFERS_VALUE(results, bad_handle)
  THRUM_OFFERS_VALUE(results, invalid)
  THRUM_OFFERS_VALUE(results, not_supported)
  THRUM_OFFERS_VALUE(results, no_such_process)
  THRUM_OFFERS_VALUE(results, no_offsets)
  THRUM_OFFERS_VALUE(results, no_address)
  THRUM_OFFERS_VALUE(results, in_progress)
  THRUM_OFFERS_VALUE(results, peer_reset)
  THRUM_OFFERS_VALUE(results, peer_refused)
  THRUM_OFFERS_VALUE(results, peer_silent)
  THRUM_OFFERS_VALUE(results, peer_closed)
  THRUM_OFFERS_VALUE(results, address_taken)
  THRUM_OFFERS_VALUE(results, too_long)
  THRUM_OFFERS_VALUE(results, not_connected)
  THRUM_OFFERS_VALUE(results, always_ready)
  THRUM_OFFERS_VALUE(results, already_added)
  THRUM_OFFERS_VALUE(results, not_armed)
  THRUM_OFFERS(results, out_of_handles)
  THRUM_OFFERS(results, error_code_of)

  THRUM_OFFERS_TYPE(handles, handle)
  THRUM_OFFERS_VALUE(handles, no_handle)
  THRUM_OFFERS(handles, is_handle)
  THRUM_OFFERS(handles, handle_of)
  THRUM_OFFERS(handles, number_of)

  THRUM_OFFERS(descriptor, read)
  THRUM_OFFERS(descriptor, write)
  THRUM_OFFERS(descriptor, close)
  THRUM_OFFERS(descriptor, set_nonblocking)
  THRUM_OFFERS(descriptor, wait_for)

  THRUM_OFFERS(socket, start_sockets)
  THRUM_OFFERS(socket, open_socket)
  THRUM_OFFERS(socket, connect)
  THRUM_OFFERS(socket, connection_state)
  THRUM_OFFERS(socket, bind)
  THRUM_OFFERS(socket, listen)
  THRUM_OFFERS(socket, accept)
  THRUM_OFFERS(socket, gone_while_queued)
  THRUM_OFFERS(socket, receive)
  THRUM_OFFERS(socket, peek)
  THRUM_OFFERS(socket, send)
  THRUM_OFFERS(socket, send_message)
  THRUM_OFFERS(socket, receive_from)
  THRUM_OFFERS(socket, send_to)
  THRUM_OFFERS(socket, send_messages)
  THRUM_OFFERS(socket, receive_messages)
  THRUM_OFFERS(socket, send_file)
  THRUM_OFFERS(socket, cannot_send_file)
  THRUM_OFFERS(socket, resolver_cause)
  THRUM_OFFERS_VALUE(socket, reading)
  THRUM_OFFERS_VALUE(socket, writing)
  THRUM_OFFERS(socket, shut_down)
  THRUM_OFFERS(socket, reuse_address)
  THRUM_OFFERS(socket, reuse_port)
  THRUM_OFFERS(socket, set_no_delay)
  THRUM_OFFERS_TYPE(socket, keep_alive_numbers)
  THRUM_OFFERS(socket, set_keep_alive)
  THRUM_OFFERS(socket, set_option)
  THRUM_OFFERS(socket, socket_family)
  THRUM_OFFERS(socket, interface_number)
  THRUM_OFFERS_TYPE(socket, piece)
  THRUM_OFFERS_TYPE(socket, message)
  THRUM_OFFERS(socket, piece_of)
  THRUM_OFFERS(socket, set_linger)
  THRUM_OFFERS(socket, set_fast_open)
  THRUM_OFFERS(socket, set_member)
  THRUM_OFFERS(socket, set_multicast_link)
  THRUM_OFFERS(socket, set_multicast_hops)
  THRUM_OFFERS(socket, set_multicast_loop)
  THRUM_OFFERS_TYPE(socket, tcp_numbers)
  THRUM_OFFERS(socket, get_tcp_numbers)
  THRUM_OFFERS(socket, get_option)
  THRUM_OFFERS(socket, socket_name)

  THRUM_OFFERS_TYPE(file, file_kind)
  THRUM_OFFERS_VALUE(file, null_device)
  THRUM_OFFERS_TYPE(file, system_open_flags)
  THRUM_OFFERS_TYPE(file, open_mode)
  THRUM_OFFERS_TYPE(file, seek_from)
  THRUM_OFFERS(file, open_file)
  THRUM_OFFERS(file, open_file_with_flags)
  THRUM_OFFERS(file, remove_file)
  THRUM_OFFERS(file, make_directory)
  THRUM_OFFERS(file, read_at)
  THRUM_OFFERS(file, write_at)
  THRUM_OFFERS(file, seek)
  THRUM_OFFERS(file, sync)
  THRUM_OFFERS(file, truncate)
  THRUM_OFFERS(file, file_size)
  THRUM_OFFERS(file, kind_of)
  THRUM_OFFERS(file, duplicate)
  THRUM_OFFERS(file, standard_handle)
  THRUM_OFFERS(file, status_of)
  THRUM_OFFERS(file, give_rights)

  THRUM_OFFERS_TYPE(directory, entry_kind)
  THRUM_OFFERS_TYPE(directory, file_status)
  THRUM_OFFERS_VALUE(directory, most_open_directories)
  THRUM_OFFERS_TYPE(directory, directory_reader)
  THRUM_OFFERS_TYPE(directory, open_directory)
  THRUM_OFFERS_VALUE(directory, path_separator)
  THRUM_OFFERS(directory, ends_directory)
  THRUM_OFFERS(directory, remove_tree)
  THRUM_OFFERS(directory, rename_file)
  THRUM_OFFERS(directory, read_link)
  THRUM_OFFERS(directory, absolute_path)
  THRUM_OFFERS(directory, temporary_path)
  THRUM_OFFERS(directory, status_of_name)
  THRUM_OFFERS(directory, status_of_target)
  THRUM_OFFERS(directory, sync_directory)

  THRUM_OFFERS_VALUE(pipe, cannot_tell)
  THRUM_OFFERS(pipe, read_pieces)
  THRUM_OFFERS(pipe, write_pieces)
  THRUM_OFFERS_VALUE(pipe, has_splice)
  THRUM_OFFERS(pipe, splice_to_pipe)
  THRUM_OFFERS(pipe, splice_from_pipe)
  THRUM_OFFERS(pipe, cannot_splice)
  THRUM_OFFERS(pipe, widen_pipe)
  THRUM_OFFERS(pipe, open_pipe)
  THRUM_OFFERS(pipe, open_pipe_to_child)
  THRUM_OFFERS(pipe, write_without_signal)
  THRUM_OFFERS(pipe, read_at_once)
  THRUM_OFFERS(pipe, write_at_once)

  THRUM_OFFERS_TYPE(process, spawn_request)
  THRUM_OFFERS_TYPE(process, process_end)
  THRUM_OFFERS(process, is_replaced_before)
  THRUM_OFFERS(process, own_process)
  THRUM_OFFERS(process, spawn)
  THRUM_OFFERS(process, open_process)
  THRUM_OFFERS(process, wait_process)
  THRUM_OFFERS(process, signal_process)
  THRUM_OFFERS(process, kill_process)
  THRUM_OFFERS(process, ask_process_to_end)
  THRUM_OFFERS_VALUE(process, has_process_groups)
  THRUM_OFFERS(process, signal_group)
  THRUM_OFFERS(process, kill_group)
  THRUM_OFFERS(process, ask_group_to_end)
  THRUM_OFFERS(process, open_terminal)
  THRUM_OFFERS(process, resize_terminal)
  THRUM_OFFERS(process, is_terminal_end)

  THRUM_OFFERS_TYPE(child_watch, child_watch)

  THRUM_OFFERS_TYPE(file_watch, file_change_seen)
  THRUM_OFFERS_TYPE(file_watch, file_watch)
  THRUM_OFFERS(file_watch, take_change)
  // clang-format on
};

#undef THRUM_OFFERS
#undef THRUM_OFFERS_VALUE
#undef THRUM_OFFERS_TYPE

// NOLINTBEGIN(bugprone-macro-parentheses): the name of a concept
#define THRUM_REQUIRES(capability)     \
  static_assert(capability<chosen_io>, \
                "the system's layer wants " #capability ": see tests/ports/system_contract.hpp");
// NOLINTEND(bugprone-macro-parentheses)
// clang-format off
THRUM_REQUIRES(has_results)
THRUM_REQUIRES(has_handles)
THRUM_REQUIRES(has_descriptor)
THRUM_REQUIRES(has_socket)
THRUM_REQUIRES(has_file)
THRUM_REQUIRES(has_directory)
THRUM_REQUIRES(has_pipe)
THRUM_REQUIRES(has_process)
THRUM_REQUIRES(has_child_watch)
THRUM_REQUIRES(has_file_watch)
// clang-format on
#undef THRUM_REQUIRES

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_TESTS_PORTS_CHOSEN_IO_HPP
