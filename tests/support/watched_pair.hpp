// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Two connected sockets as of a foreign library, in blocking mode, and what such a library does with
// them after it has waited.
#ifndef THRUM_TESTS_SUPPORT_WATCHED_PAIR_HPP
#define THRUM_TESTS_SUPPORT_WATCHED_PAIR_HPP

#include "support/descriptors.hpp"

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

namespace support {

struct watched_pair : foreign_pair {
  /// Writes at one end, which has room for it.
  void put(int end, std::string_view text) const { support::put(ends[end], text); }

  /// Takes what is there, `most` bytes of it; how many that were.
  std::size_t take(int end, std::size_t most = 16) const {
    std::string buffer(most, '\0');
    const thrum::os::io_result n =
        at_once(end, [&] { return thrum::os::receive(ends[end], buffer.data(), buffer.size()); });
    return n > 0 ? static_cast<std::size_t>(n) : 0;
  }

  /// Writes until there is no room.
  void fill(int end) const {
    const std::string block(100'000, 'x');
    while (at_once(end, [&] { return thrum::os::send(ends[end], block.data(), block.size()); }) >
           0) {
    }
  }

  /// Takes all that is there.
  void drain(int end) const {
    while (take(end, 100'000) != 0) {
    }
  }

 private:
  /// A call in its turn with others on that end, without waiting.
  template <class Call>
  thrum::os::io_result at_once(int end, Call call) const {
    const std::lock_guard guard(mutex_[end]);
    thrum::os::set_nonblocking(ends[end], true);
    const thrum::os::io_result n = call();
    thrum::os::set_nonblocking(ends[end], false);
    return n;
  }

  mutable thrum::mutex mutex_[2];
};

}  // namespace support

#endif
