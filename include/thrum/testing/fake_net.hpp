// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// fake_net: a network in memory, for tests of what talks over one.
//
//   thrum::testing::bubble([] {
//     thrum::testing::fake_net net({.link = {.latency = 20ms, .loss = 0.01}});
//     net.add_host("server", "10.0.0.1");
//     auto listener = net.on("server", [] { return thrum::net::listener::listen(":80"); });
//     auto there = thrum::net::dial("server:80");   // at 40 ms of the bubble's time
//     net.cut("localhost", "server");               // nothing gets through until heal()
//     ...
//   });
//
// While one exists in a bubble, net::dial, net::listener::listen, net::udp_socket and net::resolve use
// it there in place of the system: programs are tested as they are. All that takes time takes the
// bubble's, and all that is left to chance is drawn from a seed, by default the bubble's: with one
// processor a test that fails can be repeated.
//
// Hosts
//   A socket lives on the host whose address it was bound to; one that was bound to any address, or to
//   none, on the host of the goroutine that makes it: "localhost", unless that goroutine was started by
//   go(host, f) or is inside on(host, f). (What it starts itself is on localhost again.) An address that
//   no host has is a host of its own, whose name is that address. The loopback addresses are each host's
//   own.
//
// Streams
//   A write cuts what it is given into segments of at most 1460 bytes and returns when all of them are on
//   their way; so many bytes as fake_net_options::buffer may be under way or unread. One that is lost
//   arrives later, by 200 ms and a round trip, then by twice as much: nothing is lost for the reader. Where
//   a link is cut, segments wait for heal(), and the writer gives up after fake_net_options::give_up.
//   Making a connection takes a round trip, and is tried again after 1, 2, 4 s and so on. A close ends the
//   peer's stream as with TCP: by an end if all was read, else by a reset.
//
// Datagrams
//   get lost, come twice, overtake each other, or go to a socket that is bound by then. No errors come
//   back for datagrams that no socket gets. Sockets hold 208 KiB each.
//
// Only tests pay for it: <thrum.hpp> leaves it out. The one file has it if THRUM_FAKE_NET is defined.
//
// What is not simulated: congestion, keep-alive, multicast, broadcast, file descriptors (native_handle()
// gives none, so code that hands them to other libraries gets bad_file_descriptor; and a select chooses
// on_readable() and on_writable() of a connection at once: let a goroutine read, and send to a channel).
// Unix sockets are there, without a link's properties. A socket must be used by goroutines of its bubble,
// outside of blocking().
#ifndef THRUM_TESTING_FAKE_NET_HPP
#define THRUM_TESTING_FAKE_NET_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/testing/fake_world.hpp>
#include <thrum/go.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace testing_detail {

class fake_world;

}}}  // namespace thrum::THRUM_ABI::testing_detail

namespace thrum { inline namespace THRUM_ABI { namespace testing {

/// The network of the bubble in which it is made, until it is destroyed; sockets that are left then go on
/// among themselves. Hosts are named as add_host() was told, or by an address. All members may be called
/// by any goroutine of the bubble, at the same time, but not the destructor.
class fake_net {
 public:
  /// usage_error outside of a bubble, or if that has one already.
  explicit fake_net(fake_net_options how = {});
  fake_net(const fake_net&) = delete;
  fake_net& operator=(const fake_net&) = delete;
  ~fake_net();

  /// A host with a name, by which resolve finds it, and an IPv4 and IPv6 address, or one of them.
  /// "localhost" is there: 192.0.2.1 and 2001:db8::1. usage_error if the name or an address is taken, or
  /// an address is none.
  void add_host(std::string_view name, std::string_view address,
                std::string_view other_address = {});

  /// Returns f(), during which the caller is on that host. usage_error if there is none of that name.
  template <class F>
  decltype(auto) on(std::string_view host, F&& f) {
    const visit there(world_, number_of(host));
    return std::forward<F>(f)();
  }

  /// Starts f as a goroutine on that host. usage_error as of on(). The net may be destroyed before f ends,
  /// or begins.
  template <class F>
  void go(std::string_view host, F f) {
    thrum::go([world = world_, there = number_of(host), own = std::move(f)]() mutable {
      const visit here(std::move(world), there);
      own();
    });
  }

