// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Signals that are caught to be looked at later.
//
// There are three: SIGINT and SIGBREAK, keys of the console; and SIGTERM, which stands for the end of
// the console, of the session or of the system. The system calls a handler on a thread of its own, and
// ends the process when the handler for one of those ends returns: so it does not return. A program
// raises them itself by the C library's raise(), on its own thread. Ours sets the signal's bit and wakes
// a note; a thread that sleeps on the note takes the bits.
#ifndef THRUM_OS_WINDOWS_CAUGHT_SIGNALS_HPP
#define THRUM_OS_WINDOWS_CAUGHT_SIGNALS_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/os/note.hpp>
#include <thrum/os/windows/process_wide.hpp>
#include <thrum/os/windows/result.hpp>

#include <atomic>
#include <cstdint>
#include <string_view>

#include <signal.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// There is one in the process. One thread at a time installs and removes.
class caught_signals {
 public:
  static constexpr int last = 64;

  static constexpr std::uint64_t bit(int number) noexcept {
    return std::uint64_t{1} << (number - 1);
  }

  /// Whether an instruction raises it.
  static constexpr bool is_raised_by_code(int number) noexcept {
    return number == SIGSEGV || number == SIGFPE || number == SIGILL;
  }

  /// The signal is ours from now on. 0, or `invalid` for one that cannot be caught.
  static io_result install(int number) noexcept;

  static void remove(int number) noexcept;

  /// Returns when all handlers have ended that ran when it was called.
  static void wait_for_handlers() noexcept;

  /// Sleeps until a signal is caught or wake() is called; for ns nanoseconds at most, if that is
  /// not negative. One thread.
  static void sleep(std::int64_t ns) noexcept;

  /// The signals that came since the last time. A sleep after it may find nothing new.
  static std::uint64_t take() noexcept;

  /// Ends the sleep, or the next one. From any thread.
  static void wake() noexcept { known().note.wake(); }

  /// Nothing to do: no thread of ours is interrupted.
  static void leave_to_other_threads() noexcept {}

 private:
  using c_handler = void (*)(int);

  /// Whether somebody wants it.
  static bool note_signal(int number, bool is_raised) noexcept;
  static void handle_raised(int number) noexcept;
  static int __stdcall handle_event(unsigned long event) noexcept;

  struct state {
    static constexpr std::string_view process_name = "os::caught_signals";
    std::atomic<std::uint64_t> wanted{0};
    std::atomic<std::uint64_t> bits{0};
    std::atomic<std::uint32_t> inside{0};
    std::atomic<bool> is_ending{false};  // a handler of the console will not return
    os::note note;
    c_handler earlier[last + 1] = {};
    int(__stdcall* console_handler)(unsigned long) noexcept = nullptr;  // installed
  };
  static state& known() noexcept { return process_wide<state>::get(); }
};

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/windows/caught_signals_definition.hpp>
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_OS_WINDOWS_CAUGHT_SIGNALS_HPP
