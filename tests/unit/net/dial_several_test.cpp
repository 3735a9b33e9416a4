// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Dialling several endpoints: their order, one deadline, the local address.
// Time-outs of dial in all units that <chrono> has.

#include <thrum/net/dial.hpp>

#include "support/counted_memory.hpp"
#include "support/net.hpp"
#include "support/stop_source.hpp"
#include "support/test.hpp"

#include <ratio>

using thrum::time_point;
using thrum::net::conn;
using thrum::net::dial;
using thrum::net::endpoint;
using thrum::net::listener;

namespace {

using several = std::vector<endpoint>;

}  // namespace

TEST_CASE("families of addresses alternate, from that of the first, each in its order") {
  const endpoint a("10.0.0.1:1");
  const endpoint b("10.0.0.2:1");
  const endpoint c("10.0.0.3:1");
  const endpoint x("[2001:db8::1]:1");
  const endpoint y("[2001:db8::2]:1");
  using thrum::net_detail::alternating;
  CHECK(alternating(several{a, b, c, x, y}) == several{a, x, b, y, c});
  CHECK(alternating(several{x, y, a, b, c}) == several{x, a, y, b, c});
  CHECK(alternating(several{a, b}) == several{a, b});
  CHECK(alternating(several{x}) == several{x});
  CHECK(alternating(several{}).empty());
}

IN_RUNTIME(
    "an address that does not answer is overtaken, and is taken if it is the faster after all") {
  support::black_hole slow;
  const support::black_hole silent;
  const auto quick = listener::listen(support::loopback());
  std::error_code error;
  const several all{slow.where(), silent.where(), quick.local()};
  const conn made = dial(all, time_point::max(), {.head_start = 1ms}, error);
  REQUIRE_FALSE(error);
  CHECK(made.remote() == quick.local());

  // The next one has begun long since when there is room for this one.
  auto waiting = thrum::spawn([&] {
    return dial(several{slow.where(), silent.where()}, time_point::max(), {.head_start = 1ms})
        .remote();
  });
  thrum::sleep_for(20ms);
  thrum::wait_group accepting;
  accepting.go([&] {
    std::error_code closed;
    while (const conn c = slow.listener().accept(closed)) {
    }
  });
  CHECK(waiting.join() == slow.where());
  slow.listener().close();
  accepting.wait();
}

IN_RUNTIME("no address is tried before the one in front has had its head start") {
  const support::black_hole silent;
  auto second = listener::listen(support::loopback());
  std::error_code error;
  CHECK_FALSE(dial(several{silent.where(), second.local()}, 20ms, {.head_start = 1h}, error));
  // The first has failed by its deadline, which is the deadline of all: too late for the second.
  CHECK(support::is_timeout(error));
  second.set_deadline(support::steady::now() + 20ms);
  CHECK(support::is_timeout(support::error_of([&] { second.accept(); })));
}

IN_RUNTIME("several endpoints have one deadline, in all forms") {
  const support::black_hole silent;
  const several all(3, silent.where());
  std::error_code error;
  const auto deadline = support::steady::now() + 60ms;
  CHECK_FALSE(dial(all, deadline, {.head_start = 1ms}, error));
  CHECK(support::is_timeout(error));
  CHECK(support::steady::now() >= deadline);
  CHECK_FALSE(dial(all, support::steady::now(), error));
  CHECK(support::is_timeout(error));
  CHECK_FALSE(dial(silent.where(), support::steady::now() + 5ms, error));
  CHECK(support::is_timeout(error));
  CHECK_FALSE(dial(silent.where().to_string(), support::steady::now() + 5ms, error));
  CHECK(support::is_timeout(error));
  CHECK_FALSE(dial(all, -1s, error));
  CHECK(support::is_timeout(error));
  CHECK(support::is_timeout(support::error_of([&] { dial(all, 5ms); })));
  CHECK(support::is_timeout(support::error_of([&] { dial(all, support::steady::now() + 5ms); })));
}

TEST_CASE("a thread dials none of several endpoints after a deadline, however long that is past") {
  const auto there = listener::listen(support::loopback());
  std::error_code error;
  CHECK_FALSE(dial(several(2, there.local()), time_point::min(), error));
  CHECK(support::is_timeout(error));
}

TEST_CASE("a dial of several endpoints reports by its error code that there are no stacks for it") {
  support::counted_memory memory;
  thrum::options options = support::environment_options();
  options.memory = memory.hooks();
  thrum::runtime runtime(std::move(options));
  runtime.block_on([&] {
    const auto there = listener::listen(support::loopback());
    std::error_code error;
    // One that is left over from a goroutine that has ended serves one try, and none the next.
    std::vector<thrum::join_handle<void>> all;
    const thrum::chan<void> end(0);
    const thrum::net::endpoint where = there.local();
    memory.refuses_stacks = true;
    try {
      for (;;) {
        all.push_back(thrum::spawn([end] { end.recv(); }));
      }
    } catch (const std::system_error&) {
      CHECK_FALSE(dial(several(2, where), time_point::max(), error));
    }
    end.close();
    CHECK(error == std::errc::not_enough_memory);
  });
}

