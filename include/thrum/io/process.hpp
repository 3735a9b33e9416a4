// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// process: a child process that runs another program.
//
// Waiting
//   Where the system has pidfds, a child is a descriptor, and a wait for its end parks in the
//   poller. Elsewhere a wait without a deadline blocks a thread in waitid, inside
//   blocking(), and is then no cancellation point; one with a deadline or a stop looks at intervals.
//   SIGCHLD is not used: its handler belongs to the program.
//   A child that a debugger holds is dead for its pidfd, but cannot be reaped before the debugger
//   has done that. So after the pidfd has spoken once, a wait that goes on looks at intervals, too.
//
// No zombie, and no signal to a stranger
//   The number of a child that has ended is its own until it is reaped. Only this object reaps it, under
//   `lock`; it sends signals under the same lock, and none after it has reaped the child.
//   A program that reaps all its children (waitpid(-1), SIGCHLD ignored) takes the status from us:
//   wait() then fails with errc::no_child_process.
//
// The destructor kills
//   An object that owns something gives it back when it goes. Leaving the child running would leak
//   it, and a zombie with it; waiting for its end could take for ever, for instance when an
//   exception unwinds the code that was to feed it. So a child that was not waited for is killed
//   and reaped. detach() lets it live.
//   The system may refuse to kill it: a program like sudo runs as another user. Then it is left
//   running, as if detached. And after fork() the object in the child of that fork only lets go:
//   the process is its parent's.
//
// What a child inherits: descriptors without O_CLOEXEC (none is ours; on macOS, where one cannot be
// made so by one call, no more than its three streams), ignored signals, limits.
// What not: the mask of signals, handlers, threads, goroutines.
#ifndef THRUM_IO_PROCESS_HPP
#define THRUM_IO_PROCESS_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/owner.hpp>
#include <thrum/detail/io/child_process.hpp>
#include <thrum/detail/io/redirect.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/errc.hpp>  // IWYU pragma: export
#include <thrum/io/pipe.hpp>
#include <thrum/stop_condition.hpp>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace io {

/// What a child is started with.
struct process_options {
  redirect in = {};            ///< its standard input
  redirect out = {};           ///< its standard output
  redirect err = {};           ///< its standard error
  std::string directory = {};  ///< to start in; empty: ours
  /// "NAME=value" each; none: ours.
  std::optional<std::vector<std::string>> environment = {};
  /// It leads a process group of its own, of which those are that it starts: a key that ends what
  /// runs in a terminal does not reach it, and signal_group() and the end of the object reach all of
  /// them. POSIX systems; elsewhere errc::operation_not_supported, as of the next two.
  bool new_group = false;
  /// What becomes its descriptors 3, 4 and so on; they stay the caller's and must stay open until
  /// spawn() has returned. As of redirect::to(), they should be in blocking mode, which connections
  /// and the ends of a pipe of ours are not.
  std::vector<native_handle_type> extra = {};
  /// A pseudo_terminal, which is also what redirect::inherit() means for its streams: see
  /// <thrum/io/pseudo_terminal.hpp>. It leads a session, and so a process group, of its own. If all three streams lead
  /// elsewhere, the child has it open under one more number, and as /dev/tty.
  const io_detail::child_terminal* terminal = nullptr;
};

/// Move-only. Any number of goroutines and threads may wait for it and send signals at the same
/// time. Its destructor closes the pipes, and kills and reaps a child that was not waited for.
class process {
 public:
  process() noexcept = default;
  process(process&&) noexcept = default;
  process& operator=(process&& other) noexcept;
  ~process() { end(); }

  /// Starts a program: `arguments` are its name and what follows. A name without a slash is looked
  /// for in our PATH; a relative one counts from the child's directory. Fails if it cannot be
  /// executed.
  static process spawn(const std::vector<std::string>& arguments, process_options options = {});
  static process spawn(const std::vector<std::string>& arguments, process_options options,
                       std::error_code& error);
  static process spawn(const std::vector<std::string>& arguments, std::error_code& error);

  /// Waits for its end. Call it as often as you like. Close the pipe to its input first, and read
  /// what it writes, or it may wait for you.
  exit_status wait() { return wait_or_throw(time_point::max()); }
  exit_status wait(std::error_code& error) { return wait_until(time_point::max(), error); }

  /// wait() for some time; if the program runs on, returns no status, or errc::deadline_exceeded and a
  /// status whose code is exit_status::none. That status comes with every other error, too.
  template <class Rep, class Period>
  [[nodiscard]] std::optional<exit_status> wait_for(std::chrono::duration<Rep, Period> time) {
    return wait_until(moment_after(time));
  }
  template <class Rep, class Period>
  exit_status wait_for(std::chrono::duration<Rep, Period> time, std::error_code& error) {
    return wait_until(moment_after(time), error);
  }
  [[nodiscard]] std::optional<exit_status> wait_until(time_point deadline);
  exit_status wait_until(time_point deadline, std::error_code& error);

