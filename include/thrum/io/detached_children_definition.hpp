// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What io/detached_children.hpp declares: the bodies that are not inlined.
#ifndef THRUM_IO_DETACHED_CHILDREN_DEFINITION_HPP
#define THRUM_IO_DETACHED_CHILDREN_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/intrusive_list.hpp>
#include <thrum/io/child_process.hpp>
#include <thrum/io/detached_children.hpp>
#include <thrum/os/os.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <system_error>

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

THRUM_OUT_OF_LINE void detached_children::add(base::owner<child_process> child) noexcept {
  const std::lock_guard guard(state.lock);
  if (!state.is_hooked) {
    state.is_hooked = true;
    os::call_after_fork(&forget);
  }
  if (!state.watch.is_open() && !state.has_thread) {
    state.watch.open();  // without it all are looked at in intervals
  }
  child_process& one = *child.release();
  one.is_watched_ =
      one.has_pidfd() && state.watch.is_open() && state.watch.add(one.pidfd_, &one) == 0;
  (one.is_watched_ ? state.watched : state.others).push_back(one);
  ++state.count;
  if (!one.is_watched_ && state.watch.is_open()) {
    state.watch.wake();
  }
  have_thread_locked();
}

THRUM_OUT_OF_LINE void detached_children::look_after() noexcept {
  const std::lock_guard guard(state.lock);
  have_thread_locked();
}

THRUM_OUT_OF_LINE std::size_t detached_children::size() noexcept {
  const std::lock_guard guard(state.lock);
  return state.count;
}

THRUM_OUT_OF_LINE std::uint64_t detached_children::looks() noexcept {
  const std::lock_guard guard(state.lock);
  return state.looks;
}

THRUM_OUT_OF_LINE void detached_children::have_thread_locked() noexcept {
  if (state.count != 0 && !state.has_thread) {
    state.has_thread = os::start_detached_thread(&serve, nullptr) == 0;
  }
}

THRUM_OUT_OF_LINE void* detached_children::serve(void*) noexcept {
  os::set_thread_name("thrum-children");
  const os::bystander_scope readies_nobody;
  for (;;) {
    bool may_sleep;
    bool all_at_intervals;
    {
      const std::lock_guard guard(state.lock);
      if (state.count == 0) {
        state.watch.close();
        state.has_thread = false;
        return nullptr;
      }
      may_sleep = state.others.empty();
      all_at_intervals = !state.watch.is_open();
    }
    constexpr std::size_t at_once = 64;
    void* found[at_once];
    std::size_t n = 0;
    if (all_at_intervals) {
      os::sleep_ns(std::int64_t{interval_ms} * 1'000'000);
    } else {
      n = state.watch.sleep(found, at_once, may_sleep ? -1 : interval_ms);
    }
    const std::lock_guard guard(state.lock);
    for (std::size_t i = 0; i != n; ++i) {
      look_at_locked(*static_cast<child_process*>(found[i]));
    }
    for (child_process* one = state.others.front(); one != nullptr;) {
      child_process* const next = base::intrusive_list<child_process>::next(*one);
      look_at_locked(*one);
      one = next;
    }
  }
}

THRUM_OUT_OF_LINE void detached_children::look_at_locked(child_process& one) noexcept {
  ++state.looks;
  exit_status ignored;
  const bool ended = one.reap(ignored) != std::errc::resource_unavailable_try_again;
  if (one.is_watched_) {
    // It has ended; if it cannot be reaped yet, the watch would tell of it without end.
    state.watch.remove(one.pidfd_);
    state.watched.remove(one);
    one.is_watched_ = false;
    state.others.push_back(one);
  }
  if (ended) {
    state.others.remove(one);
    --state.count;
    delete &one;
  }
}

THRUM_OUT_OF_LINE void detached_children::forget() noexcept {
  state.watch.close();
  std::construct_at(&state);
  state.is_hooked = true;
  os::bystanders.store(0, std::memory_order_relaxed);  // relaxed: there is only this thread
}

}}}  // namespace thrum::THRUM_ABI::io_detail

#endif
