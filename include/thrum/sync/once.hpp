// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// call_once: something that is done at most once, and is done when the call returns.
#ifndef THRUM_SYNC_ONCE_HPP
#define THRUM_SYNC_ONCE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/sync/wait_list.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

namespace thrum { inline namespace THRUM_ABI {

/// As std::once_flag.
class once_flag {
 public:
  constexpr once_flag() noexcept = default;
  once_flag(const once_flag&) = delete;
  once_flag& operator=(const once_flag&) = delete;

 private:
  template <class F, class... Args>
  friend void call_once(once_flag& flag, F&& f, Args&&... args);

  enum class state : std::uint8_t { fresh, running, done };

  /// True: the caller is to do it, and end() afterwards. Blocks while another caller does.
  [[gnu::cold]] bool begin() noexcept;

  void end(state then) noexcept;

  base::under_lock<state> state_{state::fresh};
  sched::spin_lock lock_{sched::lock_rank::waiters};
  sync_detail::wait_list waiters_{lock_};
};

/// As std::call_once: calls f(args...) unless that has been done with this flag; returns when it is
/// done, by whomever. If f ends by an exception, goroutine_exit included, it is not done: the
/// caller gets the exception, and the next caller tries. Not a cancellation point. A call from
/// inside f for the same flag blocks for ever.
template <class F, class... Args>
void call_once(once_flag& flag, F&& f, Args&&... args) {
  using state = once_flag::state;
  // [once.state <] acquire: what was done.
  if (flag.state_.load(std::memory_order_acquire) == state::done || !flag.begin()) [[likely]] {
    return;
  }
  THRUM_TRY { std::invoke(std::forward<F>(f), std::forward<Args>(args)...); }
  THRUM_CATCH_ALL {
    flag.end(state::fresh);
    THRUM_RETHROW;
  }
  flag.end(state::done);
}

}}  // namespace thrum::THRUM_ABI

#if THRUM_BODIES
namespace thrum { inline namespace THRUM_ABI {

THRUM_COLD THRUM_OUT_OF_LINE bool once_flag::begin() noexcept {
  sched::section here;
  for (;;) {
    sync_detail::waiting self(here, waiters_);
    lock_.lock();
    const state now = state_.get();
    if (now != state::running) {
      if (now == state::fresh) {
        state_.set(state::running);
      }
      lock_.unlock();
      return now == state::fresh;
    }
    self.wait({sched::wait_reason::once_wait, false, sched::no_deadline});
  }
}

THRUM_OUT_OF_LINE void once_flag::end(state then) noexcept {
  const sched::section here;
  lock_.lock();
  // [once.state >] release: what was done, to calls that find it done.
  state_.store(then, std::memory_order_release);
  sched::wake_list released;
  waiters_.take_all(sched::wake_cause::notified, released);
  lock_.unlock();
  released.wake_all();
}

}}  // namespace thrum::THRUM_ABI
#endif

#endif
