// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Signals that are caught to be looked at later.
//
// A handler may do next to nothing. Ours sets the signal's bit and wakes a note; a thread that
// sleeps on the note takes the bits. A signal that comes again before its bit was taken leaves no
// second trace, as with signals that are blocked.
//
// A thread that removes the handler and wants what it has heard must know that it is not running:
// the handlers that run are counted. Their mask is full, so that none is held up while it counts.
//
// Handlers of others: what was installed before is kept, and put back if ours is then still
// the one that is installed. If another one was installed meanwhile, that one stays.
#ifndef THRUM_OS_POSIX_CAUGHT_SIGNALS_HPP
#define THRUM_OS_POSIX_CAUGHT_SIGNALS_HPP

#include <thrum/base/config.hpp>
#include <thrum/os/memory_parts.hpp>
#include <thrum/os/thread_parts.hpp>

#if THRUM_OS_POSIX

#include <thrum/os/posix/result.hpp>

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

  /// Whether an instruction raises it: after a handler that returns it would be raised again.
  static constexpr bool is_raised_by_code(int number) noexcept {
    return number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL;
  }

  /// The signal is ours from now on. 0, or an errno value below zero: -EINVAL for a signal that
  /// cannot be caught.
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

  /// No signal's handler runs on the calling thread any more.
  static void leave_to_other_threads() noexcept;

 private:
  static bool is_ours(const struct ::sigaction& action) noexcept;

  static void handle(int number);

  /// The handler of whichever shared object was the first to need one.
  static auto own_handler() noexcept -> void (*)(int);

  struct state {
    static constexpr std::string_view process_name = "os::caught_signals";
    std::atomic<void (*)(int)> handler{nullptr};
    std::atomic<std::uint64_t> bits{0};
    std::atomic<std::uint32_t> inside{0};
    os::note note;
    struct ::sigaction earlier[last + 1] = {};
  };
  static state& known() noexcept { return process_wide<state>::get(); }
};

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/posix/caught_signals_definition.hpp>
#endif

#endif  // THRUM_OS_POSIX
#endif
