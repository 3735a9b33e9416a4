// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Commands that every system has, as words to be executed: each does one thing that a test wants to
// see of a child.
#ifndef THRUM_TESTS_SUPPORT_COMMANDS_HPP
#define THRUM_TESTS_SUPPORT_COMMANDS_HPP

#include <string>
#include <vector>

namespace support {

using command_words = std::vector<std::string>;

#if defined(_WIN32)
inline command_words of_shell(const std::string& line) { return {"cmd", "/v:on", "/c", line}; }

/// Waits for a line of its input, or for the end of that.
inline command_words words_that_wait() { return of_shell("set /p x="); }
/// The same, and then ends with that code.
inline command_words words_that_wait_and_exit(int code) {
  return of_shell("set /p x=& exit " + std::to_string(code));
}
inline command_words words_that_exit(int code) { return of_shell("exit " + std::to_string(code)); }
/// Writes a line.
inline command_words words_that_say(const std::string& text) { return of_shell("echo " + text); }
/// Writes a line to standard error.
inline command_words words_that_complain(const std::string& text) {
  return of_shell("echo " + text + ">&2");
}
/// Writes a line to standard output, and then one to standard error.
inline command_words words_that_do_both(const std::string& said, const std::string& complained) {
  return of_shell("echo " + said + "&echo " + complained + ">&2");
}
/// Writes the line that it reads.
inline command_words words_that_answer() { return of_shell("set /p x=& echo !x!"); }
/// Writes the value of a variable of its environment.
inline command_words words_that_tell(const std::string& variable) {
  return of_shell("echo !" + variable + "!");
}
/// Writes the folder in which it was started.
inline command_words words_that_tell_folder() { return of_shell("cd"); }
#else
inline command_words of_shell(const std::string& line) { return {"sh", "-c", line}; }

inline command_words words_that_wait() { return of_shell("read x"); }
inline command_words words_that_wait_and_exit(int code) {
  return of_shell("read x; exit " + std::to_string(code));
}
inline command_words words_that_exit(int code) { return of_shell("exit " + std::to_string(code)); }
inline command_words words_that_say(const std::string& text) { return of_shell("echo " + text); }
inline command_words words_that_complain(const std::string& text) {
  return of_shell("echo " + text + " >&2");
}
inline command_words words_that_do_both(const std::string& said, const std::string& complained) {
  return of_shell("echo " + said + "; echo " + complained + " >&2");
}
inline command_words words_that_answer() { return of_shell("read x; echo $x"); }
inline command_words words_that_tell(const std::string& variable) {
  return of_shell("echo $" + variable);
}
inline command_words words_that_tell_folder() { return of_shell("pwd -P"); }
#endif

/// A line without what its end and the shell add.
inline std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) {
    text.pop_back();
  }
  return text;
}

}  // namespace support

#endif
