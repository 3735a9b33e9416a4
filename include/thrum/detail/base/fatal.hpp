// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Ends the program with one line on standard error, and asserts invariants by name.
//
// Nothing here allocates, locks or uses stdio: a report may come from a signal handler, from a
// thread that holds malloc's lock, or from a stack that has nearly overflowed.
#ifndef THRUM_DETAIL_BASE_FATAL_HPP
#define THRUM_DETAIL_BASE_FATAL_HPP

#include <thrum/detail/base/config.hpp>

#include <cstddef>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace base {

/// How many of the bytes were written, from a signal handler as well; below 1 if none can be.
std::ptrdiff_t write_to_standard_error(const char* bytes, std::size_t n) noexcept;

/// Writes all of `text` to standard error; gives up on an error, since there is nowhere to report
/// it. May be called from a signal handler.
void write_error(std::string_view text) noexcept;

/// Prints "fatal error: thrum: MESSAGE" and aborts. May be called from anywhere, also from a signal
/// handler.
[[noreturn]] [[gnu::cold]] void fatal(std::string_view what) noexcept;

/// Aborts after a report: a report of the crash is not added to it.
[[noreturn]] [[gnu::cold]] void abort_reported() noexcept;

/// Whether abort_reported was called, or note_reported.
bool is_end_reported() noexcept;

/// A report has said why the program is about to end.
void note_reported() noexcept;

/// Reports an invariant that does not hold.
[[noreturn]] [[gnu::cold]] void invariant_failed(std::string_view name,
                                                 std::string_view condition) noexcept;

}}}  // namespace thrum::THRUM_ABI::base

/// THRUM_ASSERT(NAME, condition) states the invariant NAME of the file's head. With THRUM_CHECKS a
/// violation ends the program with the name and the condition; without, the condition is compiled
/// but not evaluated.
#if THRUM_CHECKS
#define THRUM_ASSERT(NAME, ...) \
  ((__VA_ARGS__) ? static_cast<void>(0) : ::thrum::base::invariant_failed(#NAME, #__VA_ARGS__))
#else
#define THRUM_ASSERT(NAME, ...) static_cast<void>(sizeof((__VA_ARGS__) ? 1 : 0))
#endif

#if THRUM_BODIES
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/base/relaxed.hpp>

#include <cstdlib>

// Writing to standard error: all that this floor asks of the system, which stands one floor above; so
// this chooses, too.
#if THRUM_OS_WINDOWS
struct _OVERLAPPED;
extern "C" {  // as the system's header has them, which is too large for this floor
__declspec(dllimport) void* __stdcall GetStdHandle(unsigned long which);
__declspec(dllimport) int __stdcall WriteFile(void* file, const void* bytes, unsigned long n,
                                              unsigned long* written, _OVERLAPPED* overlapped);
}
#else
#include <unistd.h>
#endif

namespace thrum { inline namespace THRUM_ABI { namespace base {

THRUM_OUT_OF_LINE std::ptrdiff_t write_to_standard_error(const char* bytes,
                                                         std::size_t n) noexcept {
#if THRUM_OS_WINDOWS  // the C library's would wait for a thread that is stopped inside of it
  constexpr unsigned long standard_error = 0xFFFF'FFF4;
  constexpr std::size_t most = 1 << 20;
  unsigned long written = 0;
  const auto length = static_cast<unsigned long>(n < most ? n : most);
  return ::WriteFile(::GetStdHandle(standard_error), bytes, length, &written, nullptr) == 0
             ? -1
             : static_cast<std::ptrdiff_t>(written);
#else
  return ::write(STDERR_FILENO, bytes, n);
#endif
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void write_error(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::ptrdiff_t written = write_to_standard_error(text.data(), text.size());
    if (written <= 0) {
      return;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

inline constinit hint<bool> end_was_reported{false};

THRUM_OUT_OF_LINE bool is_end_reported() noexcept { return end_was_reported.get(); }

THRUM_OUT_OF_LINE void note_reported() noexcept { end_was_reported.set(true); }

THRUM_COLD THRUM_OUT_OF_LINE void abort_reported() noexcept {
  note_reported();
  std::abort();
}

THRUM_COLD THRUM_OUT_OF_LINE void fatal(std::string_view what) noexcept {
  constexpr std::size_t limit = 1024;
  message<limit> line("fatal error: thrum: ");
  line.append(what.substr(0, limit - line.view().size() - 1)).append("\n");
  write_error(line.view());
  abort_reported();
}

THRUM_COLD THRUM_OUT_OF_LINE void invariant_failed(std::string_view name,
                                                   std::string_view condition) noexcept {
  message<512> text("invariant ");
  text.append(name).append(" does not hold: ").append(condition);
  fatal(text.view());
}

}}}  // namespace thrum::THRUM_ABI::base
#endif

#endif  // THRUM_DETAIL_BASE_FATAL_HPP
