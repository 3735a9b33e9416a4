// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Go's tests of deadlines on the network, re-created from their descriptions: what one deadline
// does to one operation. Those in which deadlines move meanwhile are in net_deadline_test.cpp.

#include "support/net.hpp"
#include "support/test.hpp"

using support::is_cancelled;
using support::is_timeout;
using support::loopback;
using support::steady;
using support::tcp_pair;
using thrum::time_point;
using thrum::net::conn;
using thrum::net::dial;
using thrum::net::listener;
using thrum::net::udp_socket;

namespace {

constexpr auto past = time_point{} + 1ns;

/// Whether `wait` is still inside after 100 ms; ends it with `release` afterwards.
template <class Wait, class Release>
bool keeps_waiting(Wait wait, Release release) {
  std::atomic<bool> returned{false};
  thrum::wait_group group;
  group.go([&] {
    wait();
    returned = true;
  });
  thrum::sleep_for(100ms);
  const bool waits = !returned;
  release();
  group.wait();
  return waits;
}

}  // namespace

IN_RUNTIME("DialTimeout: a dial without an answer fails with timed_out, and not before its time") {
  const support::black_hole hole;
  for (const auto timeout : {1ns, 1'000'000ns, 30'000'000ns, 100'000'000ns}) {
    std::error_code error;
    const auto start = steady::now();
    const conn none = dial(hole.where(), timeout, error);
    CHECK(is_timeout(error));
    CHECK(steady::now() - start >= timeout);
    CHECK_FALSE(none);
  }
  CHECK(is_timeout(error_of([&] { dial(hole.where(), 5ms); })));
  CHECK(is_timeout(error_of([&] { dial(hole.where().to_string(), 5ms); })));
}

IN_RUNTIME("DialTimeout: a timeout that has passed already fails, and is not for ever") {
  const support::black_hole hole;
  std::error_code error;
  dial(hole.where(), -5s, error);
  CHECK(is_timeout(error));
  dial(hole.where(), std::chrono::nanoseconds::min(), error);
  CHECK(is_timeout(error));
}

