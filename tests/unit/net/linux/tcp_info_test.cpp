// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include "support/test.hpp"

#include <netinet/tcp.h>
#include <sys/socket.h>

namespace net = thrum::net;

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
