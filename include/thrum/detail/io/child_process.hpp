// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A child of this process, from its start until it has been reaped, and how it ended. What is done
// with it is in process.hpp, and the essay too.
//
// child_terminal: what a process needs to know of its pseudo_terminal, so that <thrum/io/process.hpp> does not
// include that class.
#ifndef THRUM_DETAIL_IO_CHILD_PROCESS_HPP
#define THRUM_DETAIL_IO_CHILD_PROCESS_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/intrusive_list.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/sync/mutex.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <system_error>

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

class child_terminal {
 public:
  /// The path of the child's end in the file system.
  const std::string& path() const noexcept { return path_; }

 protected:
  std::string path_;
};

}}}  // namespace thrum::THRUM_ABI::io_detail

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
  std::string to_string() const;
  friend bool operator==(const exit_status&, const exit_status&) = default;
};

}}}  // namespace thrum::THRUM_ABI::io

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

using namespace io;

/// A number, and a pidfd if there is one, until it is reaped.
class child_process : public base::list_node<child_process> {
 public:
  child_process() noexcept = default;
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;
  ~child_process();

  /// First of all, once. `leads_group`: it is the first of a process group, which ends with it.
  void started(std::int64_t pid, bool leads_group) noexcept;

  /// The number that it had, also after its end: the system may have given it to another by then.
  std::int64_t pid() const noexcept { return pid_; }
  /// Whether its end can be waited for in a poller; else one must ask again and again.
  bool has_pidfd() const noexcept { return pidfd_ != os::no_handle; }

  /// Its end if it has come, else errc::resource_unavailable_try_again; reaps it. After an error
  /// `status` is as it was.
  std::error_code reap(exit_status& status) noexcept;

  /// Returns when reap() may have something to say. `pause`: 0 for the first wait of a caller, and
  /// kept for its next ones.
  void wait(time_point deadline, std::chrono::milliseconds& pause, std::error_code& error);

  /// Kills it and waits until it is gone. False: we may not kill it, and it runs. Nothing if it is
  /// the child of the process that forked us. Not a cancellation point.
  bool end() noexcept;

  /// no_such_process if it has been reaped.
  std::error_code signal(int number) noexcept;
  /// Signals all processes of its group. no_such_process if it leads none, or has been reaped.
  std::error_code signal_group(int number) noexcept;
  void kill_group() noexcept;
  void terminate_group() noexcept;
  /// Whether it is the first of one.
  bool leads_group() const noexcept { return leads_group_; }

  /// Ends it, or asks it to end. Nothing if it has been reaped.
  void kill() noexcept;
  void terminate() noexcept;

 private:
  friend class detached_children;

  /// What `call` says, while its number is its own.
  template <class Call>
  std::error_code unless_reaped(Call call) noexcept;

  const std::int64_t parent_ = os::own_process();
  std::int64_t pid_ = 0;
  bool leads_group_ = false;
  os::handle pidfd_ = os::no_handle;
  mutex lock_;
  bool reaped_ = false;       // from here on under the lock
  os::io_result result_ = 0;  // of reaping it
  os::process_end end_;
  bool is_watched_ = false;  // by detached_children, and under their lock
};

}}}  // namespace thrum::THRUM_ABI::io_detail

#if THRUM_BODIES
#include <thrum/blocking.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/queue/no_deadline.hpp>
#include <thrum/detail/sched/run/goroutine_exit.hpp>
#include <thrum/detail/sched/run/io_deadline.hpp>
#include <thrum/detail/sched/run/park.hpp>
#include <thrum/errc.hpp>
#include <thrum/io/descriptor.hpp>
#include <thrum/io/wait.hpp>
#include <thrum/this_goroutine.hpp>

#include <algorithm>
#include <mutex>

namespace thrum { inline namespace THRUM_ABI { namespace io {

THRUM_OUT_OF_LINE std::string exit_status::to_string() const {
  return code == none  ? "no end"
         : signal == 0 ? "exit status " + std::to_string(code)
                       : "signal " + std::to_string(signal) + (dumped_core ? ", core dumped" : "");
}

}}}  // namespace thrum::THRUM_ABI::io

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

THRUM_OUT_OF_LINE child_process::~child_process() {
  if (pidfd_ != os::no_handle) {
    os::close(pidfd_);
  }
}

