// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the system says about our children.
#ifndef THRUM_TESTS_SUPPORT_CHILDREN_HPP
#define THRUM_TESTS_SUPPORT_CHILDREN_HPP

#include <cstdint>

#if defined(_WIN32)
#include "support/windows_process.hpp"
#else
#include <signal.h>
#include <sys/wait.h>
#endif

namespace support {

#if defined(_WIN32)

/// Whether this process has children that run.
inline bool has_children() {
  const ::HANDLE all = ::CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
  ::PROCESSENTRY32W one{};
  one.dwSize = sizeof one;
  bool found = false;
  for (int is_one = ::Process32FirstW(all, &one); is_one != 0 && !found;
       is_one = ::Process32NextW(all, &one)) {
    found = one.th32ParentProcessID == ::GetCurrentProcessId();
  }
  ::CloseHandle(all);
  return found;
}

/// Whether that process runs.
inline bool is_running(std::int64_t pid) {
  const ::HANDLE process = ::OpenProcess(SYNCHRONIZE, FALSE, static_cast<::DWORD>(pid));
  const bool runs = process != nullptr && ::WaitForSingleObject(process, 0) == WAIT_TIMEOUT;
  if (process != nullptr) {
    ::CloseHandle(process);
  }
  return runs;
}

#else

/// Whether this process has children that were not reaped.
inline bool has_children() {
  ::siginfo_t info;
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/// Whether there is a process of that number, also one that has ended and was not reaped.
inline bool is_running(std::int64_t pid) { return ::kill(static_cast<::pid_t>(pid), 0) == 0; }

#endif

}  // namespace support

#endif
