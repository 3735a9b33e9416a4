// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A function that is to be called once a context is done.
//
// It is a timer that is not armed (time/timer.hpp), which brings what is needed: the function, the
// runtime that it is to run on, which may be gone by then, and a goroutine of its own for it. To
// call it is to arm it for now.
//
// A context owns the functions that it lists; a handle shares one with it. If a context goes that is
// not done, its functions go to its parent: no caller can cancel that context alone any
// more, so it would have been done together with its parent. Without a parent they can never be
// called, and go.
//
// Invariant
//   CF1  a function is listed, or has been called, or was stopped: under the lock of the node that
//        lists it. While a handle refers to it, that is the node that the handle keeps.
#ifndef THRUM_DETAIL_CONTEXT_FUNCTION_HPP
#define THRUM_DETAIL_CONTEXT_FUNCTION_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/intrusive_list.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/time/timer.hpp>

#include <memory>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace context_detail {

struct context_function : base::list_node<context_function> {
  explicit context_function(time_detail::func_timer_handle function) noexcept
      : timer(std::move(function)) {}

  time_detail::func_timer_handle timer;      // until it is called or stopped
  std::shared_ptr<context_function> listed;  // itself, for the node that lists it

  /// The node's part, taken once under the lock of the node; it outlasts that lock.
  struct share {
    std::shared_ptr<context_function> of;
    time_detail::func_timer_handle timer;

    /// Calls it, unless its runtime has stopped. Without any lock.
    void call() const noexcept {
      bool was_armed = false;
      static_cast<void>(timer.get()->try_reset(sched::traits::now(), was_armed));
    }
  };
  share give_up() noexcept { return {std::move(listed), std::move(timer)}; }
};

}}}  // namespace thrum::THRUM_ABI::context_detail

#endif