  /// Sets how packets between these hosts travel from now on, in both directions; what is under way goes
  /// on.
  void set_link(std::string_view one, std::string_view other, const fake_link& how);
  /// As set_link, in the direction from `from` to `to` only.
  void set_link_one_way(std::string_view from, std::string_view to, const fake_link& how);

  /// Nothing gets from one to the other from now on, nor back, and what is under way is lost.
  void cut(std::string_view one, std::string_view other);
  /// As cut, in the direction from `from` to `to` only.
  void cut_one_way(std::string_view from, std::string_view to);
  /// cut() between each of some hosts and each of others.
  void partition(const std::vector<std::string>& some, const std::vector<std::string>& others);
  /// Ends what cut() has begun, in both directions; streams go on.
  void heal(std::string_view one, std::string_view other);
  /// As heal(one, other), between all hosts.
  void heal();

  /// What went over it up to now.
  fake_net_stats stats() const;

 private:
  using world_pointer = std::shared_ptr<testing_detail::fake_world>;

  /// Being on a host. It may last longer than the net.
  class visit {
   public:
    visit(world_pointer world, std::uint32_t host)
        : world_(std::move(world)), before_(move_to(*world_, host)) {}
    visit(const visit&) = delete;
    visit& operator=(const visit&) = delete;
    ~visit() { move_to(*world_, before_); }

   private:
    const world_pointer world_;
    const std::uint32_t before_;
  };

  std::uint32_t number_of(std::string_view host) const;
  /// Returns where the caller was.
  static std::uint32_t move_to(testing_detail::fake_world& world, std::uint32_t host);

  world_pointer world_;
};

}}}  // namespace thrum::THRUM_ABI::testing

#if THRUM_BODIES
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/net/errors.hpp>
#include <thrum/detail/net/network.hpp>
#include <thrum/detail/testing/fake_datagrams.hpp>
#include <thrum/detail/testing/fake_dial.hpp>
#include <thrum/testing/bubble.hpp>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <optional>
#include <system_error>

