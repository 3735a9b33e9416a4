// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// exec: a program run to its end by one call.
//
//   const thrum::io::exec_result r = thrum::io::exec({"git", "rev-parse", "HEAD"});
//   if (r.status.success()) use(r.output);
//
// How it ends in any case: at the deadline the program is asked to end, with all that it has started
// where the system has process groups; after the grace it is ended. When it has written more than is
// wanted, it is ended at once. Programs that it has left behind may keep its output open: after a deadline nobody waits for
// them longer than for the grace once more.
#ifndef THRUM_IO_EXEC_HPP
#define THRUM_IO_EXEC_HPP

#include <thrum/base/config.hpp>
#include <thrum/deadline.hpp>
#include <thrum/io/child_process.hpp>

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
  /// How long it then has, before it is ended.
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
/// not be started; errc::deadline_exceeded, also if only its output was kept
/// open so long; errc::message_size, it wrote too much. With an error_code what
/// has come until then is returned, too. Goroutines and threads. A cancellation point for goroutines:
/// the program is killed then.
THRUM_OUT_OF_LINE exec_result exec(const std::vector<std::string>& arguments,
                                   const exec_options& how = {});
THRUM_OUT_OF_LINE exec_result exec(const std::vector<std::string>& arguments,
                                   const exec_options& how, std::error_code& error);

}}}  // namespace thrum::THRUM_ABI::io

#if !THRUM_SEPARATE
#include <thrum/io/exec_definition.hpp>
#endif

#endif