  /// wait until a stop: then std::errc::operation_canceled, and the program runs on; wait_or_stop ends it.
  /// With `error` as above. Needs <thrum/detail/start/stoppable.hpp>, which <thrum.hpp> includes.
  template <until_condition Stop>
  exit_status wait(const Stop& stop) {
    std::error_code error;
    const exit_status status = wait(stop, error);
    if (error) {
      fail(error, "wait");
    }
    return status;
  }
  template <until_condition Stop>
  exit_status wait(const Stop& stop, std::error_code& error) {
    return wait_until(time_point::max(), stop, error);
  }
  /// wait until a stop or a deadline, whichever comes first.
  template <until_condition Stop>
  exit_status wait_until(time_point deadline, const Stop& stop, std::error_code& error) {
    exit_status status{exit_status::none, 0, false};
    stop_detail::run_until_stopped(stop, error, [&] {
      status = wait_until(deadline, error);
      return 0;
    });
    return status;
  }

  /// Its end if it has come. Does not wait.
  [[nodiscard]] std::optional<exit_status> try_wait() { return wait_until(time_point::min()); }
  std::optional<exit_status> try_wait(std::error_code& error);

  /// Sends a signal. errc::no_such_process if it has ended and was waited for.
  void signal(int number);
  void signal(int number, std::error_code& error) noexcept;
  /// Asks it to end, by SIGTERM on POSIX systems. Does nothing if it has.
  void terminate() noexcept;
  /// Ends it, by SIGKILL there. Does nothing if it has ended.
  void kill() noexcept;

  /// Sends a signal to it and to all that are in its group, of those with
  /// process_options::new_group. errc::no_such_process if it has no group, or was waited for.
  void signal_group(int number);
  void signal_group(int number, std::error_code& error) noexcept;

  /// As terminate() and kill(), for its group if it has one.
  void terminate_group() noexcept;
  void kill_group() noexcept;

  /// Waits for its end until a deadline; then asks it to end, with its group if it has one, and after
  /// `grace` more ends it. A cancellation point. Whether it was told to end is seen by its status, and
  /// by the error: errc::deadline_exceeded, with which there is a status, too.
  exit_status wait_or_stop(time_point deadline, std::chrono::nanoseconds grace,
                           std::error_code& error);
  /// wait_or_stop until a stop in place of a deadline: the error is std::errc::operation_canceled then.
  template <stop_condition Stop>
  exit_status wait_or_stop(const Stop& stop, std::chrono::nanoseconds grace,
                           std::error_code& error) {
    const exit_status status = wait(stop, error);
    return error == std::errc::operation_canceled ? end_within(grace, error) : status;
  }
  /// Asks the program to end now, and after `grace` ends it. Waits for its end, as wait_or_stop.
  exit_status stop(std::chrono::nanoseconds grace = std::chrono::seconds(5));

  /// Lets it live on when this object goes, which is empty afterwards. A thread of ours reaps it
  /// when it has ended.
  void detach();

  /// The ends of its pipes; none where it was not redirected to one.
  pipe_writer& in() noexcept { return in_; }
  pipe_reader& out() noexcept { return out_; }
  pipe_reader& err() noexcept { return err_; }

  /// Its number, also when it has ended; 0: there is none.
  std::int64_t pid() const noexcept { return child_ ? child_->pid() : 0; }

  /// Whether there is one, running or not.
  explicit operator bool() const noexcept { return static_cast<bool>(child_); }

 private:
  template <class Rep, class Period>
  static time_point moment_after(std::chrono::duration<Rep, Period> time) noexcept {
    return time_point(std::chrono::nanoseconds(time_detail::deadline_after(time)));
  }

  void start(const std::vector<std::string>& arguments, const process_options& options,
             std::string& where, std::error_code& error);

  exit_status wait_or_throw(time_point deadline);

  void close_pipes() noexcept;

  void end() noexcept;

  /// Asks it to end, and after `grace` ends it. `error`, which says why, becomes another one if its
  /// end cannot be known.
  exit_status end_within(std::chrono::nanoseconds grace, std::error_code& error);

  [[noreturn]] [[gnu::cold]] void fail(const std::error_code& error, const char* operation) const;

  base::owner<io_detail::child_process> child_;
  pipe_writer in_;
  pipe_reader out_;
  pipe_reader err_;
};

}}}  // namespace thrum::THRUM_ABI::io

#if THRUM_BODIES
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/io/detached_children.hpp>
#include <thrum/detail/io/process_start.hpp>  // IWYU pragma: keep: bodies

#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace io {