namespace thrum { inline namespace THRUM_ABI { namespace testing_detail {

THRUM_OUT_OF_LINE std::uint16_t fake_world::free_port(host_number host) {
  const auto is_taken = [&](std::uint16_t port) {
    const auto has_it = [&](const auto* each) {
      return each->host == host && each->bound.port() == port;
    };
    return std::any_of(listeners.begin(), listeners.end(), has_it) ||
           std::any_of(sockets.begin(), sockets.end(), has_it);
  };
  std::uint16_t& next = hosts[host].next_port;
  std::uint16_t port = 0;
  do {
    port = next;
    next = next == UINT16_MAX ? fake_host::first_port : static_cast<std::uint16_t>(next + 1);
  } while (is_taken(port));
  return port;
}

THRUM_OUT_OF_LINE base::owner<net_detail::other_dial> fake_world::dial(const net::endpoint& where,
                                                                       const net::endpoint& local) {
  return base::owner<net_detail::other_dial>(new fake_dial(shared_from_this(), where, local));
}

/// Where a socket is bound to on a host: with a port. Below zero: why it cannot be.
template <class Sockets>
os::io_result bind_on(fake_world& world, const Sockets& others, host_number host,
                      net::endpoint& where) {
  if (where.family() == net::address_family::none) {
    return os::no_address;
  }
  if (host != unix_host && where.port() == 0) {
    where = where.with_port(world.free_port(host));
  }
  const bool is_taken = std::any_of(others.begin(), others.end(), [&](const auto* each) {
    return each->host == host && collide(each->bound, where);
  });
  return is_taken ? os::address_taken : 0;
}

THRUM_OUT_OF_LINE base::owner<net_detail::other_listener> fake_world::listen(
    const net::endpoint& where, int backlog, os::io_result& result) {
  const std::lock_guard guard(lock);
  const host_number host = host_of(where);
  net::endpoint bound = where;
  result = bind_on(*this, listeners, host, bound);
  if (result < 0) {
    return {};
  }
  return base::owner<net_detail::other_listener>(new fake_listener(
      shared_from_this(), host, bound, static_cast<std::size_t>(std::max(backlog, 1))));
}

THRUM_OUT_OF_LINE base::owner<net_detail::other_datagrams> fake_world::datagrams(
    const net::endpoint& where, bool connected, os::io_result& result) {
  const std::lock_guard guard(lock);
  const bool is_unix = where.family() == net::address_family::local;
  const host_number host = is_unix ? unix_host : connected ? here() : host_of(where);
  net::endpoint bound = where;
  if (!connected || where.family() == net::address_family::none) {
    result = bind_on(*this, sockets, host, bound);
  } else {
    bound = address_for(host, where);
    bound = is_unix ? bound : bound.with_port(free_port(host));
    result = 0;
  }
  if (result < 0) {
    return {};
  }
  return base::owner<net_detail::other_datagrams>(
      new fake_datagrams(shared_from_this(), host, bound, connected ? where : net::endpoint()));
}

THRUM_OUT_OF_LINE std::vector<net::endpoint> fake_world::look_up(std::string_view host,
                                                                 std::optional<std::uint16_t> port,
                                                                 std::string_view service,
                                                                 std::error_code& error) {
  const std::lock_guard guard(lock);
  error.clear();
  constexpr std::pair<std::string_view, std::uint16_t> services[] = {
      {"domain", 53}, {"http", 80}, {"https", 443}, {"ssh", 22}, {"smtp", 25}};
  for (const auto& [name, number] : services) {
    if (!port && service == name) {
      port = number;
    }
  }
  if (!port) {
    error = net::resolve_error::service_not_found;
    return {};
  }
  std::vector<net::endpoint> found;
  if (host == "localhost") {
    found = {net::endpoint::v4(0x7f00'0001, *port)};
    return found;
  }
  // A literal address may come here with the name of a service.
  if (const std::optional<net::endpoint> literal = net::endpoint::parse(host, *port)) {
    found.push_back(*literal);
  }
  for (const fake_host& each : hosts) {
    if (each.name == host && found.empty()) {
      for (const net::endpoint& address : {each.v6, each.v4}) {
        if (address.family() != net::address_family::none) {
          found.push_back(address.with_port(*port));
        }
      }
    }
  }
  if (found.empty()) {
    error = net::resolve_error::host_not_found;
  }
  return found;
}

THRUM_OUT_OF_LINE void fake_world::set_cut(host_number from, host_number to, bool on) {
  fake_path& on_it = path(from, to);
  if (on_it.is_cut == on) {
    return;
  }
  deliver();
  on_it.is_cut = on;
  if (on) {
    stats.lost += std::erase_if(under_way, [&](const auto& each) {
      return each.second.from_host == from && each.second.to_host == to;
    });
  }
  for (fake_connection* const each : connections) {
    for (std::size_t i = 0; i != 2; ++i) {
      if (each->flows[i].from == from && each->flows[i].to == to) {
        on ? each->hold(i) : each->release(i);
      }
    }
  }
}

THRUM_OUT_OF_LINE void fake_world::deliver() {
  const time_point now = fake_now();
  while (!under_way.empty() && under_way.begin()->first <= now) {
    fake_packet packet = std::move(under_way.begin()->second);
    under_way.erase(under_way.begin());
    for (fake_datagrams* const each : sockets) {
      if (each->takes(packet)) {
        each->put(std::move(packet));
        each->notify();
        break;
      }
    }
  }
}

THRUM_OUT_OF_LINE void fake_world::notify_datagrams() noexcept {
  for (fake_datagrams* const each : sockets) {
    each->notify();
  }
}

}}}  // namespace thrum::THRUM_ABI::testing_detail

namespace thrum { inline namespace THRUM_ABI { namespace testing {

THRUM_OUT_OF_LINE fake_net::fake_net(fake_net_options how) {
  if (testing_detail::clock_of_caller() == nullptr) {
    base::throw_usage(
        "fake_net: created outside of a bubble, whose clock it needs; create it inside "
        "testing::bubble");
  }
  world_ = std::make_shared<testing_detail::fake_world>(how, how.seed ? *how.seed : seed());
  if (!net_detail::set_network_of_caller(world_.get())) {
    base::throw_usage("fake_net: the bubble already has a fake_net; destroy that one first");
  }
}

THRUM_OUT_OF_LINE fake_net::~fake_net() { net_detail::set_network_of_caller(nullptr); }

THRUM_OUT_OF_LINE void fake_net::add_host(std::string_view name, std::string_view address,
                                          std::string_view other_address) {
  const std::lock_guard guard(world_->lock);
  testing_detail::fake_host fresh;
  fresh.name = name;
  for (const std::string_view text : {address, other_address}) {
    if (text.empty() && !address.empty()) {
      continue;
    }
    const std::optional<net::endpoint> parsed = net::endpoint::parse(text, 0);
    if (!parsed) {
      base::throw_usage("fake_net::add_host: an address is neither IPv4 nor IPv6");
    }
    (parsed->family() == net::address_family::v4 ? fresh.v4 : fresh.v6) = *parsed;
  }
  for (const testing_detail::fake_host& each : world_->hosts) {
    const auto shares = [](const net::endpoint& one, const net::endpoint& other) {
      return one.size() != 0 && one == other;
    };
    if (each.name == name || shares(each.v4, fresh.v4) || shares(each.v6, fresh.v6)) {
      base::throw_usage(
          "fake_net::add_host: a host already has that name or address; choose another one");
    }
  }
  world_->hosts.push_back(std::move(fresh));
}

THRUM_OUT_OF_LINE std::uint32_t fake_net::number_of(std::string_view host) const {
  const std::lock_guard guard(world_->lock);
  const std::optional<testing_detail::host_number> found = world_->find_host(host);
  if (!found) {
    base::throw_usage("fake_net: no host has that name; call add_host() first");
  }
  return *found;
}

THRUM_OUT_OF_LINE std::uint32_t fake_net::move_to(testing_detail::fake_world& world,
                                                  std::uint32_t host) {
  return std::exchange(world.here(), host);
}

THRUM_OUT_OF_LINE void fake_net::set_link(std::string_view one, std::string_view other,
                                          const fake_link& how) {
  set_link_one_way(one, other, how);
  set_link_one_way(other, one, how);
}

THRUM_OUT_OF_LINE void fake_net::set_link_one_way(std::string_view from, std::string_view to,
                                                  const fake_link& how) {
  const testing_detail::host_number one = number_of(from);
  const testing_detail::host_number other = number_of(to);
  const std::lock_guard guard(world_->lock);
  world_->path(one, other).how = how;
}

THRUM_OUT_OF_LINE void fake_net::cut(std::string_view one, std::string_view other) {
  cut_one_way(one, other);
  cut_one_way(other, one);
}

THRUM_OUT_OF_LINE void fake_net::cut_one_way(std::string_view from, std::string_view to) {
  const testing_detail::host_number one = number_of(from);
  const testing_detail::host_number other = number_of(to);
  const std::lock_guard guard(world_->lock);
  world_->set_cut(one, other, true);
}

THRUM_OUT_OF_LINE void fake_net::partition(const std::vector<std::string>& some,
                                           const std::vector<std::string>& others) {
  for (const std::string& one : some) {
    for (const std::string& other : others) {
      cut(one, other);
    }
  }
}

THRUM_OUT_OF_LINE void fake_net::heal(std::string_view one, std::string_view other) {
  const testing_detail::host_number first = number_of(one);
  const testing_detail::host_number second = number_of(other);
  const std::lock_guard guard(world_->lock);
  world_->set_cut(first, second, false);
  world_->set_cut(second, first, false);
}

THRUM_OUT_OF_LINE void fake_net::heal() {
  const std::lock_guard guard(world_->lock);
  for (const auto& [hosts, path] : world_->paths) {
    world_->set_cut(hosts.first, hosts.second, false);
  }
}

THRUM_OUT_OF_LINE fake_net_stats fake_net::stats() const {
  const std::lock_guard guard(world_->lock);
  return world_->stats;
}

}}}  // namespace thrum::THRUM_ABI::testing
#endif

#endif
