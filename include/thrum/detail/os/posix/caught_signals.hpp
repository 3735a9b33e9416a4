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
//
// SIGQUIT (the terminal's control-backslash) as a request.
#ifndef THRUM_DETAIL_OS_POSIX_CAUGHT_SIGNALS_HPP
#define THRUM_DETAIL_OS_POSIX_CAUGHT_SIGNALS_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/memory_parts.hpp>
#include <thrum/detail/os/thread_parts.hpp>

#include <atomic>
#include <cstdint>
#include <string_view>

#if THRUM_OS_POSIX

#include <thrum/detail/os/result.hpp>

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

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result caught_signals::install(int number) noexcept {
  struct ::sigaction ours {};
  ours.sa_handler = own_handler();
  ours.sa_flags = SA_RESTART | SA_ONSTACK;
  sigfillset(&ours.sa_mask);
  struct ::sigaction found {};
  const io_result result = result_of(::sigaction(number, &ours, &found));
  if (result >= 0 && !is_ours(found)) {  // else a handler that had kept ours has put it back
    known().earlier[number] = found;
  }
  return result;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void caught_signals::remove(int number) noexcept {
  struct ::sigaction found {};
  if (::sigaction(number, nullptr, &found) == 0 && is_ours(found)) {
    ::sigaction(number, &known().earlier[number], nullptr);
  }
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void caught_signals::wait_for_handlers() noexcept {
  while (known().inside.load(acquire) !=
         0) {  // [cs.idle <] acquire: the bits of those that have ended
    ::sched_yield();
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

THRUM_NOINLINE THRUM_OUT_OF_LINE void caught_signals::leave_to_other_threads() noexcept {
  ::sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

THRUM_OUT_OF_LINE bool caught_signals::is_ours(const struct ::sigaction& action) noexcept {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == own_handler();
}

THRUM_OUT_OF_LINE void caught_signals::handle(int number) {
  const int kept = errno;
  known().inside.fetch_add(1, relaxed);         // relaxed: one that is not counted yet has not come
  known().bits.fetch_or(bit(number), release);  // [cs.bits >] release: before the note is woken
  known().note.wake();
  known().inside.fetch_sub(1, release);  // [cs.idle >] release: the bit
  errno = kept;
}

THRUM_OUT_OF_LINE auto caught_signals::own_handler() noexcept -> void (*)(int) {
  return first_in_process(known().handler, &handle);
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

#endif
#endif  // THRUM_DETAIL_OS_POSIX_CAUGHT_SIGNALS_HPP
