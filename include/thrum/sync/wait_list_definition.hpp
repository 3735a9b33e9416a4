// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What sync/wait_list.hpp declares: the bodies that are not inlined.
#ifndef THRUM_SYNC_WAIT_LIST_DEFINITION_HPP
#define THRUM_SYNC_WAIT_LIST_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/intrusive_list.hpp>
#include <thrum/sched/run/park.hpp>
#include <thrum/sync/wait_list.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace sync_detail {

THRUM_OUT_OF_LINE void wait_list::take_all(wake_cause cause, wake_list& released) noexcept {
  take_all_if(
      [cause](wait_point& point) noexcept {
        settle(point, cause);
        return true;
      },
      released);
}

THRUM_OUT_OF_LINE bool wait_list::unlink(wait_point& point) noexcept {
  const bool linked = point.linked;
  if (linked) {
    points.remove(point);
  }
  return linked;
}

THRUM_OUT_OF_LINE withdrawal wait_list::withdraw(wait_point& point, bool locked) noexcept {
  auto& list = *static_cast<wait_list*>(point.object);
  return unlink_under(list.lock, locked, [&]() noexcept { return list.unlink(point); });
}

THRUM_OUT_OF_LINE waiting::waiting(section& here, wait_list& list, void* slot) noexcept
    : here_(here), list_(list) {
  point_.g = here.g();
  point_.object = &list;
  point_.withdraw = &wait_list::withdraw;
  point_.slot = slot;
}

THRUM_OUT_OF_LINE wake_cause waiting::wait(const wait_options& options) noexcept {
  list_.points.push_back(point_);
  return sched::wait(here_, point_, list_.lock, options);
}

}}}  // namespace thrum::THRUM_ABI::sync_detail

#endif
