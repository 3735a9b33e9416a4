// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A child of this process, from its start until it has been reaped, and how it ended. What is done
// with it is in process.hpp, and the essay too.
#ifndef THRUM_IO_CHILD_PROCESS_HPP
#define THRUM_IO_CHILD_PROCESS_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/intrusive_list.hpp>
#include <thrum/deadline.hpp>
#include <thrum/os/parts.hpp>
#include <thrum/sync/mutex.hpp>

#include <chrono>
#include <cstdint>
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
  /// The same to all of its group.
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

#if !THRUM_SEPARATE
#include <thrum/io/child_process_definition.hpp>
#endif

#endif  // THRUM_IO_CHILD_PROCESS_HPP
