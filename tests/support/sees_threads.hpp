// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Whether the system says of a thread that it computes. Where it does not, a thread that has had no
// CPU for a while, as on a busy machine, is taken for one that blocks, and loses its processor.
#ifndef THRUM_TESTS_SUPPORT_SEES_THREADS_HPP
#define THRUM_TESTS_SUPPORT_SEES_THREADS_HPP

#include <thrum/detail/os/os.hpp>

namespace support {

inline bool system_sees_threads() {
  thrum::os::thread_ref self;
  self.open();
  const bool sees = self.look() != thrum::os::thread_look::unknown;
  self.close();
  return sees;
}

}  // namespace support

#endif
