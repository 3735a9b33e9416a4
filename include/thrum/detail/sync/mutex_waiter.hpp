// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A waiter of a mutex: an element of the list in its word.
#ifndef THRUM_DETAIL_SYNC_MUTEX_WAITER_HPP
#define THRUM_DETAIL_SYNC_MUTEX_WAITER_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/sched/run/wait_point.hpp>
#include <thrum/detail/sync/mutex_queue.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace sync_detail {

/// A waiter. Aligned so that its address leaves room for the flags.
struct alignas(16) queue_word::waiter : sched::callback_point {
  waiter() = default;
  /// Not of a goroutine or a thread: `function` is called to wake it.
  explicit waiter(callback_function function) noexcept : callback_point(function) {}

  bool granted = false;    // it was handed the mutex
  waiter* last = nullptr;  // of the list that it is the first of
};

}}}  // namespace thrum::THRUM_ABI::sync_detail

#endif
