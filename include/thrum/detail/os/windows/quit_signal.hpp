// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The console's control-break as a request.
#ifndef THRUM_DETAIL_OS_WINDOWS_QUIT_SIGNAL_HPP
#define THRUM_DETAIL_OS_WINDOWS_QUIT_SIGNAL_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/detail/os/windows/process_wide.hpp>

#include <atomic>
#include <cstdint>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The one listener of a process: it hears of the key instead of what was told before. The system
/// calls it on a thread of its own.
class quit_listener {
 public:
  using function = void (*)(void* argument) noexcept;

  /// False: there is a listener already.
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

#if THRUM_BODIES
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/windows/api.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

THRUM_OUT_OF_LINE bool quit_listener::open(function call, void* argument) noexcept {
  void* nobody = nullptr;
  // [quit.1 <>] acq_rel: one listens.
  if (!known().argument.compare_exchange_strong(nobody, argument, acq_rel,
                                                // relaxed: nothing of the listener is read
                                                relaxed)) {
    return false;
  }
  known().call.store(call, release);  // [quit.2 >] release: argument, to the handler
  known().console_handler = &handle;
  ::SetConsoleCtrlHandler(&handle, TRUE);
  return true;
}

THRUM_OUT_OF_LINE void quit_listener::close(void* argument) noexcept {
  if (known().argument.load(relaxed) != argument) {  // relaxed: only the owner's own value matters
    return;
  }
  ::SetConsoleCtrlHandler(known().console_handler, FALSE);
  known().call.exchange(nullptr, seq_cst);  // [quit.2 =] seq_cst: before the handlers are counted
  while (known().inside.load(seq_cst) != 0) {  // [quit.2 =] seq_cst: a handler counts, then looks
    ::SwitchToThread();
  }
  known().argument.store(nullptr, release);  // [quit.1 >] release: the next may open
}

THRUM_OUT_OF_LINE int __stdcall quit_listener::handle(unsigned long event) noexcept {
  if (event != CTRL_BREAK_EVENT) {
    return FALSE;
  }
  known().inside.fetch_add(1, seq_cst);              // [quit.2 =] as in close
  const function call = known().call.load(seq_cst);  // [quit.2 =] as in close
  if (call != nullptr) {
    call(known().argument.load(relaxed));  // relaxed: set before `call`
  }
  known().inside.fetch_sub(1, release);  // [quit.2 >] release: our last look
  return call != nullptr ? TRUE : FALSE;
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_DETAIL_OS_WINDOWS_QUIT_SIGNAL_HPP