THRUM_OUT_OF_LINE process& process::operator=(process&& other) noexcept {
  if (this != &other) {
    end();
    child_ = std::move(other.child_);
    in_ = std::move(other.in_);
    out_ = std::move(other.out_);
    err_ = std::move(other.err_);
  }
  return *this;
}

THRUM_OUT_OF_LINE std::optional<exit_status> process::wait_until(time_point deadline) {
  std::error_code error;
  const exit_status status = wait_until(deadline, error);
  if (error == errc::deadline_exceeded) {
    return std::nullopt;
  }
  if (error) {
    fail(error, "wait");
  }
  return status;
}

THRUM_OUT_OF_LINE exit_status process::wait_until(time_point deadline, std::error_code& error) {
  exit_status status{exit_status::none, 0, false};
  if (!child_) {
    error = std::make_error_code(std::errc::no_child_process);
    return status;
  }
  std::chrono::milliseconds pause{0};
  while ((error = child_->reap(status)) == std::errc::resource_unavailable_try_again) {
    child_->wait(deadline, pause, error);
    if (error) {
      return status;
    }
  }
  return status;
}

THRUM_OUT_OF_LINE std::optional<exit_status> process::try_wait(std::error_code& error) {
  const exit_status status = wait_until(time_point::min(), error);
  if (error == errc::deadline_exceeded) {
    error.clear();
    return std::nullopt;
  }
  return error ? std::nullopt : std::optional(status);
}

THRUM_OUT_OF_LINE void process::signal(int number) {
  std::error_code error;
  signal(number, error);
  if (error) {
    fail(error, "signal");
  }
}

THRUM_OUT_OF_LINE void process::signal(int number, std::error_code& error) noexcept {
  error = child_ ? child_->signal(number) : std::make_error_code(std::errc::no_such_process);
}

THRUM_OUT_OF_LINE void process::signal_group(int number) {
  std::error_code error;
  signal_group(number, error);
  if (error) {
    fail(error, "signal_group");
  }
}

THRUM_OUT_OF_LINE void process::signal_group(int number, std::error_code& error) noexcept {
  error = child_ ? child_->signal_group(number) : std::make_error_code(std::errc::no_such_process);
}

THRUM_OUT_OF_LINE void process::terminate_group() noexcept {
  if (child_) {
    child_->terminate_group();
  }
}

THRUM_OUT_OF_LINE void process::kill_group() noexcept {
  if (child_) {
    child_->kill_group();
  }
}

THRUM_OUT_OF_LINE exit_status process::wait_or_stop(time_point deadline,
                                                    std::chrono::nanoseconds grace,
                                                    std::error_code& error) {
  const exit_status status = wait_until(deadline, error);
  return error == errc::deadline_exceeded ? end_within(grace, error) : status;
}

THRUM_OUT_OF_LINE exit_status process::end_within(std::chrono::nanoseconds grace,
                                                  std::error_code& error) {
  const std::error_code why = error;
  if (!child_) {
    return {exit_status::none, 0, false};
  }
  child_->terminate_group();
  exit_status status = wait_for(grace, error);
  if (error == errc::deadline_exceeded) {
    child_->kill_group();
    status = wait_until(time_point::max(), error);
  }
  error = error ? error : why;
  return status;
}

THRUM_OUT_OF_LINE exit_status process::stop(std::chrono::nanoseconds grace) {
  std::error_code error;
  const exit_status status = wait_or_stop(time_point::min(), grace, error);
  if (error && error != errc::deadline_exceeded) {
    fail(error, "stop");
  }
  return status;
}

THRUM_OUT_OF_LINE void process::terminate() noexcept {
  if (child_) {
    child_->terminate();
  }
}

THRUM_OUT_OF_LINE void process::kill() noexcept {
  if (child_) {
    child_->kill();
  }
}

THRUM_OUT_OF_LINE void process::detach() {
  if (child_) {
    io_detail::detached_children::add(std::move(child_));
  }
  close_pipes();
}

THRUM_OUT_OF_LINE exit_status process::wait_or_throw(time_point deadline) {
  std::error_code error;
  const exit_status status = wait_until(deadline, error);
  if (error) {
    fail(error, "wait");
  }
  return status;
}

THRUM_OUT_OF_LINE void process::close_pipes() noexcept {
  in_ = pipe_writer();
  out_ = pipe_reader();
  err_ = pipe_reader();
}

THRUM_OUT_OF_LINE void process::end() noexcept {
  close_pipes();
  if (child_) {
    if (!child_->end()) {
      io_detail::detached_children::add(std::move(child_));
    }
    child_.reset();
  }
}

THRUM_COLD THRUM_OUT_OF_LINE void process::fail(const std::error_code& error,
                                                const char* operation) const {
  base::message<512> text("process::");
  text.append(operation).append(" ").append(static_cast<std::uint64_t>(pid()));
  base::throw_system(error, text.view());
}

}}}  // namespace thrum::THRUM_ABI::io
#endif

#endif
