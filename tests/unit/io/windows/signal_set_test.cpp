// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a console of Windows tells its programs: keys, and that it is closed. The programs are in
// programs/windows/console.cpp.
#if defined(_WIN32)

#include <thrum/detail/os/windows/api.hpp>

#include "support/test.hpp"

namespace {

/// How a program ends that has a console of its own, without a window; 0: it could not be started.
::DWORD exit_code_in_console(const std::string& name) {
  std::string line = "\"" THRUM_PROGRAMS_PATH "\" " + name;
  ::STARTUPINFOA how{};
  how.cb = sizeof how;
  ::PROCESS_INFORMATION started{};
  if (::CreateProcessA(nullptr, line.data(), nullptr, nullptr, FALSE, CREATE_NO_WINDOW, nullptr,
                       nullptr, &how, &started) == 0) {
    return 0;
  }
  ::DWORD code = 0;
  ::WaitForSingleObject(started.hProcess, INFINITE);
  ::GetExitCodeProcess(started.hProcess, &code);
  ::CloseHandle(started.hThread);
  ::CloseHandle(started.hProcess);
  return code;
}

constexpr ::DWORD as_wanted = 7;

}  // namespace

TEST_CASE("control and C is SIGINT, control and break SIGBREAK") {
  CHECK(exit_code_in_console("hear_control_c") == as_wanted);
  CHECK(exit_code_in_console("hear_control_break") == as_wanted);
}

TEST_CASE("the end of a console is SIGTERM, and there is time to end well") {
  CHECK(exit_code_in_console("hear_close") == as_wanted);
}

TEST_CASE("an event of a console that no set wants ends the program") {
  CHECK(exit_code_in_console("be_closed") != as_wanted);
  CHECK(exit_code_in_console("be_broken_off") != as_wanted);
}

#endif  // _WIN32
