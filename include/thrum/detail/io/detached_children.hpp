// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Detached child processes: the program does not wait for them, and they leave no zombie.
//
// While there are such children, one thread of the process sleeps until one of them ends, and reaps
// it. It is no goroutine, since the children belong to no runtime and outlive each. It does not use
// SIGCHLD, whose handler belongs to the program. Starting and detaching one costs the same however
// many there are.
//
// The thread looks in intervals at a child without a pidfd, and at one that has ended but is held by
// a debugger. After fork() they are not the new process's children: it forgets them.
#ifndef THRUM_DETAIL_IO_DETACHED_CHILDREN_HPP
#define THRUM_DETAIL_IO_DETACHED_CHILDREN_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/intrusive_list.hpp>
#include <thrum/detail/base/owner.hpp>
#include <thrum/detail/io/child_process.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/sync/mutex.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

/// What there is of them, under the lock.
struct detached_state {
  mutex lock;                                   ///< for all that follows
  base::intrusive_list<child_process> watched;  ///< `watch` tells of their end
  base::intrusive_list<child_process> others;   ///< looked at in intervals
  os::child_watch watch;                        ///< open while there is the thread, if possible
  std::size_t count = 0;                        ///< of children, in both lists
  std::uint64_t looks = 0;                      ///< how often one was asked whether it has ended
  bool has_thread = false;                      ///< one sleeps until a child ends
  bool is_hooked = false;                       ///< fork() will tell us
};

/// Not destroyed: the thread goes on while the process exits.
union kept_detached_state {
  constexpr kept_detached_state() noexcept : value() {}
  ~kept_detached_state() {}

  detached_state value;
};

/// The only ones of the process. All members may be called by any goroutine and thread.
class detached_children {
 public:
  /// Takes over a child that has been started: it is reaped at its end.
  static void add(base::owner<child_process> child) noexcept;

  /// Makes the thread that could not be made before. Does nothing if there is need for none.
  static void look_after() noexcept;

  /// How many have not been reaped yet.
  static std::size_t size() noexcept;
  /// How often one of them was ever asked whether it has ended.
  static std::uint64_t looks() noexcept;

 private:
  static constexpr int interval_ms = 50;

  static void have_thread_locked() noexcept;

  static void* serve(void*) noexcept;

  static void look_at_locked(child_process& one) noexcept;

  /// In the child of a fork: the thread, and the holder of the lock, are not there.
  static void forget() noexcept;

  static detached_state& state() noexcept {
    static constinit kept_detached_state kept;
    return kept.value;
  }
};

}}}  // namespace thrum::THRUM_ABI::io_detail

#if THRUM_BODIES
#include <cstddef>
#include <memory>
#include <mutex>
#include <system_error>

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

THRUM_OUT_OF_LINE void detached_children::add(base::owner<child_process> child) noexcept {
  const std::lock_guard guard(state().lock);
  if (!state().is_hooked) {
    state().is_hooked = true;
    os::call_after_fork(&forget);
  }
  if (!state().watch.is_open() && !state().has_thread) {
    state().watch.open();  // without it all are looked at in intervals
  }
  child_process& one = *child.release();
  one.is_watched_ =
      one.has_pidfd() && state().watch.is_open() && state().watch.add(one.pidfd_, &one) == 0;
  (one.is_watched_ ? state().watched : state().others).push_back(one);
  ++state().count;
  if (!one.is_watched_ && state().watch.is_open()) {
    state().watch.wake();
  }
  have_thread_locked();
}

THRUM_OUT_OF_LINE void detached_children::look_after() noexcept {
  const std::lock_guard guard(state().lock);
  have_thread_locked();
}

THRUM_OUT_OF_LINE std::size_t detached_children::size() noexcept {
  const std::lock_guard guard(state().lock);
  return state().count;
}

THRUM_OUT_OF_LINE std::uint64_t detached_children::looks() noexcept {
  const std::lock_guard guard(state().lock);
  return state().looks;
}

THRUM_OUT_OF_LINE void detached_children::have_thread_locked() noexcept {
  if (state().count != 0 && !state().has_thread) {
    state().has_thread = os::start_detached_thread(&serve, nullptr) == 0;
  }
}

THRUM_OUT_OF_LINE void* detached_children::serve(void*) noexcept {
  os::set_thread_name("thrum-children");
  const os::passive_thread_scope readies_nobody;
  for (;;) {
    bool may_sleep;
    bool all_at_intervals;
    {
      const std::lock_guard guard(state().lock);
      if (state().count == 0) {
        state().watch.close();
        state().has_thread = false;
        return nullptr;
      }
      may_sleep = state().others.empty();
      all_at_intervals = !state().watch.is_open();
    }
    constexpr std::size_t at_once = 64;
    void* found[at_once];
    std::size_t n = 0;
    if (all_at_intervals) {
      os::sleep_ns(std::int64_t{interval_ms} * 1'000'000);
    } else {
      n = state().watch.sleep(found, at_once, may_sleep ? -1 : interval_ms);
    }
    const std::lock_guard guard(state().lock);
    for (std::size_t i = 0; i != n; ++i) {
      look_at_locked(*static_cast<child_process*>(found[i]));
    }
    for (child_process* one = state().others.front(); one != nullptr;) {
      child_process* const next = base::intrusive_list<child_process>::next(*one);
      look_at_locked(*one);
      one = next;
    }
  }
}

THRUM_OUT_OF_LINE void detached_children::look_at_locked(child_process& one) noexcept {
  ++state().looks;
  exit_status ignored;
  const bool ended = one.reap(ignored) != std::errc::resource_unavailable_try_again;
  if (one.is_watched_) {
    // It has ended; if it cannot be reaped yet, the watch would tell of it without end.
    state().watch.remove(one.pidfd_);
    state().watched.remove(one);
    one.is_watched_ = false;
    state().others.push_back(one);
  }
  if (ended) {
    state().others.remove(one);
    --state().count;
    delete &one;
  }
}

THRUM_OUT_OF_LINE void detached_children::forget() noexcept {
  state().watch.close();
  std::construct_at(&state());
  state().is_hooked = true;
  os::passive_threads.set(0);
}

}}}  // namespace thrum::THRUM_ABI::io_detail
#endif

#endif  // THRUM_DETAIL_IO_DETACHED_CHILDREN_HPP
