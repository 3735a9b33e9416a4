// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The console's control-break as a request.
#ifndef THRUM_OS_WINDOWS_QUIT_SIGNAL_HPP
#define THRUM_OS_WINDOWS_QUIT_SIGNAL_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/os/windows/process_wide.hpp>

#include <atomic>
#include <cstdint>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The one listener of a process: it hears of the key instead of what was told before. The system
/// calls it on a thread of its own.
class quit_listener {
 public:
  using function = void (*)(void* argument) noexcept;

  /// False: somebody listens already.
  static bool open(function call, void* argument) noexcept;

  /// Returns when no call is under way any more. Does nothing for an argument that does not listen.
  static void close(void* argument) noexcept;

 private:
  static int __stdcall handle(unsigned long event) noexcept;

  struct state {
    static constexpr std::string_view process_name = "os::quit_listener";
    std::atomic<function> call{nullptr};
    std::atomic<void*> argument{nullptr};
    std::atomic<std::uint32_t> inside{0};
    int(__stdcall* console_handler)(unsigned long) noexcept = nullptr;  // of the one that listens
  };
  static state& known() noexcept { return process_wide<state>::get(); }
};

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/windows/quit_signal_definition.hpp>
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_OS_WINDOWS_QUIT_SIGNAL_HPP