IN_RUNTIME("DialTimeoutMaxDuration: the longest timeout does not overflow") {
  const auto listener = listener::listen(loopback());
  for (const auto less : {0ns, 1ns, 1'000'000'000ns}) {
    std::error_code error;
    const conn made = dial(listener.local(), std::chrono::nanoseconds::max() - less, error);
    CHECK_FALSE(error);
    CHECK(made);
  }
}

IN_RUNTIME(
    "AcceptTimeout: a deadline in the past or soon fails accept, also if a client has come") {
  auto listener = listener::listen(loopback());
  const conn waiting = dial(listener.local());
  listener.set_deadline(past);
  for (int i = 0; i != 10; ++i) {
    CHECK(is_timeout(error_of([&] { listener.accept(); })));
  }
  listener.set_deadline(time_point::max());
  CHECK(listener.accept());
  for (const auto after : {1ms, 20ms}) {
    const auto start = steady::now();
    listener.set_deadline(start + after);
    CHECK(is_timeout(error_of([&] { listener.accept(); })));
    CHECK(steady::now() - start >= after);
  }
}

IN_RUNTIME("AcceptTimeoutMustReturn: a deadline that is set while accept waits ends it") {
  auto listener = listener::listen(loopback());
  std::error_code error;
  thrum::wait_group group;
  group.go([&] { listener.accept(error); });
  thrum::sleep_for(10ms);
  listener.set_deadline(steady::now() + 5ms);
  group.wait();
  CHECK(is_timeout(error));
}

IN_RUNTIME("AcceptTimeoutMustNotReturn: after its deadline is taken back, accept waits on") {
  auto listener = listener::listen(loopback());
  listener.set_deadline(past);
  listener.set_deadline(time_point::max());
  std::error_code error;
  CHECK(keeps_waiting([&] { listener.accept(error); }, [&] { listener.close(); }));
  CHECK(is_cancelled(error));
}

IN_RUNTIME("ReadTimeout: a read fails at its deadline, each time, and works after it is moved") {
  auto ends = tcp_pair();
  char buffer[16];
  for (const auto after : {-1'000ms, 0ms, 1ms, 30ms}) {
    const auto start = steady::now();
    ends.client.set_read_deadline(start + after);
    for (int i = 0; i != 3; ++i) {
      CHECK(is_timeout(error_of([&] { ends.client.read(buffer); })));
    }
    CHECK(steady::now() - start >= after);
  }
  ends.server.write("abc");
  CHECK(is_timeout(error_of([&] { ends.client.read(buffer); })));
  ends.client.set_read_deadline(time_point::max());
  CHECK(ends.client.read(buffer) == 3);
}

IN_RUNTIME("ReadTimeout: read_full says what came before the deadline") {
  auto ends = tcp_pair();
  char buffer[16];
  ends.server.write("abc");
  std::size_t got = 0;
  // On a busy machine a deadline may pass before the read begins, which then takes nothing.
  for (auto time = 50ms; got == 0 && time < support::long_time; time *= 2) {
    ends.client.set_read_deadline(steady::now() + time);
    std::error_code error;
    got = ends.client.read_full(buffer, error);
    CHECK(is_timeout(error));
  }
  CHECK(got == 3);
  CHECK(std::string(buffer, 3) == "abc");
}

IN_RUNTIME("ReadFromTimeout: receiving fails at its deadline, also if a datagram has come") {
  auto socket = udp_socket::bind(loopback());
  auto sender = udp_socket::connect(socket.local());
  char buffer[16];
  const auto start = steady::now();
  socket.set_read_deadline(start + 20ms);
  CHECK(is_timeout(error_of([&] { socket.recv_from(buffer); })));
  CHECK(steady::now() - start >= 20ms);
  sender.send("abc");
  CHECK(is_timeout(error_of([&] { socket.recv(buffer); })));
  socket.set_deadline(time_point::max());
  CHECK(socket.recv(buffer) == 3);
}

IN_RUNTIME("WriteTimeout: a write fails at its deadline and says how much of it was sent") {
  auto ends = tcp_pair();
  const std::string much(std::size_t{32} << 20, 'w');
  std::error_code error;
  std::size_t sent = 0;
  // On a busy machine a deadline may pass before the write begins, which then sends nothing.
  for (auto time = 50ms; sent == 0 && time < support::long_time; time *= 2) {
    const auto start = steady::now();
    ends.client.set_write_deadline(start + time);
    sent = ends.client.write(much, error);
    CHECK(is_timeout(error));
    CHECK(steady::now() - start >= time);
    CHECK(sent < much.size());
  }
  CHECK(sent > 0);
  for (int i = 0; i != 3; ++i) {
    CHECK(ends.client.write("x", error) == 0);
    CHECK(is_timeout(error));
  }
  ends.client.close();
  std::size_t got = 0;
  std::string buffer(1 << 20, '\0');
  while (const std::size_t n = ends.server.read(buffer)) {
    got += n;
  }
  CHECK(got == sent);
}

IN_RUNTIME("WriteToTimeout: sending fails when its deadline has passed, although there is room") {
  auto socket = udp_socket::bind(loopback());
  socket.set_write_deadline(past);
  CHECK(is_timeout(error_of([&] { socket.send_to("x", socket.local()); })));
  socket.set_write_deadline(steady::now() + 1h);
  CHECK(socket.send_to("x", socket.local()) == 1);
}

IN_RUNTIME("ReadTimeoutMustNotReturn: reading waits on while the other direction has timed out") {
  auto ends = tcp_pair();
  char buffer[1];
  ends.client.set_deadline(past);
  ends.client.set_read_deadline(time_point::max());
  CHECK(is_timeout(error_of([&] { ends.client.write("x"); })));
  std::error_code error;
  CHECK(keeps_waiting([&] { ends.client.read(buffer, error); }, [&] { ends.client.close(); }));
  CHECK(is_cancelled(error));
}

IN_RUNTIME("WriteTimeoutMustNotReturn: writing waits on while the other direction has timed out") {
  auto ends = tcp_pair();
  char buffer[1];
  support::fill(ends.client);
  ends.client.set_deadline(past);
  ends.client.set_write_deadline(time_point::max());
  CHECK(is_timeout(error_of([&] { ends.client.read(buffer); })));
  std::error_code error;
  const std::string block(64, 'x');
  CHECK(keeps_waiting(
      [&] {
        while (!error) {
          ends.client.write(block, error);
        }
      },
      [&] { ends.client.close(); }));
  CHECK(is_cancelled(error));
}

IN_RUNTIME("TimeoutFluctuation: of many waits, none ends before its deadline") {
  auto ends = tcp_pair();
  auto full_ends = tcp_pair();
  auto socket = udp_socket::bind(loopback());
  support::fill(full_ends.client);
  char buffer[1];
  int early = 0;
  int other_errors = 0;
  const auto measure = [&](auto wait, auto set) {
    for (auto after = 100us; after < 20ms; after *= 2) {
      const auto until = steady::now() + after;
      set(until);
      other_errors += !is_timeout(error_of(wait));
      early += steady::now() < until;
    }
  };
  measure([&] { ends.client.read(buffer); },
          [&](auto when) { ends.client.set_read_deadline(when); });
  measure([&] { socket.recv(buffer); }, [&](auto when) { socket.set_read_deadline(when); });
  const std::string much(std::size_t{1} << 20, 'x');
  measure([&] { full_ends.client.write(much); },
          [&](auto when) { full_ends.client.set_write_deadline(when); });
  CHECK(early == 0);
  CHECK(other_errors == 0);
}

// A server without end, and reads with deadlines from 1 ns on, until each has timed out.
TEST_CASE(
    "VariousDeadlines1Proc, VariousDeadlines4Proc: an endless stream cannot keep a read from "
    "timing out") {
  const unsigned procs = GENERATE(1U, 4U);
  with_runtime(with_procs(procs), [] {
    auto listener = listener::listen(loopback());
    thrum::wait_group servers;
    servers.go([&] {
      std::error_code error;
      const std::string block(4096, 'e');
      while (conn c = listener.accept(error)) {
        std::error_code gone;
        while (!gone) {
          c.write(block, gone);
        }
      }
    });
    int timeouts = 0;
    int wanted = 0;
    std::string buffer(std::size_t{64} * 1024, '\0');
    for (const auto after :
         {1ns, 2ns, 5ns, 50ns, 100ns, 200ns, 500ns, 750ns, 1'000ns, 5'000ns, 25'000ns, 250'000ns,
          500'000ns, 1'000'000ns, 5'000'000ns, 100'000'000ns}) {
      for (int run = 0; run != scaled(3); ++run, ++wanted) {
        conn c = dial(listener.local());
        c.set_read_deadline(steady::now() + after);
        std::error_code error;
        while (!error && c.read(buffer, error) != 0) {
        }
        timeouts += is_timeout(error);
      }
    }
    listener.close();
    servers.wait();
    CHECK(timeouts == wanted);
  });
}
