// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a destructor does about those that still wait in its object: they would use memory that is gone.
//
// The program ends with one sentence and the place of each waiter. Three cases are left alone: what a
// process that exits destroys, where goroutines stand still; static objects, which some systems' exit()
// destroys before that (os/exit.hpp); and a process that was forked, which has no waiters. A waiter
// that the stop of its runtime is about to cancel is cancelled here.
#ifndef THRUM_DETAIL_SYNC_DESTROYED_WAITERS_HPP
#define THRUM_DETAIL_SYNC_DESTROYED_WAITERS_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/intrusive_list.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/detail/sched/run/wait_point.hpp>
#include <thrum/detail/sched/run/wake_list.hpp>

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

#if THRUM_BODIES
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/debug/backtrace.hpp>
#include <thrum/detail/debug/dump.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/life/process_exit.hpp>

#include <cstdlib>
#include <utility>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace sync_detail {

/// Whether an address lies in the program, or in a shared object.
inline bool is_static(const void* address) noexcept {
  base::message<64> nowhere;
  base::message<64> place;
  os::append_address(nowhere, nullptr);
  os::append_address(place, address);
  return place.view() != nowhere.view();
}

THRUM_COLD THRUM_OUT_OF_LINE destroyed_waiters::destroyed_waiters(const void* part) noexcept
    : is_exit_(sched::process_exit::is_mine() || is_static(part)) {}

THRUM_OUT_OF_LINE bool destroyed_waiters::cancel(sched::wait_point& point) noexcept {
  sched::goroutine& g = *point.g;
  const sched::wait_point& shown = point.selection != nullptr ? point.selection->self : point;
  // relaxed: the waiter has shown it before it left the lock to us
  if (!g.scheduler->ending.has_begun() ||
      g.withdrawable.load(std::memory_order_relaxed) != &shown) {
    return false;
  }
  if (point.selection != nullptr) {
    settle_selection(point, sched::wake_cause::cancelled);
  } else {
    settle(point, sched::wake_cause::cancelled);
  }
  return true;
}

THRUM_COLD THRUM_OUT_OF_LINE void destroyed_waiters::add(sched::wait_point& point) noexcept {
  if (is_exit_) {
    return;
  }
  if (point.selection != nullptr && !point.selection->win(point)) {
    return;  // another case has ended its wait
  }
  const sched::goroutine* const g = point.g;
  if (g == nullptr) {
    threads_ += sched::callback_point::is_one(point) ? 0 : 1;
    return;
  }
  // relaxed: only a child process sets it
  if (g->scheduler->is_copy.load(std::memory_order_relaxed)) {
    return;
  }
  if (cancel(point)) {
    cancelled_.push_back(&point);
    return;
  }
  if (goroutines_ < most) {
    shown_[goroutines_] = g;
    debug::collect_parked(*g, callers_[goroutines_]);
  }
  ++goroutines_;
}

THRUM_COLD THRUM_OUT_OF_LINE void destroyed_waiters::end(std::string_view what) noexcept {
  cancelled_.wake_all();
  if (goroutines_ + threads_ == 0) {
    return;
  }
  base::message<512> text("fatal error: thrum: ");
  text.append(what).append(" is destroyed while ");
  if (goroutines_ != 0) {
    text.append(goroutines_).append(goroutines_ == 1 ? " goroutine" : " goroutines");
  }
  if (threads_ != 0) {
    text.append(goroutines_ != 0 ? " and " : "").append(threads_);
    text.append(threads_ == 1 ? " thread" : " threads");
  }
  text.append(goroutines_ + threads_ == 1 ? " waits" : " wait");
  text.append(" in it; end or join those that wait first, or share the object with them\n");
  base::write_error(text.view());
  const std::size_t size = goroutines_ < most ? goroutines_ : most;
  os::call_stack here;
  os::collect_callers(here, 0);
  os::symbolizer symbols;
  std::vector<const void*> places(here.frames, here.frames + here.size);
  for (std::size_t i = 0; i != size; ++i) {
    places.insert(places.end(), callers_[i].frames, callers_[i].frames + callers_[i].size);
    places.push_back(debug::starting_call(*shown_[i]));
  }
  symbols.find_lines(std::move(places));
  for (std::size_t i = 0; i != size; ++i) {
    debug::goroutine_record record;
    const sched::goroutine& g = *shown_[i];
    debug::describe_into(record, g, (os::now() - g.scheduler->started_at) / 1'000'000);
    record.frames = callers_[i].frames;
    record.size = callers_[i].size;
    base::write_error(debug::describe(symbols, record));
  }
  base::write_error("destroyed in:\n" + debug::describe_callers(symbols, here.frames, here.size));
  base::abort_reported();
}

}}}  // namespace thrum::THRUM_ABI::sync_detail
#endif

#endif
