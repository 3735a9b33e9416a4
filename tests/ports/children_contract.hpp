// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What an operating system must offer for child processes, and for changes of files: the part of
// contract.hpp that is about what others do.
#ifndef THRUM_TESTS_PORTS_CHILDREN_CONTRACT_HPP
#define THRUM_TESTS_PORTS_CHILDREN_CONTRACT_HPP

#include <thrum/detail/base/config.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

// As in system_contract.hpp.
// clang-format off

/// process: starting a program, waiting for its end, sending it a signal. open_process gives a
/// descriptor that stands for a child and becomes readable at its end, or an error where there is
/// none.
template <class System>
concept has_process = requires(const typename System::spawn_request& request,
                               typename System::process_end& end, std::int64_t pid,
                               typename System::handle fd,
                               bool may_block, bool reap, int signal, char* path,
                               std::size_t room, unsigned count) {
  { System::own_process() } noexcept -> std::same_as<std::int64_t>;
  { System::spawn(request) } noexcept -> std::same_as<typename System::io_result>;
  { System::open_process(pid) } noexcept -> std::same_as<typename System::io_result>;
  { System::wait_process(pid, fd, may_block, reap, end) } noexcept
      -> std::same_as<typename System::io_result>;
  { System::signal_process(pid, fd, signal) } noexcept -> std::same_as<typename System::io_result>;
  { System::kill_process(pid, fd) } noexcept -> std::same_as<typename System::io_result>;
  { System::ask_process_to_end(pid, fd) } noexcept -> std::same_as<typename System::io_result>;
  { request.streams[2] } -> std::convertible_to<typename System::handle>;
  requires std::same_as<decltype(System::has_process_groups), const bool>;
  { System::signal_group(pid, signal) } noexcept -> std::same_as<typename System::io_result>;
  { System::kill_group(pid) } noexcept -> std::same_as<typename System::io_result>;
  { System::ask_group_to_end(pid) } noexcept -> std::same_as<typename System::io_result>;
  { System::open_terminal(path, room) } noexcept -> std::same_as<typename System::io_result>;
  { System::resize_terminal(fd, count, count) } noexcept
      -> std::same_as<typename System::io_result>;
  { System::is_terminal_end(pid) } noexcept -> std::same_as<bool>;
  { System::is_replaced_before(fd, signal) } noexcept -> std::same_as<bool>;
  requires std::same_as<decltype(end.code), int>;
  requires std::same_as<decltype(end.signal), int>;
  requires std::same_as<decltype(end.dumped_core), bool>;
};

/// child_watch: one thread sleeps until any of many children has ended, or a thread wakes it.
template <class System>
concept has_child_watch = requires(typename System::child_watch& watch,
                                   const typename System::child_watch& seen,
                                   typename System::handle fd, void* child,
                                   void** found, std::size_t most, int ms) {
  { seen.is_open() } noexcept -> std::same_as<bool>;
  { watch.open() } noexcept -> std::same_as<typename System::io_result>;
  { watch.add(fd, child) } noexcept -> std::same_as<typename System::io_result>;
  { watch.remove(fd) } noexcept -> std::same_as<void>;
  { watch.sleep(found, most, ms) } noexcept -> std::same_as<std::size_t>;
  { watch.wake() } noexcept -> std::same_as<void>;
  { watch.close() } noexcept -> std::same_as<void>;
};

/// file_watch: gives a descriptor that becomes readable when something has changed that was added to
/// it, by its path. What read() finds then, take_change takes apart: from one change to the next. One
/// call at a time; close() when the descriptor is closed, or never.
template <class System>
concept has_file_watch = requires(typename System::file_watch& watch,
                                  typename System::handle fd, const char* path, int number,
                                  std::byte* to, std::size_t room, const std::byte* at,
                                  typename System::file_change_seen& change) {
  { watch.open() } noexcept -> std::same_as<typename System::io_result>;
  { watch.add(fd, path) } noexcept -> std::same_as<typename System::io_result>;
  { watch.remove(fd, number) } noexcept -> std::same_as<typename System::io_result>;
  { watch.read(fd, to, room) } noexcept -> std::same_as<typename System::io_result>;
  { watch.close() } noexcept -> std::same_as<void>;
  { System::take_change(at, change) } noexcept -> std::same_as<const std::byte*>;
};

// clang-format on

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_TESTS_PORTS_CHILDREN_CONTRACT_HPP
