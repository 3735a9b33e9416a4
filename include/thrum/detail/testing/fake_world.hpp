// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a fake_net is made of: hosts, the links between them, and the listeners.
//
// No goroutine moves packets. The sender decides at once, by the link and by chance, when a packet
// arrives. The receiver finds that moment with the packet and waits for it. So time passes only while
// a goroutine waits, and if none waits, nothing is left to do.
//
// All state is under one lock, which no goroutine holds while it waits for time.
#ifndef THRUM_DETAIL_TESTING_FAKE_WORLD_HPP
#define THRUM_DETAIL_TESTING_FAKE_WORLD_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/random.hpp>
#include <thrum/detail/net/network.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/run/io_deadline.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/detail/start/stoppable.hpp>  // IWYU pragma: keep: the wait with a stop
#include <thrum/goroutine_local.hpp>
#include <thrum/net/endpoint.hpp>
#include <thrum/sync/condition_variable.hpp>
#include <thrum/sync/mutex.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace testing {

// How a fake_net carries what is sent over it, and what it says of that. See fake_net.hpp.

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

namespace thrum { inline namespace THRUM_ABI { namespace testing_detail {

using host_number = std::uint32_t;

/// Where Unix sockets live: links say nothing of it.
inline constexpr host_number unix_host = UINT32_MAX;

inline time_point fake_now() noexcept {
  return time_point(std::chrono::nanoseconds(sched::traits::now()));
}

/// Not later than time_point::max().
inline time_point later_by(time_point moment, std::chrono::nanoseconds time) noexcept {
  return time >= time_point::max() - moment ? time_point::max() : moment + time;
}

/// Waits for a notification until that moment. False: the stop of the caller's call has come.
inline bool fake_wait(condition_variable& changed, std::unique_lock<mutex>& lock,
                      time_point until) {
  const sched::io_deadline deadline(time_detail::deadline_at(until));
  bool has_waited = false;
  changed.wait(lock, deadline, [&] { return std::exchange(has_waited, true); });
  return !deadline.is_stopped();
}

struct fake_host {
  std::string name;
  net::endpoint v4;  // with port 0; none: it has none
  net::endpoint v6;
  std::uint16_t next_port = first_port;