IN_RUNTIME("a dial begins at the local address that it is given") {
  auto there = listener::listen(support::loopback());
  std::error_code error;
  {
    const conn made = dial(there.local(), 0s, {.local = support::loopback()}, error);
    REQUIRE_FALSE(error);
    CHECK(made.local().address() == "127.0.0.1");
    CHECK(there.accept().remote() == made.local());
  }
  // A port of our own. Where our address is not ours alone, somebody else may take it meanwhile.
  const support::closed_port nobody;
  bool has_been_used = false;
  for (int i = 0; i != 20 && !has_been_used; ++i) {
    const endpoint own = listener::listen(support::own_loopback()).local();
    const several all{nobody.where(), there.local()};
    const conn made = dial(all, 60s, {.local = own}, error);
    has_been_used = !error && made.local() == own;
    CHECK((error || made.remote() == there.local()));
  }
  CHECK(has_been_used);
  // What is in use is refused, and what is not of this machine.
  CHECK_FALSE(dial(there.local(), 60s, {.local = there.local()}, error));
  CHECK(error);
  CHECK_FALSE(dial(there.local(), 60s, {.local = endpoint("192.0.2.1:0")}, error));
  CHECK(error == std::errc::address_not_available);
}

IN_RUNTIME("of several endpoints those of the local address's family are dialled") {
  const auto there = listener::listen(support::loopback());
  const endpoint other("[2001:db8::1]:1");
  std::error_code error;
  const thrum::net::dial_options how{.local = support::loopback(), .head_start = 1h};
  const conn made = dial(several{other, there.local()}, 0s, how, error);
  REQUIRE_FALSE(error);
  CHECK(made.remote() == there.local());
  CHECK_FALSE(dial(several{other, other}, 0s, how, error));
  CHECK(error == std::errc::address_family_not_supported);
  CHECK_FALSE(dial(other, 0s, how, error));
  CHECK(error == std::errc::address_family_not_supported);
}

IN_RUNTIME("dial with an error code needs no timeout, for an endpoint, a text and several") {
  const auto from = listener::listen(support::loopback());
  std::error_code error;
  CHECK(dial(from.local(), error));
  CHECK(dial(from.local().to_string(), error));
  CHECK(dial(from.local().to_string().c_str(), error));
  CHECK(dial(several{from.local()}, error));
  CHECK_FALSE(error);
  CHECK_FALSE(dial("nonsense", error));
  CHECK(error);
}

IN_RUNTIME("dial takes a time-out of any unit, and one too long to count is none") {
  const listener quiet = listener::listen(support::loopback());
  const std::string text = quiet.local().to_string();
  const auto check = [&](auto timeout) {
    std::error_code error;
    CHECK(dial(quiet.local(), timeout, error));
    CHECK_FALSE(error);
    CHECK(dial(text, timeout, error));
    CHECK_FALSE(error);
    CHECK(dial(quiet.local(), timeout));
    CHECK(dial(text, timeout));
    CHECK(dial(text.c_str(), timeout));
  };
  check(std::chrono::hours::max());
  check(std::chrono::seconds::max());
  check(std::chrono::nanoseconds::max());
  check(std::chrono::duration<double, std::ratio<86400>>(1e300));
  check(100.5s);
  check(std::chrono::duration<std::uint64_t>(100));
  check(0ms);
  check(0.0s);
  std::error_code error;
  CHECK(dial(quiet.local(), {}, error));
  CHECK(dial(text, {}, error));
}

IN_RUNTIME("a time, a moment, a stop and a context end a dial, as an argument and as an option") {
  const support::black_hole silent;
  std::stop_source stopped = support::new_source();
  stopped.request_stop();
  const auto check = [&](const thrum::until& end, std::errc expected) {
    std::error_code error;
    CHECK_FALSE(dial(silent.where(), end, error));
    CHECK(error == expected);
    CHECK_FALSE(dial(silent.where().to_string(), {.until = end}, error));
    CHECK(error == expected);
  };
  check(2ms, std::errc::timed_out);
  check(support::steady::now() + 2ms, std::errc::timed_out);
  check(std::chrono::system_clock::now(), std::errc::timed_out);
  check(stopped.get_token(), std::errc::operation_canceled);
  check(thrum::context().with_timeout(2ms), std::errc::operation_canceled);
}

IN_RUNTIME("a time-out of dial that is below 0 has passed, however little it is below") {
  const support::black_hole nobody;
  const auto check = [&](auto timeout) {
    std::error_code error;
    dial(nobody.where(), timeout, error);
    CHECK(error == std::errc::timed_out);
  };
  check(std::chrono::hours::min());
  check(std::chrono::nanoseconds::min());
  check(-1h);
  check(-1e-12s);
}

IN_RUNTIME("intervals of keep_alive that no system has are refused, not cut") {
  auto pair = support::tcp_pair();
  std::error_code error;
  pair.client.keep_alive({.idle = std::chrono::seconds((std::int64_t{1} << 32) + 15)}, error);
  CHECK(error == std::errc::invalid_argument);
  pair.client.keep_alive({.interval = std::chrono::seconds::max()}, error);
  CHECK(error == std::errc::invalid_argument);
}

TEST_CASE("a dial of several addresses to a port without a listener never connects to itself",
          "[once]") {
  support::with_runtime([] {
    // The system chooses ports of one parity for connections, and of the other for listeners;
    // within 14,000 tries it comes to each.
    const int tries = support::scaled(40'000);
    const std::uint16_t port =
        static_cast<std::uint16_t>(thrum::net::listener::listen("127.0.0.1:0").local().port() ^ 1U);
    const auto where = thrum::net::endpoint::v4(0x7f000001, port);
    int with_itself = 0;
    for (int i = 0; i != tries; ++i) {
      std::error_code error;
      const thrum::net::conn c = thrum::net::dial(where, {}, error);
      with_itself += !error && c.local() == c.remote() ? 1 : 0;
    }
    CHECK(with_itself == 0);
  });
}
