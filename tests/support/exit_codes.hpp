// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How a program ends that dies of a signal, where the system has none: by an exit code.
#ifndef THRUM_TESTS_SUPPORT_EXIT_CODES_HPP
#define THRUM_TESTS_SUPPORT_EXIT_CODES_HPP

#include <csignal>
#include <cstdint>
#include <cstdio>

#if defined(_WIN32)
#include <thrum/detail/os/windows/api.hpp>
#endif

namespace support {

/// Of abort(), in thrum_programs; elsewhere it is 3, with which many of those exit.
inline constexpr int exit_code_of_abort = 134;

#if defined(_WIN32)

/// Says on standard error what a crash is, and where: a debugger's first two questions.
inline ::LONG __stdcall tell_of_crash(::EXCEPTION_POINTERS* about) {
  const ::EXCEPTION_RECORD& record = *about->ExceptionRecord;
  const auto* const program = reinterpret_cast<const char*>(::GetModuleHandleW(nullptr));
  const auto* const place = static_cast<const char*>(record.ExceptionAddress);
  char text[128];
  const int length = std::snprintf(
      text, sizeof text, "exception %08lx at the program's byte %llx, about address %llx\n",
      record.ExceptionCode, static_cast<unsigned long long>(place - program),
      static_cast<unsigned long long>(record.NumberParameters >= 2 ? record.ExceptionInformation[1]
                                                                   : 0));
  ::DWORD written = 0;
  ::WriteFile(::GetStdHandle(STD_ERROR_HANDLE), text, static_cast<::DWORD>(length), &written,
              nullptr);
  return EXCEPTION_EXECUTE_HANDLER;
}

/// From now on the process ends of an exception that nobody handles, without asking a debugger in.
inline void crash_without_debugger() { ::SetUnhandledExceptionFilter(&tell_of_crash); }

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
