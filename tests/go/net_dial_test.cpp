// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Go's tests of making connections, re-created from their descriptions: what counts as connected,
// how fast a refusal is, and the race of two families of addresses.

#include "support/net.hpp"
#include "support/process.hpp"
#include "support/test.hpp"

using support::is_timeout;
using support::loopback;
using support::open_descriptors;
using support::steady;
using thrum::time_point;
using thrum::net::conn;
using thrum::net::dial;
using thrum::net::endpoint;
using thrum::net::listener;

IN_RUNTIME("DialClosedPortFailFast: a dial without a listener is refused at once") {
  const support::closed_port nobody;
  const endpoint where = nobody.where();
  const auto start = steady::now();
  for (int i = 0; i != 20; ++i) {
    CHECK(error_of([&] { dial(where, 100s); }) == std::errc::connection_refused);
  }
  CHECK(steady::now() - start < support::long_time);
}

IN_RUNTIME("DialError: the text of the exception names the endpoint") {
  const support::closed_port nobody;
  const endpoint where = nobody.where();
  std::string text;
  try {
    dial(where);
  } catch (const std::system_error& error) {
    text = error.what();
  }
  CHECK(text.find("dial " + where.to_string()) != std::string::npos);
  CHECK(error_of([] { dial(endpoint()); }) == std::errc::destination_address_required);
  CHECK(error_of([] { dial("127.0.0.1"); }));
}

