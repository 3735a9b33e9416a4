// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What came of a function, kept for others than its caller: once_value, singleflight, task_group.
#ifndef THRUM_DETAIL_SYNC_KEPT_RESULT_HPP
#define THRUM_DETAIL_SYNC_KEPT_RESULT_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/sched/run/goroutine_exit.hpp>
#include <thrum/join_handle.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace sync_detail {

/// Calls f(args...) and keeps what it returns.
template <class R, class F, class... Args>
void call_and_keep(go_detail::result_slot<R>& slot, F&& f, Args&&... args) {
  if constexpr (std::is_void_v<R>) {
    std::invoke(std::forward<F>(f), std::forward<Args>(args)...);
    slot.value.emplace();
  } else if constexpr (std::is_reference_v<R>) {
    auto&& target = std::invoke(std::forward<F>(f), std::forward<Args>(args)...);
    slot.value.emplace(std::addressof(target));
  } else {
    slot.value.emplace(std::invoke(std::forward<F>(f), std::forward<Args>(args)...));
  }
}

/// Calls f(args...) and keeps what it returns or throws. goroutine_exit is not kept: it leaves this.
template <class R, class F, class... Args>
void keep_outcome(go_detail::result_slot<R>& slot, F&& f, Args&&... args) {
#if THRUM_EXCEPTIONS
  try {
    call_and_keep(slot, std::forward<F>(f), std::forward<Args>(args)...);
  } catch (const goroutine_exit&) {
    throw;
  } catch (...) {
    slot.error = std::current_exception();
  }
#else
  call_and_keep(slot, std::forward<F>(f), std::forward<Args>(args)...);
#endif
}

/// Throws the exception that was kept, if it was one.
template <class R>
void rethrow_kept([[maybe_unused]] const go_detail::result_slot<R>& slot) {
#if THRUM_EXCEPTIONS
  if (slot.error) {
    std::rethrow_exception(slot.error);
  }
#endif
}

}}}  // namespace thrum::THRUM_ABI::sync_detail

#endif
