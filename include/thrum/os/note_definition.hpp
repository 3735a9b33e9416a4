// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/note.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_NOTE_DEFINITION_HPP
#define THRUM_OS_NOTE_DEFINITION_HPP

#include <thrum/base/config.hpp>

#include <thrum/base/order.hpp>
#include <thrum/os/clock.hpp>
#include <thrum/os/note.hpp>

#include <atomic>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

THRUM_OUT_OF_LINE void note::sleep() noexcept {
  while (!announce_sleep()) {
    futex_wait(word_, sleeping, -1);
  }
}

THRUM_OUT_OF_LINE bool note::sleep_for(std::int64_t ns) noexcept {
  if (ns <= 0) {
    return is_set();
  }
  const std::int64_t deadline = deadline_after(ns);
  for (std::int64_t left = ns; left > 0; left = deadline - now()) {
    if (announce_sleep()) {
      return true;
    }
    futex_wait(word_, sleeping, left);
  }
  return is_set();
}

THRUM_OUT_OF_LINE note::wakening note::sleep_or_nudge(std::int64_t ns) noexcept {
  const std::int64_t deadline = ns < 0 ? ns : deadline_after(ns);
  for (;;) {
    std::uint32_t found = clear_value;
    // [note.1 <] as in announce_sleep; and a nudge that was found came before this
    word_.compare_exchange_strong(found, sleeping, acquire, acquire);
    if (found == set) {
      return wakening::event;
    }
    if (found == nudged) {
      // [note.1 <, note.2 <] what there is to look at; or, if it fails, what was done before wake
      return word_.compare_exchange_strong(found, clear_value, acquire, acquire) ? wakening::nudge
                                                                                 : wakening::event;
    }
    std::int64_t left = -1;
    if (ns >= 0) {
      left = deadline - now();
      if (left <= 0) {
        return wakening::timeout;
      }
    }
    futex_wait(word_, sleeping, left);
  }
}

THRUM_OUT_OF_LINE void note::clear_while_woken() noexcept {
  word_.exchange(clear_value, acquire);  // [note.1 <] what was done before wake is visible here
}

}}}  // namespace thrum::THRUM_ABI::os

#endif
