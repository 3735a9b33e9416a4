// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Changes of files: ReadDirectoryChangesW.
//
// Purpose
//   Each directory has an operation under way that ends when something has changed in it; a file is
//   watched by its directory. The end sets an event, for which the system's own threads wait; they
//   write a byte into a pipe of ours, whose reading end is the descriptor: that a poller knows how to
//   wait for (netpoll/object_waits.hpp). The byte says no more than that read() should look.
//   Between two operations the system keeps what changes, as much as one takes.
//
//   An operation ends, too, with the thread that has begun it. Then read() begins another one.
#ifndef THRUM_OS_WINDOWS_FILE_WATCH_HPP
#define THRUM_OS_WINDOWS_FILE_WATCH_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/os/file_changes.hpp>
#include <thrum/os/windows/handle.hpp>
#include <thrum/os/windows/result.hpp>

#include <cstddef>

namespace thrum { inline namespace THRUM_ABI { namespace os {

class file_watch {
 public:
  file_watch() noexcept = default;
  file_watch(const file_watch&) = delete;
  file_watch& operator=(const file_watch&) = delete;
  ~file_watch() { close(); }

  /// The descriptor, or an error below zero.
  io_result open() noexcept;
  void close() noexcept;

  /// The watch's number. May block.
  io_result add(handle fd, const char* path) noexcept;
  io_result remove(handle fd, int number) noexcept;

  /// Some changes for take_change; would_block: there are none.
  io_result read(handle fd, std::byte* to, std::size_t room) noexcept;

 private:
  struct watched;
  struct changes_to;

  static void free(watched* one) noexcept;
  /// Begins the next operation; whether that could be done.
  static bool begin(watched& one) noexcept;
  static void collect(watched& one, changes_to& to) noexcept;
  static void take_end(watched& one, changes_to& to) noexcept;
  static void take_found(watched& one, changes_to& to) noexcept;
  void collect_all(changes_to& to) noexcept;

  watched* first_ = nullptr;
  int last_number_ = 0;
  handle teller_ = no_handle;  // the end of the pipe that is written to
};

const std::byte* take_change(const std::byte* at, file_change_seen& change) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/windows/file_watch_definition.hpp>
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_OS_WINDOWS_FILE_WATCH_HPP
