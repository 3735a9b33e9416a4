// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/posix/caught_signals.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_POSIX_CAUGHT_SIGNALS_DEFINITION_HPP
#define THRUM_OS_POSIX_CAUGHT_SIGNALS_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_POSIX

#include <thrum/base/order.hpp>
#include <thrum/os/memory_parts.hpp>
#include <thrum/os/posix/caught_signals.hpp>
#include <thrum/os/posix/result.hpp>
#include <thrum/os/thread_parts.hpp>

#include <atomic>
#include <cerrno>
#include <cstdint>

#include <sched.h>
#include <signal.h>

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

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_POSIX
#endif
