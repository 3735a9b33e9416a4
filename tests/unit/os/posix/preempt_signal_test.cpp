// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// When the signal that interrupts a thread is sent, where it can carry no value.

#include <thrum/detail/os/posix/preempt_signal.hpp>

#include "support/test.hpp"

TEST_CASE(
    "no second signal without a value is sent while one is on its way, unless that may be lost") {
  thrum::os::preempt_target target;
  CHECK(target.is_to_be_sent());
  CHECK_FALSE(target.is_to_be_sent());
  target.unmarked = false;  // the handler has begun
  CHECK(target.is_to_be_sent());
  int sent = 0;
  for (int i = 0; i != 160; ++i) {
    sent += target.is_to_be_sent() ? 1 : 0;
  }
  CHECK(sent == 20);
}
