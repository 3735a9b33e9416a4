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
//   Making a connection takes a round trip, and is tried again after 1, 2, 4 s and so on. A close is told
//   to the peer as TCP would: by an end if all was read, else by a reset.
//
// Datagrams
//   get lost, come twice, overtake each other, or go to a socket that is bound by then. No errors come
//   back for those that nobody gets. Sockets hold 208 KiB each.
//
// Only tests pay for it: <thrum.hpp> includes this header if THRUM_FAKE_NET is defined; else it is included by
// itself.
//
// What is not simulated: congestion, keep-alive, multicast, broadcast, file descriptors (native_handle()
// gives none, so code that hands them to other libraries gets bad_file_descriptor; and a select chooses
// on_readable() and on_writable() of a connection at once: let a goroutine read, and send to a channel).
// Unix sockets are there, without a link's properties. A socket must be used by goroutines of its bubble,
// outside of blocking().
#ifndef THRUM_TESTING_FAKE_NET_HPP
#define THRUM_TESTING_FAKE_NET_HPP

#include <thrum/base/config.hpp>
#include <thrum/go.hpp>
#include <thrum/testing/fake_link.hpp>

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

  /// From now on packets between these hosts travel so, in both directions; what is under way goes on.
  void set_link(std::string_view one, std::string_view other, const fake_link& how);
  /// The same for one direction.
  void set_link_one_way(std::string_view from, std::string_view to, const fake_link& how);

  /// Nothing gets from one to the other from now on, nor back, and what is under way is lost.
  void cut(std::string_view one, std::string_view other);
  /// The same for one direction.
  void cut_one_way(std::string_view from, std::string_view to);
  /// cut() between each of some hosts and each of others.
  void partition(const std::vector<std::string>& some, const std::vector<std::string>& others);
  /// Ends what cut() has begun, in both directions; streams go on.
  void heal(std::string_view one, std::string_view other);
  /// The same for all hosts.
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

#if !THRUM_SEPARATE
#include <thrum/testing/fake_net_definition.hpp>
#endif

#endif
