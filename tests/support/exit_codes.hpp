// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How a program ends that dies of a signal, where the system has none: by an exit code.
#ifndef THRUM_TESTS_SUPPORT_EXIT_CODES_HPP
#define THRUM_TESTS_SUPPORT_EXIT_CODES_HPP

#include <csignal>
#include <cstdint>

#if defined(_WIN32)
#include <thrum/os/windows/api.hpp>
#endif

namespace support {

/// Of abort(), in thrum_programs; elsewhere it is 3, with which many of those exit.
inline constexpr int exit_code_of_abort = 134;

#if defined(_WIN32)

/// From now on the process ends of an exception that nobody handles, without asking a debugger in.
inline void crash_without_debugger() {
  ::SetUnhandledExceptionFilter(
      [](::EXCEPTION_POINTERS*) -> ::LONG { return EXCEPTION_EXECUTE_HANDLER; });
}

/// The signal that a system with signals would have sent; 0: none.
inline int signal_behind(int exit_code) {
  constexpr std::uint32_t access_violation = 0xC000'0005;
  constexpr std::uint32_t stack_overflow = 0xC000'00FD;
  const auto code = static_cast<std::uint32_t>(exit_code);
  return exit_code == exit_code_of_abort                      ? SIGABRT
         : code == access_violation || code == stack_overflow ? SIGSEGV
                                                              : 0;
}

#endif

}  // namespace support

#endif
