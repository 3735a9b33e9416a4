// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A server in a process of its own, which says "listening on ADDRESS" when it is ready, and which
// is killed with the object. And whether a program is installed.
//
// Where programs need an emulator, THRUM_TEST_EMULATOR holds the words that go in front of ours.
#ifndef THRUM_TESTS_SUPPORT_SERVER_PROCESS_HPP
#define THRUM_TESTS_SUPPORT_SERVER_PROCESS_HPP

#if defined(_WIN32)
#include "support/windows_server_process.hpp"
#else
#include "support/posix_server_process.hpp"
#endif

#include <cstdlib>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace support {

#ifdef THRUM_EXAMPLES_DIR
/// The file of an example, whether it was built or not.
inline std::string example_path(const std::string& name) {
#if defined(_WIN32)
  return THRUM_EXAMPLES_DIR "/" + name + ".exe";
#else
  return THRUM_EXAMPLES_DIR "/" + name;
#endif
}

/// An example with its arguments, as words to be executed.
inline std::vector<std::string> example_words(const std::string& name,
                                              std::vector<std::string> arguments = {}) {
  std::vector<std::string> words;
  const char* const emulator = std::getenv("THRUM_TEST_EMULATOR");
  std::istringstream in(emulator == nullptr ? "" : emulator);
  for (std::string word; in >> word;) {
    words.push_back(word);
  }
  words.push_back(example_path(name));
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}
#endif

/// Whether a POSIX shell finds a program.
inline bool is_installed([[maybe_unused]] const std::string& program) {
#if defined(_WIN32)
  return false;
#else
  return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
#endif
}

}  // namespace support

#endif
