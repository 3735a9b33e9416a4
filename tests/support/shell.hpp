// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Lines of a POSIX shell as processes.
#ifndef THRUM_TESTS_SUPPORT_SHELL_HPP
#define THRUM_TESTS_SUPPORT_SHELL_HPP

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/children.hpp"  // IWYU pragma: export

#include <string>
#include <utility>

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

}  // namespace support

#endif
