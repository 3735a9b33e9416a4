// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A child of this process, from its start until it has been reaped, and how it ended. What is done
// with it is in process.hpp, and the essay too.
#ifndef THRUM_IO_CHILD_PROCESS_HPP
#define THRUM_IO_CHILD_PROCESS_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/errc.hpp>
#include <thrum/base/intrusive_list.hpp>
#include <thrum/blocking.hpp>
#include <thrum/deadline.hpp>
#include <thrum/io/descriptor.hpp>
#include <thrum/io/wait.hpp>
#include <thrum/os/os.hpp>
#include <thrum/sched/core/traits.hpp>
#include <thrum/sync/mutex.hpp>
#include <thrum/time/sleep.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <string>
#include <system_error>

namespace thrum { inline namespace THRUM_ABI { namespace io {

/// How a process ended.
struct exit_status {
  /// The code of what is no end: the process runs on, or its end cannot be known.
  static constexpr int none = -1;

  int code = 0;              ///< that it returned; 0 if a signal killed it
  int signal = 0;            ///< that killed it; 0 if it returned
  bool dumped_core = false;  ///< after a signal

  /// Whether it returned 0.
  bool success() const noexcept { return code == 0 && signal == 0; }
  /// Whether it ended by itself, with any code: not by a signal, and not none.
  bool exited() const noexcept { return signal == 0 && code != none; }
  /// "exit status 1", "signal 9", "no end".
  std::string to_string() const {
    return code == none ? "no end"
           : signal == 0
               ? "exit status " + std::to_string(code)
               : "signal " + std::to_string(signal) + (dumped_core ? ", core dumped" : "");
  }
  friend bool operator==(const exit_status&, const exit_status&) = default;
};

/// A number, and a pidfd if there is one, until it is reaped.
class child_process : public base::list_node<child_process> {
 public:
  child_process() noexcept = default;
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;
  ~child_process() {
    if (pidfd_ != os::no_descriptor) {
      os::close(pidfd_);
    }
  }

  /// First of all, once.
  void started(std::int64_t pid) noexcept {
    pid_ = pid;
    const os::io_result fd = os::open_process(pid);
    pidfd_ = fd < 0 ? os::no_descriptor : static_cast<int>(fd);
  }

  /// The number that it had, also after its end: the system may have given it to another by then.
  std::int64_t pid() const noexcept { return pid_; }
  /// Whether its end can be waited for in a poller; else one must ask again and again.
  bool has_pidfd() const noexcept { return pidfd_ != os::no_descriptor; }

  /// Its end if it has come, else EAGAIN; reaps it. After an error `status` is as it was.
  std::error_code reap(exit_status& status) noexcept {
    const std::lock_guard guard(lock_);
    if (!reaped_) {
      const os::io_result result = os::wait_process(pid_, pidfd_, false, true, end_);
      if (result == -EAGAIN || result == -EINTR) {
        return std::make_error_code(std::errc::resource_unavailable_try_again);
      }
      reaped_ = true;
      error_ = static_cast<int>(-result);
    }
    if (error_ == 0) {
      status = {end_.code, end_.signal, end_.dumped_core};
    }
    return {error_, std::system_category()};
  }

  /// Returns when reap() may have something to say. `pause`: 0 for the first wait of a caller, and
  /// kept for its next ones.
  void wait(time_point deadline, std::chrono::milliseconds& pause, std::error_code& error) {
    constexpr std::chrono::milliseconds longest{10};
    const time_point now{std::chrono::nanoseconds(sched::default_traits::now())};
    if (now >= deadline) {
      error = errc::deadline_exceeded;
      return;
    }
    error.clear();
    if (!has_pidfd() && deadline == time_point::max()) {
      os::process_end end;
      blocking([&] { os::wait_process(pid_, os::no_descriptor, true, false, end); });
      return;
    }
    const bool first = pause == std::chrono::milliseconds(0);
    pause = std::min(2 * pause + std::chrono::milliseconds(1), longest);
    if (has_pidfd() && first) {
      wait_readable(pidfd_, deadline, error);
    } else {
      sleep_until(std::min<time_point>(deadline, now + pause));
    }
  }

  /// Kills it and waits until it is gone. False: we may not kill it, and it runs. Nothing if it is
  /// the child of the process that forked us. Not a cancellation point.
  bool end() noexcept {
    if (parent_ != os::own_process()) {
      return true;  // nor is the lock ours: somebody may have held it in the fork
    }
    return blocking([&] {
      const std::lock_guard guard(lock_);
      if (reaped_) {
        return true;
      }
      if (const os::io_result sent = os::signal_process(pid_, pidfd_, SIGKILL); sent < 0) {
        return sent == -ESRCH;
      }
      while (os::wait_process(pid_, pidfd_, true, true, end_) == -EINTR) {
      }
      reaped_ = true;
      return true;
    });
  }

  /// no_such_process if it has been reaped.
  std::error_code signal(int number) noexcept {
    const std::lock_guard guard(lock_);
    const os::io_result result = reaped_ ? -ESRCH : os::signal_process(pid_, pidfd_, number);
    return result < 0 ? error_of(result) : std::error_code();
  }

 private:
  friend class detached_children;

  const std::int64_t parent_ = os::own_process();
  std::int64_t pid_ = 0;
  int pidfd_ = os::no_descriptor;
  mutex lock_;
  bool reaped_ = false;  // from here on under the lock
  int error_ = 0;
  os::process_end end_;
  bool is_watched_ = false;  // by detached_children, and under their lock
};

}}}  // namespace thrum::THRUM_ABI::io

#endif  // THRUM_IO_CHILD_PROCESS_HPP
