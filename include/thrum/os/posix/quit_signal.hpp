// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// SIGQUIT (the terminal's control-backslash) as a request.
#ifndef THRUM_OS_POSIX_QUIT_SIGNAL_HPP
#define THRUM_OS_POSIX_QUIT_SIGNAL_HPP

#include <atomic>
#include <cstdint>
#include <string_view>

#include <thrum/base/config.hpp>
#include <thrum/os/memory_parts.hpp>

#if THRUM_OS_POSIX

#include <signal.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The one listener of a process: it hears of the signal instead of what was installed before.
/// `call` must be safe in a signal handler.
class quit_listener {
 public:
  using function = void (*)(void* argument) noexcept;

  /// False: somebody listens already.
  static bool open(function call, void* argument) noexcept;

  /// Returns when no handler is under way any more. Does nothing for an argument that does
  /// not listen.
  static void close(void* argument) noexcept;

 private:
  static bool is_ours(const struct ::sigaction& action) noexcept;

  static void handle(int);

  /// The handler of whichever shared object was the first to need one.
  static auto own_handler() noexcept -> void (*)(int);

  struct state {
    static constexpr std::string_view process_name = "os::quit_listener";
    std::atomic<void (*)(int)> handler{nullptr};
    std::atomic<function> call{nullptr};
    std::atomic<void*> argument{nullptr};
    std::atomic<std::uint32_t> inside{0};
    struct ::sigaction earlier = {};
  };
  static state& known() noexcept { return process_wide<state>::get(); }
};

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/posix/quit_signal_definition.hpp>
#endif

#endif  // THRUM_OS_POSIX
#endif  // THRUM_OS_POSIX_QUIT_SIGNAL_HPP
