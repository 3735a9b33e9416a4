// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Tells the main loop of a host that there is something for its thread to do (options::on_host_work),
// for loops that would otherwise have to ask at a period.
//
// The bell calls a function of the user's, which takes the locks of a toolkit and allocates. A waker
// must not call it: it may be inside a section and so keep a processor. A goroutine that was
// interrupted while it held that very lock may wait for this processor. So the bell has a thread
// without a P, which does nothing else. The thread is made only if such a function was given.
//
//   ring   a waker that puts a goroutine into the inbox (host_inbox) of a host that was not rung for
//          yet, under the lock of the inbox; wakes the thread and never waits
//   call   the thread: takes the wake-up back first, so that a ring during the call is one more
#ifndef THRUM_DETAIL_SCHED_HOST_HOST_BELL_HPP
#define THRUM_DETAIL_SCHED_HOST_HOST_BELL_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/parts.hpp>

#include <atomic>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

using namespace base::orders;

class host_bell {
 public:
  using callback = void (*)(void* user);

  host_bell(callback call, void* user) noexcept : call_(call), user_(user) {}
  /// Waits for a call that is under way. No waker rings any more.
  ~host_bell() {
    if (has_started_) {
      ends_.set(true);
      note_.wake();
      thread_.join();
    }
  }
  host_bell(const host_bell&) = delete;
  host_bell& operator=(const host_bell&) = delete;

  /// 0, or the error of the system.
  [[nodiscard]] int start() noexcept {
    const int error = os::thread::start(thread_, &host_bell::main, this);
    has_started_ = error == 0;
    return error;
  }

  /// Rings that come before a call begins are one. Any thread.
  void ring() noexcept { note_.wake(); }

 private:
  static void* main(void* own) noexcept {
    os::set_thread_name("thrum/bell");
    auto& bell = *static_cast<host_bell*>(own);
    for (;;) {
      bell.note_.sleep();
      bell.note_.clear_while_woken();
      if (bell.ends_.get()) {
        return nullptr;
      }
      bell.call_(bell.user_);
    }
  }

  const callback call_;
  void* const user_;
  os::note note_;
  base::one_writer<bool> ends_{false};
  bool has_started_ = false;
  os::thread thread_;
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
