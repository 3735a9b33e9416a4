// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Changes of files: EVFILT_VNODE of kqueue.
//
// Purpose
//   The descriptor of a watch is a kqueue of its own. It can be read when the system has something to
//   tell of a file that is open here for that, and a poller waits for it as for another descriptor
//   (netpoll/kqueue.hpp).
//
//   Of a directory the system tells that something in it has changed, not what: then its names are
//   listed again and compared with what they were (os/listing.hpp). That somebody writes to a file in
//   it is told only to those who have the file open. So every file in a directory that is watched
//   takes a descriptor; what cannot be opened is compared when something else has changed.
//
// What cannot be seen
//   A file that came and was gone before its directory was listed. Several writes are told as one.
//   When there are no descriptors left for new files, that is told as a loss.
//
// One event at a time: what an event leads to may close files, of which a second event would tell.
#ifndef THRUM_OS_BSD_VNODE_WATCH_HPP
#define THRUM_OS_BSD_VNODE_WATCH_HPP

#include <thrum/base/config.hpp>

#if THRUM_POLLER_KQUEUE

#include <thrum/os/file_changes.hpp>
#include <thrum/os/listing.hpp>
#include <thrum/os/posix/handle.hpp>
#include <thrum/os/posix/result.hpp>

#include <cstddef>

namespace thrum { inline namespace THRUM_ABI { namespace os {

class vnode_watch {
 public:
  vnode_watch() noexcept = default;
  vnode_watch(const vnode_watch&) = delete;
  vnode_watch& operator=(const vnode_watch&) = delete;
  ~vnode_watch() { close(); }

  /// The descriptor, which is the caller's, or an error below zero.
  io_result open() noexcept;
  /// Closes all but the descriptor.
  void close() noexcept;

  /// The watch's number. May block, as may read().
  io_result add(handle queue, const char* path) noexcept;
  io_result remove(handle queue, int number) noexcept;

  /// Some changes for take_change; would_block: there are none.
  io_result read(handle queue, std::byte* to, std::size_t room) noexcept;

  /// The one at `at`; where the next one is.
  static const std::byte* take_change(const std::byte* at, file_change_seen& change) noexcept;

 private:
  struct watched;
  struct entry;
  struct observed;
  struct untold;
  struct packed;
  class names;

  static entry* make_entry(watched& in, const char* name, const file_facts& facts) noexcept;
  static void free(entry* file) noexcept;
  static void free(watched* one) noexcept;
  static bool observe(observed& file, unsigned what) noexcept;
  static void end(observed& file) noexcept;

  /// The names that are in a directory now.
  static io_result list(watched& one, names& found) noexcept;
  /// Opens those that are not told of yet. An error: there are no descriptors left.
  io_result observe_names(watched& one) noexcept;
  io_result observe_file(watched& one, entry& file) noexcept;
  void look_again(watched& one) noexcept;

  static bool is_still_there(const watched& one) noexcept;
  void take_event(observed& from, unsigned what) noexcept;
  /// Of a file that is open: what is known of it, and its name in what is watched.
  void take_file_event(const observed& from, file_facts& facts, const char* name,
                       unsigned what) noexcept;

  void tell(const watched& one, listing_change change, const char* name,
            bool is_directory) noexcept;
  void tell(const file_change_seen& seen, const char* name) noexcept;

  handle queue_ = no_handle;
  watched* first_ = nullptr;
  untold* first_untold_ = nullptr;
  untold* last_untold_ = nullptr;
  int last_number_ = 0;
  bool has_lost_ = false;
};

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/bsd/vnode_watch_definition.hpp>
#endif

#endif  // THRUM_POLLER_KQUEUE
#endif  // THRUM_OS_BSD_VNODE_WATCH_HPP
