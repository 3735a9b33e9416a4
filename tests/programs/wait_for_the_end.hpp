// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#ifndef THRUM_TESTS_PROGRAMS_WAIT_FOR_THE_END_HPP
#define THRUM_TESTS_PROGRAMS_WAIT_FOR_THE_END_HPP

#include <thrum.hpp>

#include <chrono>

namespace programs {

/// What main waits for while something else must end the program. Reaching the end is the failure.
inline int wait_for_the_end() {
  thrum::sleep_for(std::chrono::seconds(60));
  return 0;
}

}  // namespace programs

#endif
