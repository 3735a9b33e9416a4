// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A fake net in place of the system's: what programs do in it as they do outside.
#include <thrum/testing/fake_net.hpp>

#include <thrum/testing/bubble.hpp>

#include "support/fake_pair.hpp"
#include "support/stop_source.hpp"
#include "support/test.hpp"

namespace net = thrum::net;
using support::fake_pair;
using support::passed_since;
using support::text_of;
using thrum::testing::bubble;
using thrum::testing::fake_net;

IN_BUBBLE("programs dial, accept, read and write in a fake net as in the system's") {
  fake_pair pair;
  auto [client, server] = pair.connect();
  CHECK(client.remote() == net::endpoint("[2001:db8::2]:80"));
  CHECK(server.local() == client.remote());
  CHECK(server.remote() == client.local());
  CHECK(client.local().address() == "2001:db8::1");
  CHECK(client.native_handle() == net::conn().native_handle());
  CHECK(client.write("hello") == 5);
  CHECK(text_of(server, 5) == "hello");
  const std::string_view parts[] = {"a", "bc"};
  const std::array pieces = {std::as_bytes(std::span(parts[0])),
                             std::as_bytes(std::span(parts[1]))};
  CHECK(server.write_v(pieces) == 3);
  {
    const net::conn closing = std::move(server);
    CHECK_FALSE(closing.is_readable());
  }
  CHECK(client.read_all() == "abc");
}

IN_BUBBLE("without a fake net, and after its end, sockets of a bubble are the system's") {
  { const fake_net gone; }
  net::listener listener = net::listener::listen("127.0.0.1:0");
  CHECK(listener.native_handle() != net::listener().native_handle());
}

