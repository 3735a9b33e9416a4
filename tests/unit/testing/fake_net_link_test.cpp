// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The links of a fake net: time, loss, cuts. How what is in it ends: refusals, closes, deadlines; and what it
// is found by: names, queues, files.
#include <thrum/testing/fake_net.hpp>

#include <thrum/testing/bubble.hpp>

#include "support/fake_pair.hpp"
#include "support/test.hpp"

namespace net = thrum::net;
using support::fake_pair;
using support::passed_since;
using support::text_of;
using thrum::testing::bubble;
using thrum::testing::fake_net;

IN_BUBBLE("a connection in a fake net takes a round trip, and each byte one way") {
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
}

IN_BUBBLE("a link of a fake net carries so many bytes a second") {
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

IN_BUBBLE(
    "a dial in a fake net over a link that is cut ends at its deadline, or after two minutes") {
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
}

IN_BUBBLE("what is sent over a link of a fake net that is cut arrives when it is healed") {
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
}

IN_BUBBLE("a stream in a fake net gives up after a while over a link that is cut") {
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
}

IN_BUBBLE("net::server stops in order in a fake net, and takes no real time for it") {
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
}

IN_BUBBLE("a dial in a fake net without a listener is refused after a round trip") {
  fake_pair pair({.latency = 20ms});
  const auto begin = thrum::testing::now();
  std::error_code error;
  net::dial("server:81", 0s, error);
  CHECK(error == std::errc::connection_refused);
  CHECK(passed_since(begin) >= 40ms);
  CHECK(passed_since(begin) < 1s);
  net::dial(net::endpoint("unix:/nowhere"), 0s, error);
  CHECK(error == std::errc::connection_refused);
  net::dial(net::endpoint(), 0s, error);
  CHECK(error == std::errc::destination_address_required);
}

IN_BUBBLE("names in a fake net are those of its hosts, and no others") {
  fake_net network;
  network.add_host("server", "10.0.0.1");
  std::error_code error;
  CHECK(net::resolve("server:80", error) == std::vector{net::endpoint("10.0.0.1:80")});
  CHECK(net::resolve("localhost:80", error) == std::vector{net::endpoint("127.0.0.1:80")});
  CHECK(net::resolve("example.com:80", error).empty());
  CHECK(error == net::resolve_error::host_not_found);
  CHECK(net::resolve("server", "no-such-service", error).empty());
  CHECK(error == net::resolve_error::service_not_found);
}

IN_BUBBLE("a close in a fake net is an end for the peer, or a reset if something was not read") {
  fake_pair pair({.latency = 1ms});
  char byte = 0;
  std::error_code error;
  {
    auto [client, server] = pair.connect();
    client.write("x");
    thrum::sleep_for(10ms);
    server.close();  // "x" was not read
    client.read(std::span(&byte, 1), error);
    CHECK(error == std::errc::connection_reset);
    server.read(std::span(&byte, 1), error);
    CHECK(error == std::errc::operation_canceled);
    CHECK(server.local() == net::endpoint());
  }
  {
    auto [client, server] = pair.connect();
    server.close();
    CHECK(client.read_all().empty());
    client.write("x", error);  // answered by a reset
    CHECK_FALSE(error);
    thrum::sleep_for(10ms);
    client.write("y", error);
    CHECK(error == std::errc::connection_reset);
  }
  {
    auto [client, server] = pair.connect();
    server.linger(0);
    server.close();
    client.read(std::span(&byte, 1), error);
    CHECK(error == std::errc::connection_reset);
  }
}

IN_BUBBLE("each direction of a stream in a fake net can be shut down alone") {
  fake_pair pair;
  auto [client, server] = pair.connect();
  client.close_write();
  CHECK(server.read_all().empty());
  std::error_code error;
  client.write("x", error);
  CHECK(error == std::errc::broken_pipe);
  server.write("answer");
  CHECK(text_of(client, 6) == "answer");
  client.close_read();
  CHECK(client.read_all().empty());
}

IN_BUBBLE("a close in a fake net ends what waits, and so does a deadline that is moved") {
  fake_pair pair;
  auto [client, server] = pair.connect();
  auto reader = thrum::spawn([&c = client] {
    char byte = 0;
    return error_of([&] { c.read(std::span(&byte, 1)); });
  });
  auto waiter = thrum::spawn([&c = server] { return error_of([&] { c.wait_readable(); }); });
  auto acceptor = thrum::spawn([&] { return error_of([&] { pair.listener.accept(); }); });
  thrum::testing::wait();
  server.set_read_deadline(thrum::testing::now());
  CHECK(waiter.join() == thrum::errc::deadline_exceeded);
  client.close();
  CHECK(reader.join() == std::errc::operation_canceled);
  pair.listener.close();
  CHECK(acceptor.join() == std::errc::operation_canceled);
  CHECK(pair.listener.local() == net::endpoint());
}

IN_BUBBLE(
    "an accept in a fake net ends at its deadline, and connections that are not accepted are "
    "reset") {
  fake_pair pair;
  pair.listener.set_deadline(thrum::testing::now() + 1s);
  CHECK(error_of([&] { pair.listener.accept(); }) == thrum::errc::deadline_exceeded);
  net::conn client = net::dial("server:80");
  pair.listener.close();
  char byte = 0;
  CHECK(error_of([&] { client.read(std::span(&byte, 1)); }) == std::errc::connection_reset);
}

IN_BUBBLE(
    "a listener's queue in a fake net has its length, and a dial that finds it full tries again") {
  fake_net network;
  net::listener listener = net::listener::listen("10.0.0.1:80", {.backlog = 1});
  net::conn first = net::dial("10.0.0.1:80");
  const auto begin = thrum::testing::now();
  auto later = thrum::spawn([&] {
    thrum::sleep_for(500ms);
    listener.accept();
  });
  net::conn second = net::dial("10.0.0.1:80");
  CHECK(passed_since(begin) == 1s);
  later.join();
}

IN_BUBBLE("Unix sockets in a fake net need no file") {
  const fake_net network({.link = {.latency = 1h}});
  net::listener listener = net::listener::listen("unix:/run/no-such-folder/x");
  auto accepted = thrum::spawn([&] { return listener.accept(); });
  const auto begin = thrum::testing::now();
  net::conn client = net::dial("unix:/run/no-such-folder/x");
  client.write("x");
  net::conn server = accepted.join();
  CHECK(text_of(server, 1) == "x");
  CHECK(passed_since(begin) == 0s);
}
