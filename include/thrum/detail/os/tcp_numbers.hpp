// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The figures of a TCP connection, for every system; those that one does not tell are 0.
#ifndef THRUM_DETAIL_OS_TCP_NUMBERS_HPP
#define THRUM_DETAIL_OS_TCP_NUMBERS_HPP

#include <thrum/detail/base/config.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// What the system knows of a TCP connection.
struct tcp_numbers {
  std::uint32_t rtt_us = 0;
  std::uint32_t rtt_variance_us = 0;
  std::uint32_t least_rtt_us = 0;
  std::uint32_t timeout_us = 0;
  std::uint32_t window = 0;     // of congestion, in segments
  std::uint32_t threshold = 0;  // of slow start, in segments
  std::uint32_t segment_size = 0;
  std::uint32_t unacknowledged = 0;
  std::uint32_t lost = 0;
  std::uint32_t retransmits = 0;  // of all time
  std::uint32_t retries = 0;      // of what is on its way now
};

}}}  // namespace thrum::THRUM_ABI::os

#endif
