// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How a fake_net carries what is sent over it, and what it says of that. See fake_net.hpp.
#ifndef THRUM_DETAIL_TESTING_FAKE_LINK_HPP
#define THRUM_DETAIL_TESTING_FAKE_LINK_HPP

#include <thrum/detail/base/config.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace thrum { inline namespace THRUM_ABI { namespace testing {

/// How packets travel from one host to another. Shares are from 0 to 1.
struct fake_link {
  std::chrono::nanoseconds latency{0};  ///< of each packet
  std::chrono::nanoseconds jitter{0};   ///< at most so much more, drawn for each
  double loss = 0;                      ///< the share that is lost; 1: all, as if it were cut
  double duplicate = 0;                 ///< the share of datagrams that come twice
  double reorder = 0;                   ///< the share of datagrams that come later, by ...
  std::chrono::nanoseconds reorder_by = std::chrono::milliseconds(10);  ///< ... so much
  std::uint64_t bandwidth = 0;  ///< bytes a second, one packet after the other; 0: any number
};

/// How a network is made.
struct fake_net_options {
  /// Between any two hosts, and within one, where set_link() has said nothing else.
  fake_link link{};
  /// What chance is drawn from. None: the bubble's seed.
  std::optional<std::uint64_t> seed{};
  /// Bytes of each direction of a stream that may be under way or unread before writers wait.
  std::size_t buffer = std::size_t{64} * 1024;
  /// For how long a stream tries to get through before it fails with errc::timed_out.
  std::chrono::nanoseconds give_up = std::chrono::minutes(15);
};

/// What went over a network.
struct fake_net_stats {
  std::uint64_t packets = 0;  ///< that were sent, again or for the first time
  std::uint64_t lost = 0;     ///< of them, by chance or on links that are cut
  std::uint64_t bytes = 0;    ///< in the packets
};

}}}  // namespace thrum::THRUM_ABI::testing

#endif
