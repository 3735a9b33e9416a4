// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A goroutine that is going to occupy its thread leaves that of a host for one of its runtime's own:
// the host would not get back to its main loop.
#ifndef THRUM_DETAIL_SCHED_HOST_HOST_LEAVE_HPP
#define THRUM_DETAIL_SCHED_HOST_HOST_LEAVE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/sched/core/section.hpp>
#include <thrum/detail/sched/run/yield.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// No host takes it any more, until may_be_on_host. False, and nothing is done, on any other thread,
/// and for a goroutine that is bound to the host. `here` is one of a goroutine that may park.
inline bool leave_host(section& here) noexcept {
  machine& m = here.this_m();
  if (m.as_host == nullptr || (m.g->flags & g_bound) != 0) [[likely]] {
    return false;
  }
  m.g->flags |= g_off_host;
  here.moved_to(yield_slow(m));
  return true;
}

inline void may_be_on_host(goroutine& g) noexcept {
  g.flags &= static_cast<std::uint8_t>(~g_off_host);
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
