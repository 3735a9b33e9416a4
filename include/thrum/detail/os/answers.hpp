// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a system's layer answers when the floors above ask it what it is able to do, or what it sees,
// which is the same for all systems: threads, fences, changes of files, figures of TCP.
#ifndef THRUM_DETAIL_OS_ANSWERS_HPP
#define THRUM_DETAIL_OS_ANSWERS_HPP

#include <thrum/detail/base/config.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// What another thread does at this moment.
enum class thread_look : std::uint8_t {
  computes,   ///< runs, or waits for a CPU
  in_system,  ///< sleeps in a call of the system; or there is no such thread any more
  in_fault,   ///< waits for memory that it touched: in no call; few systems tell it from in_system
  unknown     ///< the system does not say
};

/// Which side pays for an asymmetric fence.
enum class fence_kind : std::uint8_t {
  free_light_side,  ///< the heavy side, with one call for all threads; the light one is free
  on_both_sides,    ///< both: each is a full fence
  of_each_thread    ///< the heavy side, with a call for each thread; the light one is free
};

/// What has happened to something that is watched, or in it. One of the first claims is true.
struct file_change_seen {
  int number = 0;  // of the watch
  bool is_created = false;
  bool is_removed = false;
  bool is_modified = false;
  bool has_attributes = false;  // permissions, owner, times have changed
  bool is_lost = false;         // changes came faster than they were read
  bool is_last = false;         // the watch has ended
  bool is_moved =
      false;  // the watched thing itself: the system goes on watching it, as something else
  bool is_directory = false;  // that it has happened to
  const char* name = "";      // in the directory that is watched; empty: the watched thing itself
};

/// What the system knows of a TCP connection.
struct tcp_numbers {
  std::uint32_t rtt_us = 0;
  std::uint32_t rtt_variance_us = 0;
  std::uint32_t least_rtt_us = 0;
  std::uint32_t timeout_us = 0;
  std::uint32_t window = 0;     // of congestion, in segments
  std::uint32_t threshold = 0;  // of slow start, in segments
  std::uint32_t segment_size = 0;
  std::uint32_t unacknowledged = 0;
  std::uint32_t lost = 0;
  std::uint32_t retransmits = 0;  // of all time
  std::uint32_t retries = 0;      // of what is on its way now
};

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_DETAIL_OS_ANSWERS_HPP
