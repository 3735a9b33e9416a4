// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#ifndef THRUM_TESTS_SUPPORT_RACES_HPP
#define THRUM_TESTS_SUPPORT_RACES_HPP

#include <thrum.hpp>

#include "support/with_runtime.hpp"

#include <atomic>

namespace support {

/// Has play(group, wrong) start goroutines in the group, each round anew, on four processors; counts
/// what they find wrong. What they share they must own, since play returns before they end.
template <class Play>
int wrong_in_races(int rounds, Play play) {
  std::atomic<int> wrong{0};
  with_runtime(with_procs(4), [&] {
    for (int round = 0; round != rounds; ++round) {
      thrum::wait_group group;
      play(group, wrong);
      group.wait();
    }
  });
  return wrong;
}

}  // namespace support

#endif
