// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What io/child_process.hpp declares: the bodies that are not inlined.
#ifndef THRUM_IO_CHILD_PROCESS_DEFINITION_HPP
#define THRUM_IO_CHILD_PROCESS_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/errc.hpp>
#include <thrum/blocking.hpp>
#include <thrum/deadline.hpp>
#include <thrum/io/child_process.hpp>
#include <thrum/io/descriptor.hpp>
#include <thrum/io/wait.hpp>
#include <thrum/os/os.hpp>
#include <thrum/sched/core/traits.hpp>
#include <thrum/sched/queue/no_deadline.hpp>
#include <thrum/sched/run/exit.hpp>
#include <thrum/sched/run/io_deadline.hpp>
#include <thrum/sched/run/park.hpp>
#include <thrum/this_goroutine.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <system_error>

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
    return true;  // nor is the lock ours: somebody may have held it in the fork
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
