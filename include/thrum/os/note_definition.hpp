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

THRUM_OUT_OF_LINE void note::clear_while_woken() noexcept {
  word_.exchange(clear_value, acquire);  // [note.1 <] what was done before wake is visible here
}

}}}  // namespace thrum::THRUM_ABI::os

#endif
