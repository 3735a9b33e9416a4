// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// SIGQUIT (the terminal's control-backslash) as a request.
#ifndef THRUM_DETAIL_OS_POSIX_QUIT_SIGNAL_HPP
#define THRUM_DETAIL_OS_POSIX_QUIT_SIGNAL_HPP

#include <atomic>
#include <cstdint>
#include <string_view>

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/memory_parts.hpp>

#if THRUM_OS_POSIX

#include <signal.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The one listener of a process: it hears of the signal instead of what was installed before.
/// `call` must be safe in a signal handler.
class quit_listener {
 public:
  using function = void (*)(void* argument) noexcept;

  /// False: there is a listener already.
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

#if THRUM_BODIES
#include <thrum/detail/base/order.hpp>

#include <cerrno>

#include <sched.h>

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
  struct ::sigaction found {};
  struct ::sigaction ours {};
  ours.sa_handler = own_handler();
  ours.sa_flags = SA_RESTART | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  ::sigaction(SIGQUIT, &ours, &found);
  if (!is_ours(found)) {  // else what was there before us the last time still is
    known().earlier = found;
  }
  return true;
}

THRUM_OUT_OF_LINE void quit_listener::close(void* argument) noexcept {
  if (known().argument.load(relaxed) != argument) {  // relaxed: only the owner's own value matters
    return;
  }
  struct ::sigaction found {};
  // A handler that was installed over ours stays; it may call ours, which then does nothing.
  if (::sigaction(SIGQUIT, nullptr, &found) == 0 && is_ours(found)) {
    ::sigaction(SIGQUIT, &known().earlier, nullptr);
  }
  known().call.exchange(nullptr, seq_cst);  // [quit.2 =] seq_cst: before the handlers are counted
  while (known().inside.load(seq_cst) != 0) {  // [quit.2 =] seq_cst: a handler counts, then looks
    ::sched_yield();
  }
  known().argument.store(nullptr, release);  // [quit.1 >] release: the next may open
}

THRUM_OUT_OF_LINE bool quit_listener::is_ours(const struct ::sigaction& action) noexcept {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == own_handler();
}

THRUM_OUT_OF_LINE void quit_listener::handle(int) {
  const int kept = errno;
  known().inside.fetch_add(1, seq_cst);                    // [quit.2 =] as in close
  if (const function call = known().call.load(seq_cst)) {  // [quit.2 =] as in close
    call(known().argument.load(relaxed));                  // relaxed: set before `call`
  }
  known().inside.fetch_sub(1, release);  // [quit.2 >] release: our last look
  errno = kept;
}

THRUM_OUT_OF_LINE auto quit_listener::own_handler() noexcept -> void (*)(int) {
  return first_in_process(known().handler, &handle);
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_POSIX
#endif  // THRUM_DETAIL_OS_POSIX_QUIT_SIGNAL_HPP
