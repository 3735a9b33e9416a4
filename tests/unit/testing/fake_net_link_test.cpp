// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The links of a fake net: time, loss, cuts.

#include <thrum/testing/fake_net.hpp>

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/fake_pair.hpp"

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

using namespace std::chrono_literals;
namespace net = thrum::net;
using support::fake_pair;
using support::passed_since;
using support::text_of;
using thrum::testing::bubble;

TEST_CASE("a connection in a fake net takes a round trip, and each byte one way") {
  bubble([] {
    fake_pair pair({.latency = 20ms});
    const auto begin = thrum::testing::now();
    auto accepted = thrum::spawn([&] {
      net::conn server = pair.listener.accept();
      CHECK(passed_since(begin) == 60ms);
      return server;
    });
    net::conn client = net::dial("server:80");
    CHECK(passed_since(begin) == 40ms);
    net::conn server = accepted.join();
    client.write("x");
    CHECK(passed_since(begin) == 60ms);
    CHECK(text_of(server, 1) == "x");
    CHECK(passed_since(begin) == 80ms);
    server.close();
    CHECK(client.read_all().empty());
    CHECK(passed_since(begin) == 100ms);
  });
}

TEST_CASE("a link of a fake net carries so many bytes a second") {
  bubble([] {
    fake_pair pair({.bandwidth = 1'000'000});
    auto [client, server] = pair.connect();
    const auto begin = thrum::testing::now();
    auto writer = thrum::spawn([&c = client] {
      c.write(std::string(500'000, 'x'));
      c.close();
    });
    CHECK(server.read_all().size() == 500'000);
    writer.join();
    CHECK(passed_since(begin) > 500ms);  // a packet has headers, too
    CHECK(passed_since(begin) < 530ms);
  });
}

TEST_CASE("a stream in a fake net loses nothing and keeps its order where packets are lost") {
  const std::string sent = [] {
    std::string text;
    for (int i = 0; i != 20'000; ++i) {
      text += std::to_string(i) + ",";
    }
    return text;
  }();
  thrum::options settings;
  settings.preempt = thrum::preemption::none;  // a slice that is cut short changes the order
  const auto run = [&](std::uint64_t seed) {
    return bubble({.runtime = settings, .seed = seed}, [&] {
      fake_pair pair({.latency = 5ms, .jitter = 5ms, .loss = 0.1}, seed);
      auto [client, server] = pair.connect();
      const auto begin = thrum::testing::now();
      auto writer = thrum::spawn([&c = client, &sent] {
        c.write(sent);
        c.close();
      });
      CHECK(server.read_all() == sent);
      writer.join();
      CHECK(pair.network.stats().lost > 0);
      CHECK(pair.network.stats().packets > sent.size() / 1460);
      return passed_since(begin);
    });
  };
  const auto first = run(1);
  CHECK(first > 200ms);
  CHECK(run(1) == first);
  CHECK(run(2) != first);
}

TEST_CASE(
    "a dial in a fake net over a link that is cut ends at its deadline, or after two minutes") {
  bubble([] {
    fake_pair pair;
    pair.network.cut("localhost", "server");
    const auto begin = thrum::testing::now();
    std::error_code error;
    net::dial(net::endpoint("10.0.0.1:80"), 10s, error);
    CHECK(error == thrum::errc::deadline_exceeded);
    CHECK(passed_since(begin) == 10s);
    net::dial(net::endpoint("10.0.0.1:80"), 0s, error);
    CHECK(error == std::errc::timed_out);
    CHECK(passed_since(begin) == 137s);
    auto healed = thrum::spawn([&] {
      thrum::sleep_for(2s);
      pair.network.heal();
    });
    net::dial(net::endpoint("10.0.0.1:80"));
    CHECK(passed_since(begin) == 140s);  // the second repetition, 1 s and then 2 s later
    healed.join();
  });
}

TEST_CASE("what is sent over a link of a fake net that is cut arrives when it is healed") {
  bubble([] {
    fake_pair pair({.latency = 10ms});
    auto [client, server] = pair.connect();
    client.write("a");
    thrum::sleep_for(5ms);
    pair.network.partition({"localhost"}, {"server"});  // "a" is under way
    client.write("b");
    client.close();
    server.set_read_deadline(thrum::testing::now() + 1h);
    char byte = 0;
    std::error_code error;
    server.read(std::span(&byte, 1), error);
    CHECK(error == thrum::errc::deadline_exceeded);
    server.set_read_deadline(thrum::time_point::max());
    pair.network.heal("localhost", "server");
    CHECK(server.read_all() == "ab");
  });
}

TEST_CASE("a stream in a fake net gives up after a while over a link that is cut") {
  bubble([] {
    fake_pair pair;
    auto [client, server] = pair.connect();
    pair.network.cut_one_way("localhost", "server");
    const auto begin = thrum::testing::now();
    client.write("x");
    char byte = 0;
    std::error_code error;
    client.read(std::span(&byte, 1), error);
    CHECK(error == std::errc::timed_out);
    CHECK(passed_since(begin) == 15min);
    client.write("y", error);
    CHECK(error == std::errc::timed_out);
  });
}

TEST_CASE("net::server stops in order in a fake net, and takes no real time for it") {
  bubble([] {
    fake_pair pair({.latency = 10ms});
    net::server server(std::move(pair.listener), {.idle_grace = 1min});
    auto serving = thrum::spawn([&] {
      server.serve([](net::conn& c, net::server::session& s) {
        char byte = 0;
        while (s.wait_request() && c.read(std::span(&byte, 1)) == 1) {
          c.write(std::string_view(&byte, 1));
        }
      });
    });
    net::conn client = net::dial("server:80");
    client.write("x");
    CHECK(text_of(client, 1) == "x");
    const auto begin = thrum::testing::now();
    CHECK(server.stop_for(1h));
    CHECK(passed_since(begin) == 1min);
    CHECK(client.read_all().empty());
    serving.join();
  });
}
