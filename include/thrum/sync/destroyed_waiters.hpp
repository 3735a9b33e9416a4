// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a destructor does about those that still wait in its object: they would use memory that is gone.
//
// The program ends with one sentence and the place of each waiter. Three cases are left alone: what a
// process that exits destroys, where goroutines stand still; static objects, which some systems' exit()
// destroys before that (os/posix/exit.hpp); and a process that was forked, which has no waiters. A waiter
// that the stop of its runtime is about to cancel is cancelled here.
#ifndef THRUM_SYNC_DESTROYED_WAITERS_HPP
#define THRUM_SYNC_DESTROYED_WAITERS_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/intrusive_list.hpp>
#include <thrum/base/intrusive_ring.hpp>
#include <thrum/os/parts.hpp>
#include <thrum/sched/run/wait_point.hpp>
#include <thrum/sched/run/wake_list.hpp>

#include <cstddef>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace sync_detail {

/// Fill it with the object's lock held, so that waiters stand still; then call end() without the lock.
class destroyed_waiters {
 public:
  /// `part` lies in the object.
  explicit destroyed_waiters(const void* part) noexcept;

  /// Takes those out that wait in a list.
  void take(base::intrusive_list<sched::wait_point>& list) noexcept {
    while (sched::wait_point* const point = is_exit_ ? nullptr : list.pop_front()) {
      add(*point);
    }
  }
  void take(base::intrusive_ring<sched::wait_point>& ring) noexcept {
    while (sched::wait_point* const point = is_exit_ ? nullptr : ring.pop_front()) {
      add(*point);
    }
  }

  /// One that is out of its list, or will never be looked for in it.
  void add(sched::wait_point& point) noexcept;

  /// Wakes those that were cancelled. If there were others: says that `what` was destroyed, and ends
  /// the program.
  void end(std::string_view what) noexcept;

 private:
  static constexpr std::size_t most = 4;  // are shown

  /// Whether its runtime stops, so that the wait ends now. The point is settled then.
  static bool cancel(sched::wait_point& point) noexcept;

  sched::wake_list cancelled_;
  std::size_t goroutines_ = 0;
  std::size_t threads_ = 0;
  const sched::goroutine* shown_[most] = {};
  os::call_stack callers_[most];
  const bool is_exit_;
};

/// A destructor's slow path for an object with a lock and lists.
template <class Lock, class... Lists>
THRUM_COLD void end_waits(std::string_view what, Lock& lock, Lists&... lists) noexcept {
  destroyed_waiters found(&lock);
  {
    const sched::section here;
    const sched::scoped guard(lock);
    (found.take(lists), ...);
  }
  found.end(what);
}

}}}  // namespace thrum::THRUM_ABI::sync_detail

#if !THRUM_SEPARATE
#include <thrum/sync/destroyed_waiters_definition.hpp>
#endif

#endif
