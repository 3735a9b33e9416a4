// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/windows/caught_signals.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_WINDOWS_CAUGHT_SIGNALS_DEFINITION_HPP
#define THRUM_OS_WINDOWS_CAUGHT_SIGNALS_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/base/order.hpp>
#include <thrum/os/note.hpp>
#include <thrum/os/windows/api.hpp>
#include <thrum/os/windows/caught_signals.hpp>
#include <thrum/os/windows/result.hpp>

#include <atomic>
#include <cstdint>

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
    // The system ends the process in a while, or when this returns; and until then nobody may install or
    // remove a handler, or would wait for this one.
    ::Sleep(INFINITE);
  }
  return is_ours ? TRUE : FALSE;
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_WINDOWS
#endif
