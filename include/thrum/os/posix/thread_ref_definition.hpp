// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/posix/thread_ref.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_POSIX_THREAD_REF_DEFINITION_HPP
#define THRUM_OS_POSIX_THREAD_REF_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_PORTABLE

#include <thrum/base/order.hpp>
#include <thrum/os/posix/preempt_signal.hpp>
#include <thrum/os/posix/thread_ref.hpp>

#include <atomic>

#include <pthread.h>
#include <sched.h>
#include <signal.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

/// The reference stays open, or closed, to the end of a block.
class thread_ref::held {
 public:
  explicit held(const thread_ref& ref) noexcept : ref_(ref) {
    while (ref_.locked_.exchange(true, acquire)) {  // [tr.lock <] acquire: what the last one did
      ::sched_yield();
    }
  }
  ~held() { ref_.locked_.store(false, release); }  // [tr.lock >] release: what was done meanwhile
  held(const held&) = delete;
  held& operator=(const held&) = delete;

 private:
  const thread_ref& ref_;
};

THRUM_NOINLINE THRUM_OUT_OF_LINE void thread_ref::open() noexcept {
  const ::pthread_t self = ::pthread_self();
  const held guard(*this);
  handle_.store(self, relaxed);  // relaxed: as is_open_
  sight_.open();
  is_open_.store(true, relaxed);  // relaxed: under the lock, or asked by its own thread
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void thread_ref::close() noexcept {
  const held guard(*this);
  is_open_.store(false, relaxed);  // relaxed: under the lock, or asked by its own thread
  sight_.close();
}

THRUM_NOINLINE THRUM_OUT_OF_LINE bool thread_ref::is_calling_thread() const noexcept {
  return is_open_.load(relaxed) &&  // relaxed: this thread's own, or not this thread's
         ::pthread_equal(handle_.load(relaxed), ::pthread_self()) != 0;  // relaxed: as is_open_
}

THRUM_NOINLINE THRUM_OUT_OF_LINE bool thread_ref::interrupt(preempt_target& target) const noexcept {
  const held guard(*this);
  if (!is_open_.load(relaxed)) {  // relaxed: under the lock
    return false;
  }
  if (!target.is_to_be_sent() ||
      ::pthread_kill(handle_.load(relaxed), preempt_signal) == 0) {  // relaxed: under the lock
    return true;
  }
  target.unmarked.store(false, relaxed);  // relaxed: there is no signal that it could order
  return false;
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_PORTABLE
#endif
