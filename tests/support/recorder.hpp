// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a poller has told.
#ifndef THRUM_TESTS_SUPPORT_RECORDER_HPP
#define THRUM_TESTS_SUPPORT_RECORDER_HPP

#include <thrum/detail/netpoll/netpoll.hpp>

#include <cstdint>
#include <vector>

namespace support {

struct seen {
  std::uint64_t tag;
  std::uint32_t events;
};

struct recorder : thrum::netpoll::sink {
  recorder() : thrum::netpoll::sink{&take, nullptr} {}
  std::vector<seen> all;

  static void take(thrum::netpoll::sink& self, std::uint64_t tag, std::uint32_t events) noexcept {
    static_cast<recorder&>(self).all.push_back({tag, events});
  }
  std::uint32_t events_of(std::uint64_t tag) const {
    std::uint32_t sum = 0;
    for (const seen& one : all) {
      sum |= one.tag == tag ? one.events : 0;
    }
    return sum;
  }
};

}  // namespace support

#endif
