// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Datagrams to a Unix socket whose queue is full.

#include "support/local_name.hpp"
#include "support/net.hpp"
#include "support/test.hpp"
#include "support/waits.hpp"

#include <sys/socket.h>

using thrum::net::endpoint;
using thrum::net::udp_socket;

namespace {

constexpr std::byte datagram[] = {std::byte{'x'}};

endpoint unused_name() { return support::unused_local_name(); }

/// A receiver that nothing more can be sent to until it receives.
struct full_receiver {
  full_receiver() {
    const auto sender = udp_socket::bind(unused_name());
    while (::sendto(sender.native_handle(), datagram, sizeof datagram, MSG_DONTWAIT, where.data(),
                    where.size()) == sizeof datagram) {
      ++queued;
    }
    REQUIRE((errno == EAGAIN || errno == ENOBUFS));
  }
  void drain() {
    std::byte buffer[4];
    for (; queued != 0; --queued) {
      receiver.recv(buffer);
    }
  }

  endpoint where = unused_name();
  udp_socket receiver = udp_socket::bind(where);
  int queued = 0;
};

}  // namespace

IN_BUBBLE("a send to a full Unix receiver waits, and keeps no processor busy") {
  full_receiver full;
  auto sender = udp_socket::bind(unused_name());
  std::error_code error;
  std::atomic<bool> done{false};
  auto waiting = thrum::spawn([&] {
    sender.send_to(datagram, full.where, error);
    done = true;
  });
  const std::uint64_t before = thrum::stats().switches;
  thrum::sleep_for(300ms);
  CHECK(thrum::stats().switches - before < 1'000);
  CHECK_FALSE(done);
  full.drain();
  waiting.join();
  CHECK_FALSE(error);
  std::byte buffer[4];
  CHECK(full.receiver.recv(buffer) == 1);
}

IN_RUNTIME("a send to a full Unix receiver ends at its deadline, also at one that is moved") {
  full_receiver full;
  auto sender = udp_socket::bind(unused_name());
  std::error_code error;
  const auto deadline = support::steady::now() + 20ms;
  sender.set_write_deadline(deadline);
  sender.send_to(datagram, full.where, error);
  CHECK(error == std::errc::timed_out);
  CHECK(support::steady::now() >= deadline);

  sender.set_write_deadline(thrum::time_point::max());
  auto waiting = thrum::spawn([&] { sender.send_to(datagram, full.where, error); });
  thrum::sleep_for(20ms);
  sender.set_write_deadline(thrum::time_point::min());
  waiting.join();
  CHECK(error == std::errc::timed_out);

  sender.set_write_deadline(thrum::time_point::max());
  full.drain();
  CHECK(sender.send_to(datagram, full.where, error) == 1);
  CHECK_FALSE(error);
}

IN_RUNTIME("close ends a send to a full Unix receiver, and the sends queued behind it") {
  full_receiver full;
  auto sender = udp_socket::bind(unused_name());
  std::error_code errors[3];
  thrum::wait_group group;
  for (std::error_code& error : errors) {
    group.go([&] { sender.send_to(datagram, full.where, error); });
  }
  thrum::sleep_for(20ms);
  sender.close();
  group.wait();
  for (const std::error_code& error : errors) {
    CHECK(error == std::errc::operation_canceled);
  }
}

TEST_CASE("threads send to a full Unix receiver, too") {
  full_receiver full;
  auto sender = udp_socket::bind(unused_name());
  std::error_code errors[2];
  std::thread first([&] { sender.send_to(datagram, full.where, errors[0]); });
  std::thread second([&] { sender.send_to(datagram, full.where, errors[1]); });
  std::this_thread::sleep_for(20ms);
  full.drain();
  first.join();
  second.join();
  CHECK_FALSE(errors[0]);
  CHECK_FALSE(errors[1]);
}

TEST_CASE("a stop ends a send to a full Unix receiver") {
  full_receiver full;
  auto sender = udp_socket::bind(unused_name());
  CHECK(support::is_unwound_at_stop([&] { sender.send_to(datagram, full.where); }));
}

IN_BUBBLE("in a bubble time passes while a send waits for a full Unix receiver") {
  full_receiver full;
  auto sender = udp_socket::bind(unused_name());
  auto draining = thrum::spawn([&] {
    thrum::sleep_for(1min);
    full.drain();
  });
  std::error_code error;
  sender.send_to(datagram, full.where, error);
  CHECK_FALSE(error);
  draining.join();
}

IN_RUNTIME("sending many to a Unix receiver that is full waits until it has room") {
  full_receiver full;
  auto sender = udp_socket::bind(unused_name());
  std::vector<udp_socket::outgoing> all(5, {datagram, full.where});
  std::atomic<bool> done{false};
  auto sending = thrum::spawn([&] {
    sender.send_many(all);
    done = true;
  });
  thrum::sleep_for(2ms);
  CHECK_FALSE(done);
  full.drain();
  sending.join();
  std::byte room[5][4];
  std::vector<udp_socket::incoming> slots(5);
  for (std::size_t i = 0; i != slots.size(); ++i) {
    slots[i].buffer = room[i];
  }
  CHECK(full.receiver.recv_many(slots) == 5);
}
