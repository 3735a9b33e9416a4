// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a system's layer answers when the floors above ask it what it is able to do, or what it sees:
// words that are the same for all systems.
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

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_DETAIL_OS_ANSWERS_HPP
