// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Datagrams to a Unix socket whose queue is full, and texts as datagrams.

#include <thrum/testing/bubble.hpp>

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/net.hpp"
#include "support/with_runtime.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <system_error>
#include <thread>

#include <unistd.h>

using namespace std::chrono_literals;
using support::with_runtime;
using thrum::net::endpoint;
using thrum::net::udp_socket;

namespace {

constexpr std::byte datagram[] = {std::byte{'x'}};

endpoint unused_name() {
  static std::atomic<int> count{0};
  return endpoint::abstract("thrum-dgram-" + std::to_string(::getpid()) + "-" +
                            std::to_string(count++));
}

/// A receiver that nothing more can be sent to until it receives.
struct full_receiver {
  full_receiver() {
    auto sender = udp_socket::bind(unused_name());
    std::error_code error;
    for (;; ++queued) {
      sender.set_write_deadline(thrum::testing::now() + 30ms);
      sender.send_to(datagram, where, error);
      if (error) {
        break;
      }
    }
    REQUIRE(error == std::errc::timed_out);
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

TEST_CASE("who sends to a Unix receiver that is full waits, and keeps no processor busy") {
  with_runtime([] {
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
  });
}

TEST_CASE("a send to a full Unix receiver ends at its deadline, also at one that is moved") {
  with_runtime([] {
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
  });
}

TEST_CASE("close ends a send to a full Unix receiver, and whoever is next") {
  with_runtime([] {
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
  });
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
  with_runtime([&] {
    thrum::go([&] { sender.send_to(datagram, full.where); });
    support::eventually([] { return thrum::stats().waiting >= 1; });
  });
}

TEST_CASE("in a bubble time passes while a send waits for a full Unix receiver") {
  thrum::testing::bubble([] {
    full_receiver full;
    auto sender = udp_socket::bind(unused_name());
    thrum::go([&] {
      thrum::sleep_for(1min);
      full.drain();
    });
    std::error_code error;
    sender.send_to(datagram, full.where, error);
    CHECK_FALSE(error);
  });
}

TEST_CASE("texts can be sent, received and bound to without exceptions") {
  with_runtime([] {
    std::error_code error;
    auto receiver = udp_socket::bind("127.0.0.1:0", error);
    REQUIRE_FALSE(error);
    auto sender = udp_socket::connect(receiver.local().to_string(), error);
    REQUIRE_FALSE(error);
    receiver.set_deadline(support::steady::now() + support::long_time);
    char buffer[8];
    CHECK(sender.send("ab", error) == 2);
    CHECK(receiver.recv(buffer, error) == 2);
    auto other = udp_socket::bind("127.0.0.1:0", error);
    CHECK(other.send_to("abc", receiver.local(), error) == 3);
    CHECK(receiver.recv_from(buffer, error).size == 3);
    CHECK_FALSE(error);
    CHECK_FALSE(udp_socket::bind("nonsense", error));
    CHECK(error);
    CHECK_FALSE(udp_socket::connect("nonsense", error));
    CHECK(error);
    receiver.close();
    CHECK(receiver.recv(buffer, error) == 0);
    CHECK(error == std::errc::operation_canceled);
    CHECK(receiver.recv_from(buffer, error).size == 0);
    CHECK(error == std::errc::operation_canceled);
  });
}
