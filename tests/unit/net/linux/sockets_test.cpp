// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Sockets where the system refuses IPv6, options, or memory: in programs of their own.
// conn::send_file from files that the kernel makes up: their size is 0.

#include <thrum/net/udp_socket.hpp>

#include "../sent_to_peer.hpp"
#include "support/program_rows.hpp"
#include "support/test.hpp"

#include <fstream>

#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace net = thrum::net;
using support::sent_to_peer;

TEST_CASE(
    "a socket that left a group gets nothing, although another one of the machine is a member") {
  if (support::emulated()) {
    return;  // qemu does not pass the option on
  }
  with_runtime([] {
    const unsigned link = net::interface_number("lo");
    const net::endpoint any("0.0.0.0:0");
    net::udp_socket first = net::udp_socket::bind(any);
    net::udp_socket second = net::udp_socket::bind(any);
    net::udp_socket sender = net::udp_socket::bind(any);
    const net::endpoint group = net::endpoint("239.255.77.2:0").with_port(first.local().port());
    std::error_code error;
    second.join(group, link, error);
    if (error) {
      return;  // turned off for that interface
    }
    first.join(group, link);
    first.leave(group, link);
    sender.multicast_interface(link);
    sender.multicast_loop(true);
    sender.send_to("g", group);
    sender.send_to("d", net::endpoint("127.0.0.1:0").with_port(first.local().port()));
    char byte = 0;
    CHECK(first.recv(std::span(&byte, 1)) == 1);
    CHECK(byte == 'd');
  });
}

TEST_CASE(
    "where the system refuses IPv6, options or memory, sockets do without and none stays open") {
  // Any address is any IPv4 address; options of the library's own keep nobody from listening; there is
  // an error_code.
  support::check_programs(
      {{"without_ipv6", 0}, {"without_options", 0}, {"descriptors_without_memory", 0}});
}

IN_RUNTIME("send_file from a file that the kernel makes up sends what is in it") {
  for (const char* const path :
       {"/proc/self/cmdline", "/proc/sys/kernel/ostype", "/proc/cpuinfo"}) {
    std::ifstream whole(path);
    const std::string expected{std::istreambuf_iterator<char>(whole), {}};
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    REQUIRE(file >= 0);
    std::uint64_t sent = 0;
    std::error_code error;
    const std::string got = sent_to_peer(file, 0, UINT64_MAX, sent, error);
    INFO(path);
    CHECK_FALSE(error);
    CHECK(got.size() == sent);
    CHECK(got.substr(0, 5) == expected.substr(0, 5));
    CHECK(sent_to_peer(file, 1, 4, sent, error) == expected.substr(1, 4));
    CHECK(sent == 4);
    ::close(file);
  }
}

IN_RUNTIME("a connection says how far it is to the peer and what its window is") {
  net::listener listener = net::listener::listen("127.0.0.1:0");
  net::conn client = net::dial(listener.local());
  net::conn server = listener.accept();
  client.write("x");
  char byte = 0;
  server.read(std::span(&byte, 1));
  server.write("y");
  client.read(std::span(&byte, 1));
  std::error_code error;
  const net::tcp_info info = client.tcp_info(error);
  if (support::emulated()) {
    return;  // qemu does not know it, or gives four bytes
  }
  CHECK_FALSE(error);
  CHECK(info.rtt > 0us);
  CHECK(info.rtt < support::long_time);
  CHECK(info.window > 0);
  CHECK(info.segment_size >= 500);
  CHECK(info.timeout >= 1ms);
  CHECK(info.retransmits < 100);
  client.close();
  CHECK(error_of([&] { client.tcp_info(); }) == std::errc::operation_canceled);
}

IN_RUNTIME("what is no TCP connection has no such figures") {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  net::conn a = net::conn::adopt(ends[0]);
  net::conn b = net::conn::adopt(ends[1]);
  CHECK(error_of([&] { a.tcp_info(); }) == std::errc::operation_not_supported);
}

IN_RUNTIME("a listener with fast open has its queue for it; one of Unix sockets has none") {
  net::listen_options how;
  how.fast_open = 16;
  std::error_code error;
  net::listener listener = net::listener::listen(net::endpoint("127.0.0.1:0"), how, error);
  if (error == std::errc::no_protocol_option) {
    return;  // an emulator that does not know it
  }
  REQUIRE_FALSE(error);
  int queue = 0;
  ::socklen_t size = sizeof queue;
  if (::getsockopt(listener.native_handle(), IPPROTO_TCP, TCP_FASTOPEN, &queue, &size) == 0) {
    CHECK(queue == 16);
  }
  CHECK(net::dial(listener.local()).remote() == listener.local());
  net::listener::listen(net::endpoint("unix:@thrum-fast-open-test"), how, error);
  CHECK(error == std::errc::operation_not_supported);
}
