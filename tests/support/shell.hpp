// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Lines of a shell as processes, and what the system says about our children.
#ifndef THRUM_TESTS_SUPPORT_SHELL_HPP
#define THRUM_TESTS_SUPPORT_SHELL_HPP

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/process.hpp"

#include <string>
#include <utility>

#include <sys/wait.h>

namespace support {

/// Starts a line of a shell.
inline thrum::io::process shell(const std::string& line, thrum::io::process_options options = {}) {
  return thrum::io::process::spawn({"sh", "-c", line}, std::move(options));
}

/// What a line of a shell writes.
inline std::string output_of(const std::string& line, thrum::io::process_options options = {}) {
  options.out = thrum::io::redirect::pipe();
  thrum::io::process p = shell(line, std::move(options));
  std::string text = p.out().read_all();
  CHECK(p.wait().success());
  return text;
}

/// Whether this process has children that were not reaped.
inline bool has_children() {
  ::siginfo_t info;
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

}  // namespace support

#endif