  static constexpr std::uint16_t first_port = 49152;
};

/// The link from one host to another, in this direction.
struct fake_path {
  testing::fake_link how;
  time_point free_at{};  // when the last packet has left
  bool is_cut = false;
};

class fake_connection;
class fake_listener;
class fake_datagrams;

/// A datagram that has not arrived.
struct fake_packet {
  host_number from_host;
  host_number to_host;
  net::endpoint from;
  net::endpoint to;
  std::vector<std::byte> bytes;
};

class fake_world final : public net_detail::network,
                         public std::enable_shared_from_this<fake_world> {
 public:
  fake_world(const testing::fake_net_options& options, std::uint64_t seed)
      : how(options), random_(seed) {
    fake_host own;
    own.name = "localhost";
    own.v4 = *net::endpoint::parse("192.0.2.1", 0);
    own.v6 = *net::endpoint::parse("2001:db8::1", 0);
    hosts.push_back(own);
  }
  ~fake_world() = default;

  base::owner<net_detail::other_dial> dial(const net::endpoint& where,
                                           const net::endpoint& local) override;
  base::owner<net_detail::other_listener> listen(const net::endpoint& where, int backlog,
                                                 os::io_result& result) override;
  base::owner<net_detail::other_datagrams> datagrams(const net::endpoint& where, bool connected,
                                                     os::io_result& result) override;
  std::vector<net::endpoint> look_up(std::string_view host, std::optional<std::uint16_t> port,
                                     std::string_view service, std::error_code& error) override;
  /// The host that the caller is on.
  host_number& here() { return *place_; }

  // ---- the rest with the lock held ----

  /// The host of that name or address.
  std::optional<host_number> find_host(std::string_view name) {
    for (host_number i = 0; i != hosts.size(); ++i) {
      if (hosts[i].name == name) {
        return i;
      }
    }
    const std::optional<net::endpoint> address = net::endpoint::parse(name, 0);
    return address ? std::optional(host_of(*address)) : std::nullopt;
  }

  /// The host on which a socket with that address lives; made, if there is none.
  host_number host_of(const net::endpoint& where) {
    if (where.family() == net::address_family::local) {
      return unix_host;
    }
    if (where.family() == net::address_family::none || where.is_any() || where.is_loopback()) {
      return *place_;
    }
    const net::endpoint plain = where.unmapped().with_port(0);
    for (host_number i = 0; i != hosts.size(); ++i) {
      if (plain == hosts[i].v4 || plain == hosts[i].v6) {
        return i;
      }
    }
    fake_host fresh;
    fresh.name = plain.address();
    (plain.family() == net::address_family::v4 ? fresh.v4 : fresh.v6) = plain;
    hosts.push_back(fresh);
    return static_cast<host_number>(hosts.size() - 1);
  }

  /// The address that a host has for its peer `to`, without port.
  net::endpoint address_for(host_number host, const net::endpoint& to) {
    if (host == unix_host || to.is_loopback()) {
      return host == unix_host ? net::endpoint() : to.with_port(0);
    }
    const bool wants_v4 = to.unmapped().family() == net::address_family::v4;
    net::endpoint& own = wants_v4 ? hosts[host].v4 : hosts[host].v6;
    if (own.family() == net::address_family::none) {  // of a family that it was not given
      own = wants_v4 ? net::endpoint::v4(0xC612'0000 + host, 0)  // 198.18.0.0/15 is for such use
                     : *net::endpoint::parse("2001:db8:1::" + std::to_string(host), 0);
    }
    return own;
  }

  /// A port of the host that no socket and no listener has.
  std::uint16_t free_port(host_number host);

  fake_path& path(host_number from, host_number to) {
    const auto [at, is_new] = paths.try_emplace({from, to});
    if (is_new && from != unix_host) {
      at->second.how = how.link;
    }
    return at->second;
  }

  bool chance(double share) noexcept {
    return share > 0 && static_cast<double>(random_.next()) < share * 0x1p32;
  }

  std::chrono::nanoseconds below(std::chrono::nanoseconds most) noexcept {
    const double share = static_cast<double>(random_.next()) * 0x1p-32;
    return std::chrono::nanoseconds(
        static_cast<std::int64_t>(static_cast<double>(most.count()) * share));
  }

  /// When a packet of so many bytes arrives that leaves now; none: it does not.
  std::optional<time_point> send(fake_path& on, std::size_t bytes) noexcept {
    ++stats.packets;
    stats.bytes += bytes;
    time_point leaves = std::max(fake_now(), on.free_at);
    if (on.how.bandwidth != 0) {
      const double seconds = static_cast<double>(bytes) / static_cast<double>(on.how.bandwidth);
      leaves += std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
      on.free_at = leaves;
    }
    if (on.is_cut || chance(on.how.loss)) {
      ++stats.lost;
      return std::nullopt;
    }
    return leaves + on.how.latency + below(on.how.jitter);
  }

  /// When a segment of a stream arrives, which is sent again until it does; none: the link is cut.
  std::optional<time_point> send_reliably(host_number from, host_number to, std::size_t bytes) {
    fake_path& on = path(from, to);
    std::chrono::nanoseconds again =
        std::chrono::milliseconds(200) + on.how.latency + path(to, from).how.latency;
    std::chrono::nanoseconds late{0};
    std::optional<time_point> arrives;
    while (!(arrives = send(on, bytes))) {
      if (on.is_cut || on.how.loss >= 1) {
        return std::nullopt;
      }
      late += again;
      again = std::min<std::chrono::nanoseconds>(2 * again, std::chrono::minutes(2));
    }
    return *arrives + late;
  }

  void set_cut(host_number from, host_number to, bool on);

  /// Gives the datagrams that have arrived to the sockets that are there now.
  void deliver();
  time_point next_arrival() const noexcept {
    return under_way.empty() ? time_point::max() : under_way.begin()->first;
  }
  void notify_datagrams() noexcept;

  mutex lock;
  const testing::fake_net_options how;
  testing::fake_net_stats stats;
  std::deque<fake_host> hosts;
  std::map<std::pair<host_number, host_number>, fake_path> paths;
  std::vector<fake_connection*> connections;
  std::vector<fake_listener*> listeners;
  std::vector<fake_datagrams*> sockets;
  std::multimap<time_point, fake_packet> under_way;  // by the moment of their arrival

 private:
  base::random random_;
  goroutine_local<host_number> place_{0};
};

/// Whether what is meant for `target`, from host `from`, comes to a socket on `host` that was bound to
/// `bound`.
inline bool reaches(fake_world& world, host_number from, const net::endpoint& target,
                    host_number host, const net::endpoint& bound) {
  if (target.family() == net::address_family::local) {
    return target == bound;
  }
  const host_number there = target.is_loopback() || target.is_any() ? from : world.host_of(target);
  if (there != host || target.port() != bound.port()) {
    return false;
  }
  if (bound.is_any()) {
    return bound.family() == net::address_family::v6 ||
           target.unmapped().family() == net::address_family::v4;
  }
  return target.is_any() || bound.unmapped() == target.unmapped();
}

/// Whether two sockets cannot be bound so on one host.
inline bool collide(const net::endpoint& one, const net::endpoint& other) {
  if (one.family() == net::address_family::local) {
    return one == other;
  }
  return one.port() == other.port() &&
         (one.is_any() || other.is_any() || one.unmapped() == other.unmapped());
}

}}}  // namespace thrum::THRUM_ABI::testing_detail

#endif  // THRUM_DETAIL_TESTING_FAKE_WORLD_HPP
