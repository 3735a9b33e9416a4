// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How the library requests a stop: callbacks of the user's run in the goroutine that does.
#ifndef THRUM_DETAIL_START_REQUEST_STOP_HPP
#define THRUM_DETAIL_START_REQUEST_STOP_HPP

#include <thrum/detail/base/config.hpp>

#include <stop_token>

namespace thrum { inline namespace THRUM_ABI { namespace go_detail {

/// std::stop_callback tells by the thread whether it is destroyed inside its own call. So a
/// goroutine must not change threads while it requests a stop, nor another one run on its thread
/// meanwhile: callbacks may wait. But they may not throw, so nothing cancels them. Whether this call
/// was the first.
THRUM_OUT_OF_LINE bool request_stop_here(std::stop_source& of) noexcept;

}}}  // namespace thrum::THRUM_ABI::go_detail

#if THRUM_BODIES
#include <thrum/detail/sched/run/goroutine_exit.hpp>
#include <thrum/thread_lock.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace go_detail {

THRUM_OUT_OF_LINE bool request_stop_here(std::stop_source& of) noexcept {
  const sched::uncancellable until_all_are_told;
  const thread_lock same_thread;
  return of.request_stop();
}

}}}  // namespace thrum::THRUM_ABI::go_detail
#endif

#endif