IN_RUNTIME(
    "TCPSpuriousConnSetupCompletion: however short the timeout, what is returned is connected") {
  auto listener = listener::listen(loopback());
  thrum::wait_group server;
  server.go([&] {
    std::error_code error;
    while (conn c = listener.accept(error)) {
    }
  });
  const int attempts = scaled(10'000, 300);
  constexpr int workers = 10;
  std::atomic<int> wrong{0};
  in_goroutines(workers, [&](int w) {
    for (int i = 0; i < attempts / workers; ++i) {
      std::error_code error;
      const conn c = dial(listener.local(), 1us * ((i + w) % 100), error);
      const endpoint peer = c.remote();
      wrong += error ? static_cast<bool>(c) || !is_timeout(error) : peer != listener.local();
    }
  });
  listener.close();
  server.wait();
  CHECK(wrong == 0);
}

IN_RUNTIME("DialParallel: the first that answers is taken, and the second is not asked") {
  auto first = listener::listen(loopback());
  auto second = listener::listen(loopback());
  std::error_code error;
  const std::vector<endpoint> both{first.local(), second.local()};
  const conn made = dial(both, time_point::max(), {.head_start = support::long_time}, error);
  REQUIRE_FALSE(error);
  CHECK(made.remote() == first.local());
  second.set_deadline(steady::now() + 20ms);
  CHECK(is_timeout(error_of([&] { second.accept(); })));
}

IN_RUNTIME("DialerFallbackDelay: the second starts 250 ms after a first that says nothing") {
  const support::black_hole hole;
  auto second = listener::listen(loopback());
  std::error_code error;
  const std::vector<endpoint> both{hole.where(), second.local()};
  const auto start = steady::now();
  const conn made = dial(both, time_point::max(), error);
  REQUIRE_FALSE(error);
  CHECK(made.remote() == second.local());
  CHECK(steady::now() - start >= 250ms);
}

IN_RUNTIME("DialParallel: when one has failed, the next starts at once") {
  auto good = listener::listen(loopback());
  const support::closed_port closed;
  const endpoint nobody = closed.where();
  const std::vector<endpoint> all{nobody, nobody, good.local()};
  std::error_code error;
  // No test lasts as long as this head start.
  const conn made = dial(all, time_point::max(), {.head_start = 1h}, error);
  REQUIRE_FALSE(error);
  CHECK(made.remote() == good.local());
}

IN_RUNTIME("DialParallel: if all fail, the error is the first; with a deadline, timed_out") {
  const support::closed_port closed;
  const endpoint nobody = closed.where();
  const std::vector<endpoint> refusing{nobody, nobody};
  std::error_code error;
  CHECK_FALSE(dial(refusing, time_point::max(), error));
  CHECK(error == std::errc::connection_refused);
  CHECK(error_of([&] { dial(refusing); }) == std::errc::connection_refused);
  const support::black_hole hole;
  const std::vector<endpoint> silent{hole.where(), hole.where(), hole.where()};
  const auto start = steady::now();
  CHECK_FALSE(dial(silent, start + 350ms, error));
  CHECK(is_timeout(error));
  CHECK(steady::now() - start >= 350ms);
  const std::vector<endpoint> mixed{hole.where(), nobody};
  // On a busy machine the time may be over before the second one has been tried.
  for (auto time = 50ms; error != std::errc::connection_refused && time < support::long_time;
       time *= 4) {
    CHECK_FALSE(dial(mixed, time, {.head_start = 1ms}, error));
  }
  CHECK(error == std::errc::connection_refused);
}

IN_RUNTIME("DialerDualStackFDLeak: the dial that loses the race is given up and closed at once") {
  const support::black_hole hole;
  auto second = listener::listen(loopback());
  { const conn warm = dial(second.local()); }
  second.accept();
  const auto goroutines = thrum::stats().goroutines;
  const std::size_t before = open_descriptors();
  const std::vector<endpoint> all{hole.where(), hole.where(), second.local()};
  for (int i = 0; i != 3; ++i) {
    std::error_code error;
    { const conn made = dial(all, time_point::max(), {.head_start = 1ms}, error); }
    CHECK_FALSE(error);
    second.accept();
  }
  // The system alone gives up after two minutes or later.
  CHECK(eventually([&] { return thrum::stats().goroutines == goroutines; }));
  CHECK(open_descriptors() == before);
}

TEST_CASE(
    "DialerPartialDeadline: a thread tries one after the other, each with its share of time") {
  const support::black_hole hole;
  auto good = listener::listen(loopback());
  std::error_code error;
  const std::vector<endpoint> all{hole.where(), good.local()};
  conn made;
  // On a busy machine a short time may be over before the second one has been tried.
  for (auto time = 500ms; !made && time < support::long_time; time *= 2) {
    const auto start = steady::now();
    made = dial(all, time, error);
    CHECK((made || is_timeout(error)));
    CHECK(steady::now() - start >= time * 2 / 5);  // its half of the time
  }
  CHECK_FALSE(error);
  CHECK(made.remote() == good.local());
  CHECK_FALSE(dial(std::vector<endpoint>(), 5s, error));
  CHECK(error);
}

TEST_CASE(
    "DialCancel: a dial that waits is unwound when its runtime stops, and closes its socket") {
  std::size_t before = 0;
  std::atomic<bool> unwound{false};
  {
    thrum::runtime runtime(support::environment_options());
    runtime.block_on([&] {
      static const support::black_hole hole;
      { const auto warm = support::tcp_pair(); }
      before = open_descriptors();
      thrum::go([&] {
        struct at_end {
          std::atomic<bool>& flag;
          ~at_end() { flag = true; }
        } const scope{unwound};
        dial(hole.where());
      });
      REQUIRE(eventually([&] { return open_descriptors() == before + 1; }));
    });
    runtime.stop();
    CHECK(unwound);
    CHECK(open_descriptors() == before);
  }
}

IN_RUNTIME("CancelAfterDial: a connection outlives the deadline of its dial") {
  listener where;
  conn client;
  std::error_code error = std::make_error_code(std::errc::timed_out);
  auto time = 50ms;
  while (error) {  // on a busy machine a short time may be over before the dial has begun
    time *= 2;
    REQUIRE(time < support::long_time);
    where = listener::listen(loopback());
    client = dial(where.local(), time, error);
    REQUIRE((!error || is_timeout(error)));
  }
  conn server = where.accept();
  thrum::sleep_for(time + 10ms);
  CHECK(client.write("abc") == 3);
  char buffer[3];
  CHECK(server.read_full(buffer) == 3);
}

IN_RUNTIME("a name with addresses of both families is reached whichever of them is listened on") {
  std::vector<std::string> places{"127.0.0.1:0"};
  if (support::has_ipv6()) {
    places.push_back("[::1]:0");
  }
  for (const std::string& place : places) {
    auto listener = listener::listen(place);
    const std::string text = "localhost:" + std::to_string(listener.local().port());
    std::error_code error;
    const std::vector<endpoint> all = thrum::net::resolve(text, error);
    const bool is_known = std::any_of(all.begin(), all.end(), [&](const endpoint& e) {
      return e.family() == listener.local().family();
    });
    if (!is_known) {
      WARN("localhost is not " << place << " here");
      continue;
    }
    const conn made = dial(text, 60s);
    CHECK(made.remote() == listener.local());
    CHECK(listener.accept().remote() == made.local());
  }
}
