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
//
// The console's control-break as a request.
#ifndef THRUM_DETAIL_OS_WINDOWS_CAUGHT_SIGNALS_HPP
#define THRUM_DETAIL_OS_WINDOWS_CAUGHT_SIGNALS_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/detail/os/note.hpp>
#include <thrum/detail/os/result.hpp>
#include <thrum/detail/os/windows/process_wide.hpp>

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

  /// Notes the signal if it is wanted, and returns whether it is.
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

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result caught_signals::install(int number) noexcept {
  if (number != SIGINT && number != SIGBREAK && number != SIGTERM) {
    return invalid;
  }
  state& all = known();
  // relaxed: one thread at a time writes it; set before wait_for_handlers has returned
  if (all.wanted.load(relaxed) == 0 && !all.is_ending.load(relaxed)) {
    all.console_handler = &handle_event;
    if (::SetConsoleCtrlHandler(all.console_handler, TRUE) == 0) {
      return result_of(false, 0);
    }
  }
  // [cs.want =] seq_cst: before an event that comes from now on
  all.wanted.fetch_or(bit(number), seq_cst);
  const c_handler found = ::signal(number, &handle_raised);
  if (found != &handle_raised) {
    all.earlier[number] = found;
  }
  return 0;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void caught_signals::remove(int number) noexcept {
  state& all = known();
  // [cs.want =] seq_cst: before wait_for_handlers looks who runs
  all.wanted.fetch_and(~bit(number), seq_cst);
  wait_for_handlers();  // ours installs itself anew
  const c_handler found = ::signal(number, all.earlier[number]);
  if (found != &handle_raised &&
      found != SIG_DFL) {  // another one was installed meanwhile, and stays
    ::signal(number, found);
  }
  // relaxed: one thread at a time writes it; set before wait_for_handlers has returned
  if (all.wanted.load(relaxed) == 0 && !all.is_ending.load(relaxed)) {
    ::SetConsoleCtrlHandler(all.console_handler, FALSE);
  }
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void caught_signals::wait_for_handlers() noexcept {
  while (known().inside.load(seq_cst) != 0) {  // [cs.want =] seq_cst: a handler counts, then looks
    ::SwitchToThread();
  }
}

THRUM_OUT_OF_LINE void caught_signals::sleep(std::int64_t ns) noexcept {
  if (ns < 0) {
    known().note.sleep();
    known().note.clear_while_woken();
  } else if (known().note.sleep_for(ns)) {
    known().note.clear_while_woken();
  }
}

THRUM_OUT_OF_LINE std::uint64_t caught_signals::take() noexcept {
  return known().bits.exchange(0, acquire);  // [cs.bits <] acquire: pairs with the handler
}

THRUM_OUT_OF_LINE bool caught_signals::note_signal(int number, bool is_raised) noexcept {
  state& all = known();
  all.inside.fetch_add(1, seq_cst);  // [cs.want =] seq_cst: before the look
  // [cs.want =] seq_cst: counted before it is read
  const bool is_wanted = (all.wanted.load(seq_cst) & bit(number)) != 0;
  if (is_wanted) {
    if (is_raised) {  // the C library takes a handler away when it calls it
      ::signal(number, &handle_raised);
    }
    if (!is_raised && number == SIGTERM) {
      all.is_ending.store(true, relaxed);  // relaxed: counted as inside meanwhile
    }
    all.bits.fetch_or(bit(number), release);  // [cs.bits >] release: before the note is woken
    all.note.wake();
  }
  all.inside.fetch_sub(1, seq_cst);  // [cs.want =] seq_cst: the bit is set
  return is_wanted;
}

THRUM_OUT_OF_LINE void caught_signals::handle_raised(int number) noexcept {
  note_signal(number, true);
}

THRUM_OUT_OF_LINE int __stdcall caught_signals::handle_event(unsigned long event) noexcept {
  const int number = event == CTRL_C_EVENT       ? SIGINT
                     : event == CTRL_BREAK_EVENT ? SIGBREAK
                                                 : SIGTERM;
  const bool is_ours = note_signal(number, false);
  if (is_ours && number == SIGTERM) {
    // The system ends the process in a while, or when this returns. Until then no thread may install or
    // remove a handler: it would wait for this one.
    ::Sleep(INFINITE);
  }
  return is_ours ? TRUE : FALSE;
}

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

#endif
#endif  // THRUM_DETAIL_OS_WINDOWS_CAUGHT_SIGNALS_HPP
