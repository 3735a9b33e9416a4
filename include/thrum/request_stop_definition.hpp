// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What request_stop.hpp declares: the bodies that are not inlined.
#ifndef THRUM_REQUEST_STOP_DEFINITION_HPP
#define THRUM_REQUEST_STOP_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/request_stop.hpp>
#include <thrum/sched/run/uncancellable.hpp>
#include <thrum/thread_lock.hpp>

#include <stop_token>

namespace thrum { inline namespace THRUM_ABI { namespace go_detail {

THRUM_OUT_OF_LINE bool request_stop_here(std::stop_source& of) noexcept {
  const sched::uncancellable until_all_are_told;
  const thread_lock same_thread;
  return of.request_stop();
}

}}}  // namespace thrum::THRUM_ABI::go_detail

#endif
