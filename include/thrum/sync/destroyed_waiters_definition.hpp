// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What sync/destroyed_waiters.hpp declares: the bodies that are not inlined.
#ifndef THRUM_SYNC_DESTROYED_WAITERS_DEFINITION_HPP
#define THRUM_SYNC_DESTROYED_WAITERS_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/fatal.hpp>
#include <thrum/base/message.hpp>
#include <thrum/debug/backtrace.hpp>
#include <thrum/debug/dump.hpp>
#include <thrum/os/os.hpp>
#include <thrum/sched/life/process_exit.hpp>
#include <thrum/sync/destroyed_waiters.hpp>

#include <cstddef>
#include <cstdlib>
#include <string_view>
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
    threads_ += sched::told_point::is_one(point) ? 0 : 1;
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
    places.push_back(shown_[i]->started_at);
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
  std::abort();
}

}}}  // namespace thrum::THRUM_ABI::sync_detail

#endif
