// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Child processes that nobody waits for, and that are to leave no zombie.
//
// A thread of the process sleeps until one of them ends, and reaps it: not a goroutine, since they
// belong to no runtime and outlive each; not SIGCHLD, whose handler belongs to the program. It is
// there while there are such children. Starting and detaching one costs the same however many
// there are.
//
// A child without a pidfd, and one that has ended but is held by a debugger, is looked at in
// intervals. After fork() they are not the new process's children: it forgets them.
#ifndef THRUM_IO_DETACHED_CHILDREN_HPP
#define THRUM_IO_DETACHED_CHILDREN_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/intrusive_list.hpp>
#include <thrum/base/owner.hpp>
#include <thrum/io/child_process.hpp>
#include <thrum/os/os.hpp>
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

  static inline constinit kept_detached_state kept;
  static constexpr detached_state& state = kept.value;
};

}}}  // namespace thrum::THRUM_ABI::io_detail

#if !THRUM_SEPARATE
#include <thrum/io/detached_children_definition.hpp>
#endif

#endif  // THRUM_IO_DETACHED_CHILDREN_HPP