IN_BUBBLE("a writer in a fake net waits for a reader when the buffer is full") {
  fake_pair pair;
  auto [client, server] = pair.connect();
  client.set_write_deadline(thrum::testing::now() + 1s);
  std::error_code error;
  CHECK(client.write(std::string(100'000, 'x'), error) == 65'536);
  CHECK(error == thrum::errc::deadline_exceeded);
  client.set_write_deadline(thrum::time_point::max());
  auto writer = thrum::spawn([&c = client] { return c.write(std::string(100'000, 'y')); });
  CHECK(text_of(server, 165'536).size() == 165'536);
  CHECK(writer.join() == 100'000);
}

IN_BUBBLE("in a fake net try_read and try_write do not wait") {
  fake_pair pair;
  auto [client, server] = pair.connect();
  CHECK_FALSE(server.try_read(std::span<char>()));
  const std::string text(100'000, 'x');
  const auto begin = thrum::testing::now();
  std::size_t sent = 0;
  while (const auto n = client.try_write(std::string_view(text).substr(sent))) {
    sent += *n;
  }
  CHECK(sent == 65'536);
  CHECK(passed_since(begin) == 0ns);
  thrum::sleep_for(1s);
  std::string buffer(text.size(), '\0');
  std::size_t came = 0;
  while (const auto n = server.try_read(std::span<char>(buffer))) {
    came += *n;
  }
  CHECK(came == sent);
  client.close();
  std::error_code error;
  CHECK_FALSE(client.try_write(text, error));
  CHECK(error == std::errc::operation_canceled);
  thrum::sleep_for(1s);
  CHECK(server.try_read(std::span<char>(buffer)) == 0);
}

IN_BUBBLE("io::copy copies between connections of a fake net") {
  const std::string text(300'000, 'c');
  fake_pair pair;
  auto [first, first_end] = pair.connect();
  auto [second, second_end] = pair.connect();
  auto writer = thrum::spawn([&text, &c = first] {
    c.write(text);
    c.close_write();
  });
  auto between = thrum::spawn([&from = first_end, &to = second] {
    const std::uint64_t copied = thrum::io::copy(from, to);
    to.close_write();
    return copied;
  });
  CHECK(second_end.read_all() == text);
  CHECK(between.join() == text.size());
  writer.join();
}

IN_BUBBLE("in a fake net several pieces are written as one and read by one call") {
  fake_pair pair;
  auto [client, server] = pair.connect();
  const std::string_view head = "head ";
  const std::string_view body = "body";
  const std::array pieces = {std::as_bytes(std::span(head)), std::as_bytes(std::span(body))};
  CHECK(client.write_v(pieces) == 9);
  thrum::sleep_for(1s);
  std::array<std::byte, 20> buffer{};
  const std::array room = {std::span<std::byte>(), std::span<std::byte>(buffer)};
  CHECK(server.read_v(room) == 9);
  client.close();
  CHECK(server.read_v(room) == 0);
}

IN_BUBBLE(
    "a name with two addresses in a fake net is dialled as RFC 8305 says, and leaves nothing") {
  fake_net network;
  network.add_host("old", "10.0.0.2");
  network.add_host("new", "10.0.0.3", "2001:db8::3");
  net::listener listener = net::listener::listen("10.0.0.3:80");
  CHECK(net::resolve("new:http") ==
        std::vector{net::endpoint("[2001:db8::3]:80"), net::endpoint("10.0.0.3:80")});
  network.add_host("both", "10.0.0.4", "2001:db8::4");
  net::listener v4 = net::listener::listen("10.0.0.4:80");
  network.cut("localhost", "2001:db8::5");
  const net::endpoint all[] = {net::endpoint("[2001:db8::5]:80"), net::endpoint("10.0.0.4:80")};
  const auto begin = thrum::testing::now();
  net::conn made = net::dial(std::span(all));
  CHECK(made.remote() == all[1]);
  CHECK(passed_since(begin) == 250ms);
}

IN_BUBBLE(
    "an address in a fake net is bound once, and others than those that it meant do not reach it") {
  fake_net network;
  network.add_host("a", "10.0.0.1");
  network.add_host("b", "10.0.0.2");
  net::listener on_a = network.on("a", [] { return net::listener::listen("127.0.0.1:80"); });
  net::listener on_b = network.on("b", [] { return net::listener::listen("127.0.0.1:80"); });
  std::error_code error;
  network.on("a", [&] { net::listener::listen(net::endpoint("[::]:80"), {}, error); });
  CHECK(error == std::errc::address_in_use);
  net::dial("10.0.0.1:80", 0s, error);
  CHECK(error == std::errc::connection_refused);
  net::dial("127.0.0.1:80", 0s, error);
  CHECK(error == std::errc::connection_refused);
  network.on("a", [&] { CHECK(net::dial("127.0.0.1:80").remote().port() == 80); });
  net::listener::listen(net::endpoint(), {}, error);
  CHECK(error == std::errc::destination_address_required);
}

IN_BUBBLE("goroutines of a fake net are on the host that they were started on") {
  fake_pair pair;
  pair.network.add_host("client", "10.0.0.7");
  thrum::chan<std::string> from(1);
  pair.network.go("client", [from] {
    net::conn there = net::dial("10.0.0.1:80");
    from.send(there.local().address());
  });
  CHECK(pair.listener.accept().remote().address() == "10.0.0.7");
  CHECK(from.recv().value() == "10.0.0.7");
  thrum::testing::wait();
}

IN_BUBBLE("a fake net may be gone before what was started in it has ended, or begun") {
  std::optional<fake_net> net(std::in_place);
  net->add_host("a", "10.0.0.1");
  thrum::latch told(1);
  thrum::wait_group group;
  group.add(2);
  net->go("a", [&] {
    told.count_down();
    thrum::this_goroutine::yield();
    group.done();
  });
  told.wait();
  net->go("a", [&] { group.done(); });
  net.reset();
  group.wait();
  CHECK_FALSE(net);
}

TEST_CASE("a try of a dial may begin when the dial has ended, and its fake net is gone") {
  // The first try has its answer at the moment at which the second is started.
  for (std::uint64_t seed = 1; seed != 17; ++seed) {
    bubble({.seed = seed}, [] {
      std::optional<fake_net> network(std::in_place,
                                      thrum::testing::fake_net_options{.link = {.latency = 125ms}});
      network->add_host("server", "10.0.0.4", "2001:db8::4");
      std::optional<net::listener> first(net::listener::listen("[2001:db8::4]:80"));
      std::optional<net::listener> second(net::listener::listen("10.0.0.4:80"));
      CHECK(net::dial("server:80").remote().port() == 80);
      first.reset();
      second.reset();
      network.reset();
      thrum::testing::wait();
    });
  }
}

TEST_CASE("a fake net says what it is used for wrongly") {
  CHECK(support::is_usage_error("fake_net", [] { const fake_net outside; }));
  bubble([] {
    fake_net network;
    CHECK(support::is_usage_error("fake_net", [] { const fake_net second; }));
    CHECK(support::is_usage_error("fake_net", [&] { network.cut("localhost", "nobody"); }));
    CHECK(support::is_usage_error("fake_net::add_host",
                                  [&] { network.add_host("x", "no address"); }));
    network.add_host("x", "10.0.0.1");
    CHECK(
        support::is_usage_error("fake_net::add_host", [&] { network.add_host("x", "10.0.0.2"); }));
    CHECK(
        support::is_usage_error("fake_net::add_host", [&] { network.add_host("y", "10.0.0.1"); }));
  });
}

TEST_CASE("a fake net works with several processors") {
  thrum::options several;
  several.procs = 4;
  bubble(several, [] {
    fake_pair pair({.latency = 1ms, .jitter = 1ms, .loss = 0.02});
    net::server server(std::move(pair.listener));
    auto serving = thrum::spawn([&] {
      server.serve([](net::conn& c) {
        std::error_code error;
        thrum::io::copy(c, c, error);
      });
    });
    thrum::wait_group group;
    const int clients = support::scaled(20);
    for (int i = 0; i != clients; ++i) {
      group.go([i] {
        net::conn client = net::dial("10.0.0.1:80");
        const std::string text(static_cast<std::size_t>(100 * i + 1),
                               static_cast<char>('a' + i % 26));
        client.write(text);
        client.close_write();
        CHECK(client.read_all() == text);
      });
    }
    group.wait();
    server.stop();
    serving.join();
  });
}

IN_BUBBLE(
    "in a fake net the deadline of a context ends each call that waits, and nothing is lost") {
  fake_pair pair;
  const auto is_stopped = [](auto call) {
    const thrum::time_point begin = thrum::testing::now();
    std::error_code error;
    call(thrum::context().with_timeout(1h), error);
    return error == std::errc::operation_canceled && passed_since(begin) == 1h;
  };
  CHECK(is_stopped(
      [&](const auto& stop, std::error_code& error) { pair.listener.accept(stop, error); }));
  auto [client, server] = pair.connect();
  net::conn& one = client;
  net::conn& other = server;
  char buffer[4];
  CHECK(
      is_stopped([&](const auto& stop, std::error_code& error) { one.read(buffer, stop, error); }));
  CHECK(is_stopped(
      [&](const auto& stop, std::error_code& error) { one.wait_readable(stop, error); }));
  const std::string much(std::size_t{1} << 22, 'x');
  std::size_t written = 0;
  CHECK(is_stopped(
      [&](const auto& stop, std::error_code& error) { written = one.write(much, stop, error); }));
  CHECK(text_of(other, written).size() == written);
  auto socket = net::udp_socket::bind("192.0.2.1:53");
  CHECK(is_stopped(
      [&](const auto& stop, std::error_code& error) { socket.recv_from(buffer, stop, error); }));
  socket.send_to("abc", socket.local());
  CHECK(socket.recv_from(buffer, thrum::context().with_timeout(1h)).size == 3);
}

IN_BUBBLE("in a fake net a stop request ends a dial without an answer") {
  fake_pair pair;
  pair.network.cut("localhost", "server");
  for (const char* const where : {"10.0.0.1:80", "server:80"}) {
    std::stop_source source = support::new_source();
    auto requester = thrum::spawn([&] {
      thrum::sleep_for(5s);
      source.request_stop();
    });
    const thrum::time_point begin = thrum::testing::now();
    std::error_code error;
    CHECK_FALSE(net::dial(where, source.get_token(), error));
    CHECK(error == std::errc::operation_canceled);
    CHECK(passed_since(begin) == 5s);
    requester.join();
  }
}

namespace {

/// Which of 0 to n-1 arrive, in which order.
std::vector<int> arrived_of(int n, const thrum::testing::fake_link& link, std::uint64_t seed) {
  return bubble({.seed = seed}, [&] {
    const fake_net network({.link = link});
    net::udp_socket server = net::udp_socket::bind("10.0.0.1:53");
    net::udp_socket client = net::udp_socket::connect("10.0.0.1:53");
    for (int i = 0; i != n; ++i) {
      client.send(std::to_string(i));
      thrum::sleep_for(1ms);
    }
    server.set_read_deadline(thrum::testing::now() + 1min);
    std::vector<int> all;
    for (std::error_code error;;) {
      char buffer[16];
      const std::size_t size = server.recv(buffer, error);
      if (error) {
        return all;
      }
      all.push_back(std::stoi(std::string(buffer, size)));
    }
  });
}

}  // namespace

IN_BUBBLE(
    "datagrams in a fake net arrive whole, cut off where the buffer is small, from their sender") {
  const fake_net network({.link = {.latency = 30ms}});
  net::udp_socket server = net::udp_socket::bind("10.0.0.1:53");
  net::udp_socket client = net::udp_socket::connect("10.0.0.1:53");
  CHECK(client.remote() == server.local());
  const auto begin = thrum::testing::now();
  CHECK(client.send("question") == 8);
  CHECK(passed_since(begin) == 0s);
  char buffer[4];
  const net::udp_socket::datagram got = server.recv_from(buffer);
  CHECK(passed_since(begin) == 30ms);
  CHECK(got.size == 4);
  CHECK(got.cut_off);
  CHECK(got.from == client.local());
  server.send_to("a", got.from);
  server.send_to("", got.from);
  CHECK(client.recv(buffer) == 1);
  CHECK(client.recv(buffer) == 0);
  net::udp_socket stranger = net::udp_socket::bind(":0");
  stranger.send_to("x", client.local());
  client.set_read_deadline(thrum::testing::now() + 1s);
  CHECK(error_of([&] { client.recv(buffer); }) == thrum::errc::deadline_exceeded);
  CHECK(error_of([&] { stranger.send("x"); }) == std::errc::destination_address_required);
  const std::string much(65'508, 'x');
  CHECK(error_of([&] { client.send(much); }) == std::errc::message_size);
  client.set_write_deadline(thrum::testing::now());
  CHECK(error_of([&] { client.send("x"); }) == thrum::errc::deadline_exceeded);
  client.close();
  CHECK(error_of([&] { client.send("x"); }) == std::errc::operation_canceled);
  CHECK(error_of([&] { client.recv(buffer); }) == std::errc::operation_canceled);
}

IN_BUBBLE("several datagrams in a fake net are sent and received by one call") {
  const fake_net network;
  net::udp_socket server = net::udp_socket::bind("10.0.0.1:53");
  net::udp_socket client = net::udp_socket::connect("10.0.0.1:53");
  const std::string_view texts[] = {"a", "bc"};
  const net::udp_socket::outgoing out[] = {{std::as_bytes(std::span(texts[0]))},
                                           {std::as_bytes(std::span(texts[1]))}};
  CHECK(client.send_many(out) == 2);
  std::byte room[3][8];
  net::udp_socket::incoming in[] = {{room[0]}, {room[1]}, {room[2]}};
  CHECK(server.recv_many(in) == 2);
  CHECK(in[0].result.size == 1);
  CHECK(in[1].result.size == 2);
  CHECK(in[1].result.from == client.local());
  server.close();
  CHECK(error_of([&] { server.recv_many(in); }) == std::errc::operation_canceled);
}

TEST_CASE("datagrams in a fake net are lost, doubled and reordered as its link says, by its seed") {
  const int n = 500;
  std::vector<int> in_order(n);
  for (int i = 0; i != n; ++i) {
    in_order[static_cast<std::size_t>(i)] = i;
  }
  CHECK(arrived_of(n, {.latency = 5ms}, 1) == in_order);
  CHECK(arrived_of(n, {.loss = 1}, 1).empty());

  const std::vector<int> lossy = arrived_of(n, {.loss = 0.5}, 1);
  CHECK(lossy.size() > n / 4);
  CHECK(lossy.size() < 3 * n / 4);
  CHECK(lossy == arrived_of(n, {.loss = 0.5}, 1));
  CHECK(lossy != arrived_of(n, {.loss = 0.5}, 2));

  CHECK(arrived_of(n, {.duplicate = 0.5}, 1).size() > 5 * n / 4);

  const std::vector<int> mixed = arrived_of(n, {.reorder = 0.2, .reorder_by = 5ms}, 1);
  CHECK(mixed.size() == n);
  CHECK(mixed != in_order);
  const std::vector<int> jittered = arrived_of(n, {.jitter = 50ms}, 1);
  CHECK(std::set<int>(jittered.begin(), jittered.end()).size() == n);
  CHECK(jittered != in_order);
}

IN_BUBBLE(
    "a datagram in a fake net goes to the socket that is bound at its arrival, and is lost with "
    "its link") {
  fake_net network({.link = {.latency = 10ms}});
  net::udp_socket client = net::udp_socket::bind(":0");
  const net::endpoint there("10.0.0.1:53");
  client.send_to("early", there);
  net::udp_socket server = net::udp_socket::bind(there);
  char buffer[16];
  CHECK(server.recv(buffer) == 5);
  client.send_to("lost", there);
  network.cut("localhost", "10.0.0.1");
  network.heal();
  client.send_to("x", there);
  CHECK(server.recv(buffer) == 1);
  CHECK(network.stats().lost == 1);
}
