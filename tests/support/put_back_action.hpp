// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The end of a test that sends signals from another thread.
#ifndef THRUM_TESTS_SUPPORT_PUT_BACK_ACTION_HPP
#define THRUM_TESTS_SUPPORT_PUT_BACK_ACTION_HPP

#include <signal.h>

namespace support {

/// Does for a signal what was done before. A thread that has not run since the last one was sent may
/// still have it before it, and the default would end the process: to ignore it first forgets it.
inline void put_back_action(int number, const struct ::sigaction& before) {
  struct ::sigaction nothing {};
  nothing.sa_handler = SIG_IGN;
  ::sigaction(number, &nothing, nullptr);
  ::sigaction(number, &before, nullptr);
}

}  // namespace support

#endif