THRUM_OUT_OF_LINE void child_process::started(std::int64_t pid, bool leads_group) noexcept {
  pid_ = pid;
  leads_group_ = leads_group;
  const os::io_result fd = os::open_process(pid);
  pidfd_ = fd < 0 ? os::no_handle : os::handle_of(fd);
}

THRUM_OUT_OF_LINE std::error_code child_process::reap(exit_status& status) noexcept {
  const std::lock_guard guard(lock_);
  if (!reaped_) {
    const os::io_result result = os::wait_process(pid_, pidfd_, false, true, end_);
    if (result == os::would_block || result == os::interrupted) {
      return std::make_error_code(std::errc::resource_unavailable_try_again);
    }
    reaped_ = true;
    result_ = result;
  }
  if (result_ == 0) {
    status = {end_.code, end_.signal, end_.dumped_core};
  }
  return os::error_code_of(result_);
}

THRUM_OUT_OF_LINE void child_process::wait(time_point deadline, std::chrono::milliseconds& pause,
                                           std::error_code& error) {
  constexpr std::chrono::milliseconds longest{10};
  const time_point now{std::chrono::nanoseconds(sched::traits::now())};
  if (now >= deadline) {
    error = errc::deadline_exceeded;
    return;
  }
  error.clear();
  // Nothing ends a wait of the system early, so only who is never told to end begins one: no goroutine.
  if (!has_pidfd() && deadline == time_point::max() && this_goroutine::id() == 0 &&
      !sched::io_deadline(sched::no_deadline).stop_possible()) {
    os::process_end end;
    os::wait_process(pid_, os::no_handle, true, false, end);
    return;
  }
  const bool first = pause == std::chrono::milliseconds(0);
  pause = std::min(2 * pause + std::chrono::milliseconds(1), longest);
  if (has_pidfd() && first) {
    wait_readable(pidfd_, deadline, error);
    return;
  }
  const sched::io_deadline until(
      time_detail::deadline_at(std::min<time_point>(deadline, now + pause)));
  sched::exit_if_cancelled(sched::sleep_until(until.until()));
  if (until.is_stopped()) {
    error = std::make_error_code(std::errc::operation_canceled);
  }
}

template <class Call>
std::error_code child_process::unless_reaped(Call call) noexcept {
  const std::lock_guard guard(lock_);
  const os::io_result result = reaped_ ? os::no_such_process : call();
  return result < 0 ? error_of(result) : std::error_code();
}

THRUM_OUT_OF_LINE bool child_process::end() noexcept {
  if (parent_ != os::own_process()) {
    return true;  // takes no lock: another thread may have held it in the fork
  }
  return blocking([&] {
    const std::lock_guard guard(lock_);
    if (reaped_) {
      return true;
    }
    if (leads_group_) {
      os::kill_group(pid_);
    }
    if (const os::io_result sent = os::kill_process(pid_, pidfd_); sent < 0) {
      return sent == os::no_such_process;
    }
    while (os::wait_process(pid_, pidfd_, true, true, end_) == os::interrupted) {
    }
    reaped_ = true;
    return true;
  });
}

THRUM_OUT_OF_LINE std::error_code child_process::signal(int number) noexcept {
  return unless_reaped([&] { return os::signal_process(pid_, pidfd_, number); });
}

THRUM_OUT_OF_LINE std::error_code child_process::signal_group(int number) noexcept {
  if (!leads_group_) {
    return error_of(os::no_such_process);
  }
  return unless_reaped([&] { return os::signal_group(pid_, number); });
}

THRUM_OUT_OF_LINE void child_process::kill_group() noexcept {
  unless_reaped(
      [&] { return leads_group_ ? os::kill_group(pid_) : os::kill_process(pid_, pidfd_); });
}

THRUM_OUT_OF_LINE void child_process::terminate_group() noexcept {
  unless_reaped([&] {
    return leads_group_ ? os::ask_group_to_end(pid_) : os::ask_process_to_end(pid_, pidfd_);
  });
}

THRUM_OUT_OF_LINE void child_process::kill() noexcept {
  unless_reaped([&] { return os::kill_process(pid_, pidfd_); });
}

THRUM_OUT_OF_LINE void child_process::terminate() noexcept {
  unless_reaped([&] { return os::ask_process_to_end(pid_, pidfd_); });
}

}}}  // namespace thrum::THRUM_ABI::io_detail
#endif

#endif  // THRUM_DETAIL_IO_CHILD_PROCESS_HPP
