// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// exec: a program run to its end by one call.
//
//   const thrum::io::exec_result r = thrum::io::exec({"git", "rev-parse", "HEAD"});
//   if (r.status.success()) use(r.output);
//
// How it ends in any case: at the deadline, or at a stop, the program is asked to end, with all that it
// has started where the system has process groups; after the grace it is ended. When it has written
// more than is wanted, it is ended at once. Programs that it has left behind may keep its output open: exec
// waits for them no longer than the grace, counted from the program's end, with or without a deadline.
#ifndef THRUM_IO_EXEC_HPP
#define THRUM_IO_EXEC_HPP

#include <thrum/base/config.hpp>
#include <thrum/deadline.hpp>
#include <thrum/io/child_process.hpp>
#include <thrum/io/process.hpp>
#include <thrum/stop_condition.hpp>
#include <thrum/sync/wait_group.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace io {

/// How a program is run.
struct exec_options {
  std::string input = {};      ///< what it reads; if it does not read all, that is no error
  std::string directory = {};  ///< to start in; empty: ours
  /// "NAME=value" each; none: ours.
  std::optional<std::vector<std::string>> environment = {};
  bool errors_to_output = false;  ///< standard error goes where standard output goes
  /// Bytes of output, and of error output, that are wanted at most.
  std::size_t most_output = std::size_t{64} * 1024 * 1024;
  time_point deadline = time_point::max();  ///< when it is asked to end
  /// How long it then has, before it is ended; and how long, after its end, exec waits for other programs
  /// that keep its output open, as a daemon that it has started may do.
  std::chrono::nanoseconds grace = std::chrono::seconds(5);
};

/// What has come of it.
struct exec_result {
  exit_status status{exit_status::none, 0, false};  ///< none if it could not be started
  std::string output;                               ///< what it has written
  std::string errors;                               ///< the same of its standard error
};

/// Runs a program and waits for its end: `arguments` are its name and what follows, as of
/// process::spawn. Any status is a result, also that of a signal. Throws std::system_error: it could
/// not be started; errc::deadline_exceeded, also if it has ended and only its output was kept open for
/// longer than the grace: what has come until then is complete as far as the program itself wrote it;
/// errc::message_size, it wrote too much. With an error_code the result so far is returned, too. Goroutines and threads. A cancellation point for goroutines:
/// the program is killed then.
THRUM_OUT_OF_LINE exec_result exec(const std::vector<std::string>& arguments,
                                   const exec_options& how = {});
THRUM_OUT_OF_LINE exec_result exec(const std::vector<std::string>& arguments,
                                   const exec_options& how, std::error_code& error);

}}}  // namespace thrum::THRUM_ABI::io

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

/// How exec waits.
class end_wait {
 public:
  /// For the program's end.
  virtual exit_status for_child(process& child, time_point deadline,
                                std::error_code& error) const = 0;
  /// For those that read what it has written. False: a stop has come.
  virtual bool for_readers(wait_group& readers) const = 0;

 protected:
  ~end_wait() = default;
};

/// Until a stop, too.
template <class Stop>
class stopped_end_wait final : public end_wait {
 public:
  explicit stopped_end_wait(const Stop& stop) noexcept : stop_(stop) {}

  exit_status for_child(process& child, time_point deadline,
                        std::error_code& error) const override {
    return child.wait_until(deadline, stop_, error);
  }
  bool for_readers(wait_group& readers) const override { return readers.wait(stop_); }

 private:
  const Stop& stop_;
};

THRUM_OUT_OF_LINE exec_result exec_waiting(const std::vector<std::string>& arguments,
                                           const exec_options& how, const end_wait& wait,
                                           std::error_code& error);
[[noreturn]] [[gnu::cold]] void fail_exec(const std::vector<std::string>& arguments,
                                          const std::error_code& error);

}}}  // namespace thrum::THRUM_ABI::io_detail

namespace thrum { inline namespace THRUM_ABI { namespace io {

/// The same until a stop, which is as the deadline: std::errc::operation_canceled when the program has
/// ended; with `error`, what has come until then is returned, and how it ended. After the stop nothing
/// is started. To be included, if not by <thrum.hpp>: <thrum/stoppable.hpp>.
template <stop_condition Stop>
exec_result exec(const std::vector<std::string>& arguments, const exec_options& how,
                 const Stop& stop, std::error_code& error) {
  if (stop_detail::is_over(stop)) {
    error = std::make_error_code(std::errc::operation_canceled);
    return {};
  }
  const io_detail::stopped_end_wait<Stop> wait(stop);
  return io_detail::exec_waiting(arguments, how, wait, error);
}
template <stop_condition Stop>
exec_result exec(const std::vector<std::string>& arguments, const exec_options& how,
                 const Stop& stop) {
  std::error_code error;
  exec_result result = exec(arguments, how, stop, error);
  if (error) {
    io_detail::fail_exec(arguments, error);
  }
  return result;
}

}}}  // namespace thrum::THRUM_ABI::io

#if !THRUM_SEPARATE
#include <thrum/io/exec_definition.hpp>
#endif

#endif
