// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A process whose threads run in a real-time class.
//
// There a thread that computes keeps its CPU until it sleeps, however long others of its priority
// have waited: on a CPU that an M keeps, the monitor would not come to take the P away, nor the
// creator to make the thread that the P is to go to. So these two run one priority above the thread
// that made the runtime, which has that of the Ms. They sleep nearly always, and wait for the Ms'
// locks by sleeping. A new M has the creator's until it first runs a goroutine.
//
// If the process may not raise their priority, it prints one warning. Then goroutines give up their
// processors by themselves only.
#ifndef THRUM_DETAIL_SCHED_THREAD_REAL_TIME_HPP
#define THRUM_DETAIL_SCHED_THREAD_REAL_TIME_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/os.hpp>

#include <atomic>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

using namespace base::orders;

/// While it exists, threads that the calling thread makes begin with the higher priority: they must
/// have it from their first instruction, as they may not come to another beside an M that computes.
class [[nodiscard]] raised_priority {
 public:
  raised_priority() noexcept : own_(os::real_time_priority()) {
    if (own_ != 0) {
      if (const int error = os::set_real_time_priority(own_ + 1)) {
        warn(error);
      }
    }
  }
  ~raised_priority() {
    if (own_ != 0) {
      os::set_real_time_priority(own_);
    }
  }
  raised_priority(const raised_priority&) = delete;
  raised_priority& operator=(const raised_priority&) = delete;

  /// The thread's priority before, and afterwards; 0 outside of the real-time classes.
  int own() const noexcept { return own_; }

 private:
  THRUM_COLD void warn(int error) const noexcept {
    static constinit base::hint<bool> has_warned{false};
    if (has_warned.swap(true)) {
      return;
    }
    base::message<512> text("thrum: the threads of this program run in a real-time class with ");
    text.append("priority ").append(own_);
    text.append(", and the system refuses a higher one for the runtime's monitor (errno ")
        .append(error);
    text.append("): a CPU-bound goroutine on the last free CPU keeps all others waiting; ");
    text.append("raise RLIMIT_RTPRIO, grant CAP_SYS_NICE, or lower the priority\n");
    base::write_error(text.view());
  }

  const int own_;
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
