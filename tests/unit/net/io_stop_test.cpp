// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Calls of input and output that a std::stop_token or a context ends.

#include <thrum/detail/start/stoppable.hpp>

#include <thrum/io_uring.hpp>

#include "support/net.hpp"
#include "support/stop_source.hpp"
#include "support/test.hpp"

using support::is_cancelled;
namespace io = thrum::io;
namespace net = thrum::net;

namespace {

/// A call that only a stop ends, until release() is called.
struct stoppable_call {
  std::string name;
  std::function<void(const std::stop_token&, std::error_code&)> by_token;
  std::function<void(const thrum::context&, std::error_code&)> by_context;
  std::function<void()> release;
};

template <class Call, class Release>
stoppable_call call_of(std::string name, Call call, Release release) {
  return {std::move(name),
          [call](const std::stop_token& stop, std::error_code& error) { call(stop, error); },
          [call](const thrum::context& stop, std::error_code& error) { call(stop, error); },
          release};
}

/// Calls that read something of which release() sends enough.
template <class Stream>
void add_reads(std::vector<stoppable_call>& all, const std::string& of,
               std::shared_ptr<Stream> from, const std::function<void()>& release) {
  all.push_back(call_of(
      "read " + of,
      [from](const auto& stop, std::error_code& error) {
        char buffer[4];
        from->read(buffer, stop, error);
      },
      release));
  all.push_back(call_of(
      "read_full " + of,
      [from](const auto& stop, std::error_code& error) {
        std::byte buffer[4];
        from->read_full(buffer, stop, error);
      },
      release));
}

void add_connections(std::vector<stoppable_call>& all, const std::string& of,
                     support::conn_pair (*make)()) {
  const auto ends = std::make_shared<support::conn_pair>(make());
  const std::shared_ptr<net::conn> client(ends, &ends->client);
  add_reads(all, of, client, [ends] { ends->server.write("four"); });
  all.push_back(call_of(
      "read_v " + of,
      [client](const auto& stop, std::error_code& error) {
        std::byte first[2];
        std::byte second[2];
        const std::array<std::span<std::byte>, 2> pieces{first, second};
        client->read_v(pieces, stop, error);
      },
      [ends] { ends->server.write("four"); }));
  // One of its own: an event of earlier calls would be taken for its.
  const auto fresh = std::make_shared<support::conn_pair>(make());
  all.push_back(call_of(
      "wait_readable " + of,
      [fresh](const auto& stop, std::error_code& error) {
        fresh->client.wait_readable(stop, error);
      },
      [fresh] { fresh->server.write("four"); }));
}

/// Writes more than there is room for; release() reads all of it.
template <class Write>
void add_write(std::vector<stoppable_call>& all, const std::string& name,
               support::conn_pair (*make)(), Write write) {
  struct state {
    support::conn_pair ends;
    std::string text = std::string(std::size_t{16} << 20, 'x');
  };
  const auto of = std::make_shared<state>(state{make()});
  all.push_back(call_of(
      name,
      [of, write](const auto& stop, std::error_code& error) {
        write(of->ends.client, of->text, stop, error);
        if (!error) {
          of->ends.client.close_write();
        }
      },
      [of] { of->ends.server.read_all(); }));
}

void add_writes(std::vector<stoppable_call>& all, const std::string& of,
                support::conn_pair (*make)()) {
  add_write(all, "write " + of, make,
            [](net::conn& to, const std::string& text, const auto& stop, std::error_code& error) {
              to.write(text, stop, error);
            });
  add_write(all, "write_v " + of, make,
            [](net::conn& to, const std::string& text, const auto& stop, std::error_code& error) {
              const auto piece = std::as_bytes(std::span(text));
              const std::array<std::span<const std::byte>, 2> pieces{piece, piece};
              to.write_v(pieces, stop, error);
            });
}

std::vector<stoppable_call> every_call() {
  std::vector<stoppable_call> all;
  {
    const auto listener =
        std::make_shared<net::listener>(net::listener::listen(support::loopback()));
    all.push_back(call_of(
        "accept",
        [listener](const auto& stop, std::error_code& error) { listener->accept(stop, error); },
        [listener] { net::dial(listener->local()); }));
  }
  add_connections(all, "TCP", [] { return support::tcp_pair(); });
  add_connections(all, "local", [] { return support::local_pair(); });
  add_writes(all, "TCP", [] { return support::tcp_pair(); });
  add_writes(all, "local", [] { return support::local_pair(); });
  {
    struct ends {
      net::udp_socket here = net::udp_socket::bind(support::loopback());
      net::udp_socket there = net::udp_socket::connect(here.local());
    };
    const auto both = std::make_shared<ends>();
    const auto send = [both] { both->there.send("x"); };
    all.push_back(call_of(
        "recv_from",
        [both](const auto& stop, std::error_code& error) {
          char buffer[4];
          both->here.recv_from(buffer, stop, error);
        },
        send));
    all.push_back(call_of(
        "recv",
        [both](const auto& stop, std::error_code& error) {
          std::byte buffer[4];
          both->here.recv(buffer, stop, error);
        },
        send));
    all.push_back(call_of(
        "recv_many",
        [both](const auto& stop, std::error_code& error) {
          std::byte buffer[4];
          std::array<net::udp_socket::incoming, 1> into{{{buffer}}};
          both->here.recv_many(into, stop, error);
        },
        send));
  }
  {
    const auto pipe = std::make_shared<io::pipe>();
    const std::shared_ptr<io::pipe_reader> reader(pipe, &pipe->reader());
    add_reads(all, "pipe", reader, [pipe] { pipe->writer().write("four"); });
  }
  {
    const auto pipe = std::make_shared<io::memory_pipe>();
    const std::shared_ptr<io::memory_pipe_end> reader(pipe, &pipe->first);
    const auto write = [pipe] {
      thrum::blocking([&] { std::thread([pipe] { pipe->second.write("four"); }).detach(); });
    };
    add_reads(all, "memory_pipe", reader, write);
    all.push_back(call_of(
        "write memory_pipe",
        [pipe](const auto& stop, std::error_code& error) { pipe->first.write("x", stop, error); },
        [pipe] {
          thrum::blocking([&] {
            std::thread([pipe] {
              char buffer[1];
              pipe->second.read(buffer);
            }).detach();
          });
        }));
  }
  {
    const auto ends = std::make_shared<support::conn_pair>(support::tcp_pair());
    all.push_back(call_of(
        "io::wait_readable",
        [ends](const auto& stop, std::error_code& error) {
          io::wait_readable(ends->client.native_handle(), stop, error);
        },
        [ends] { ends->server.write("x"); }));
  }
  return all;
}

std::error_code stopped_by(const stoppable_call& each, const std::stop_token& stop) {
  std::error_code error;
  each.by_token(stop, error);
  return error;
}
std::error_code stopped_by(const stoppable_call& each, const thrum::context& stop) {
  std::error_code error;
  each.by_context(stop, error);
  return error;
}

thrum::options with_poller(thrum::poller_kind kind) {
  thrum::options options = support::environment_options();
  options.poller = kind;
  return options;
}

constexpr thrum::poller_kind both_pollers[] = {thrum::poller_kind::usual,
                                               thrum::poller_kind::io_uring};

}  // namespace

TEST_CASE("a request ends each call of input and output, and the next one goes on") {
  for (const thrum::poller_kind poller : both_pollers) {
    with_runtime(with_poller(poller), [] {
      for (const stoppable_call& each : every_call()) {
        INFO(each.name);
        std::stop_source source = support::new_source();
        auto waiter = thrum::spawn([&] { return stopped_by(each, source.get_token()); });
        REQUIRE(are_waiting(1));
        source.request_stop();
        CHECK(is_cancelled(waiter.join()));
        CHECK(is_cancelled(stopped_by(each, source.get_token())));  // requested before
        auto other = thrum::spawn([&] { return stopped_by(each, std::stop_token()); });
        each.release();
        CHECK(other.join() == std::error_code());
      }
    });
  }
}

TEST_CASE(
    "a context that is cancelled ends each call of input and output, and so does its deadline") {
  for (const thrum::poller_kind poller : both_pollers) {
    with_runtime(with_poller(poller), [] {
      for (const stoppable_call& each : every_call()) {
        INFO(each.name);
        const thrum::context context = thrum::context().with_cancel();
        auto waiter = thrum::spawn([&] { return stopped_by(each, context); });
        REQUIRE(are_waiting(1));
        context.cancel();
        CHECK(is_cancelled(waiter.join()));
        CHECK(is_cancelled(stopped_by(each, context)));
        CHECK(is_cancelled(stopped_by(each, thrum::context().with_timeout(2ms))));
        auto other =
            thrum::spawn([&] { return stopped_by(each, thrum::context().with_timeout(1h)); });
        each.release();
        CHECK(other.join() == std::error_code());
      }
    });
  }
}

TEST_CASE("a stop ends calls of input and output of a thread without a runtime") {
  for (const stoppable_call& each : every_call()) {
    INFO(each.name);
    std::stop_source source = support::new_source();
    std::error_code error;
    std::thread waiter([&] { error = stopped_by(each, source.get_token()); });
    std::this_thread::sleep_for(1ms);
    source.request_stop();
    waiter.join();
    CHECK(is_cancelled(error));
    CHECK(is_cancelled(stopped_by(each, source.get_token())));
    CHECK(is_cancelled(stopped_by(each, thrum::context().with_timeout(2ms))));
    std::thread other([&] { error = stopped_by(each, thrum::context().with_cancel()); });
    each.release();
    other.join();
    CHECK(error == std::error_code());
  }
}

IN_RUNTIME("a stop that was requested before leaves what is there where it is") {
  std::stop_source source = support::new_source();
  source.request_stop();
  const std::stop_token stop = source.get_token();
  support::conn_pair both = support::tcp_pair();
  net::conn& client = both.client;
  net::conn& server = both.server;
  server.write("here");
  client.wait_readable();
  char buffer[4];
  std::error_code error;
  CHECK(client.read(buffer, stop, error) == 0);
  CHECK(is_cancelled(error));
  CHECK(client.write("no", stop, error) == 0);
  CHECK(is_cancelled(error));
  CHECK(client.read(buffer, thrum::context().with_cancel(), error) == 4);
  CHECK(error == std::error_code());
  CHECK_FALSE(server.is_readable());
}

IN_RUNTIME("without an error_code a stopped call throws what a closed one throws") {
  std::stop_source source = support::new_source();
  source.request_stop();
  const std::stop_token stop = source.get_token();
  support::conn_pair both = support::tcp_pair();
  net::conn& client = both.client;
  auto listener = net::listener::listen(support::loopback());
  auto socket = net::udp_socket::bind(support::loopback());
  const support::closed_port nobody;
  char buffer[4];
  CHECK(is_cancelled(support::error_of([&] { client.read(buffer, stop); })));
  CHECK(is_cancelled(support::error_of([&] { client.read_full(buffer, stop); })));
  CHECK(is_cancelled(support::error_of([&] { client.read_all(stop); })));
  CHECK(is_cancelled(support::error_of([&] { client.write("x", stop); })));
  CHECK(is_cancelled(support::error_of([&] { client.wait_readable(stop); })));
  CHECK(is_cancelled(support::error_of([&] { listener.accept(stop); })));
  CHECK(is_cancelled(support::error_of([&] { socket.recv_from(buffer, stop); })));
  CHECK(is_cancelled(support::error_of([&] { socket.recv(buffer, stop); })));
  CHECK(is_cancelled(support::error_of([&] { socket.send_to("x", nobody.where(), stop); })));
  CHECK(is_cancelled(support::error_of([&] { net::dial(listener.local(), stop); })));
  CHECK(is_cancelled(support::error_of([&] { net::dial("localhost:1", stop); })));
  CHECK(is_cancelled(support::error_of([&] { net::resolve("localhost:1", stop); })));
  CHECK(is_cancelled(support::error_of([&] { net::resolve("localhost", "1", stop); })));
  CHECK(is_cancelled(support::error_of([&] { io::wait_writable(client.native_handle(), stop); })));
}

IN_RUNTIME("calls of input and output until a time or a moment fail with deadline_exceeded") {
  auto listener = net::listener::listen(support::loopback());
  auto client = net::dial(listener.local());
  auto server = listener.accept(1h);
  auto socket = net::udp_socket::bind(support::loopback());
  char buffer[4];
  const auto check = [&](const auto& end) {
    const auto is_late = [](std::error_code error) {
      return error == thrum::errc::deadline_exceeded;
    };
    CHECK(is_late(support::error_of([&] { client.read(buffer, end); })));
    CHECK(is_late(support::error_of([&] { client.read_full(buffer, end); })));
    CHECK(is_late(support::error_of([&] { client.read_all(end); })));
    CHECK(is_late(support::error_of([&] { client.wait_readable(end); })));
    CHECK(is_late(support::error_of([&] { listener.accept(end); })));
    CHECK(is_late(support::error_of([&] { socket.recv_from(buffer, end); })));
    CHECK(is_late(support::error_of([&] { io::wait_readable(client.native_handle(), end); })));
    std::error_code error;
    CHECK(client.read(buffer, end, error) == 0);
    CHECK(is_late(error));
  };
  check(1ms);
  check(0s);
  check(std::chrono::steady_clock::now());
  check(std::chrono::system_clock::now() + 1ms);
  CHECK(server.write("two lines", 1h) == 9);
  CHECK(client.read_full(buffer, 1h) == 4);
  const auto resolved = net::resolve("127.0.0.1:1", 1h);
  CHECK(resolved.size() == 1);
}

IN_RUNTIME("calls whose stop does not come do what they do without one") {
  const thrum::context context = thrum::context().with_timeout(1h);
  auto listener = net::listener::listen(support::loopback());
  auto client = net::dial(
      net::resolve("127.0.0.1:" + std::to_string(listener.local().port()), context), context);
  auto server = listener.accept(context);
  CHECK(server.write("two lines", context) == 9);
  io::wait_writable(server.native_handle(), context);
  server.close_write();
  char buffer[4];
  CHECK(client.read_full(std::span(buffer), context) == 4);
  CHECK(client.read_all(context) == "lines");
  auto socket = net::udp_socket::bind(support::loopback());
  auto other = net::udp_socket::connect(socket.local());
  CHECK(other.send("abc", context) == 3);
  CHECK(socket.recv_from(buffer, context).size == 3);
  CHECK(socket.send_to("abcd", other.local(), context) == 4);
  CHECK(other.recv(buffer, context) == 4);
  const auto text = std::as_bytes(std::span("x"));
  const std::array<net::udp_socket::outgoing, 2> two{{{text, {}}, {text, {}}}};
  CHECK(other.send_many(two, context) == 2);
}

TEST_CASE("a dial without an answer is stopped, of one address and of several") {
  const support::black_hole hole;
  const std::vector<net::endpoint> several(2, hole.where());
  const auto dials = [&] {
    std::error_code error;
    CHECK_FALSE(net::dial(hole.where(), thrum::context().with_timeout(2ms), error));
    CHECK(is_cancelled(error));
    CHECK_FALSE(net::dial(several, thrum::context().with_timeout(2ms), {.head_start = 1ms}, error));
    CHECK(is_cancelled(error));
    std::stop_source source = support::new_source();
    std::thread requester([&] { source.request_stop(); });
    CHECK_FALSE(net::dial(several, source.get_token(), error));
    CHECK(is_cancelled(error));
    thrum::blocking([&] { requester.join(); });
  };
  with_runtime(dials);
  dials();
}

IN_RUNTIME("read_all ends with its stop also where there is always something to read") {
  support::conn_pair pair = support::tcp_pair();
  std::stop_source source = support::new_source();
  auto writer = thrum::spawn([&] {
    const std::string block(4096, 'x');
    std::error_code error;
    while (!error) {
      pair.server.write(block, error);
    }
  });
  auto reader = thrum::spawn([&pair, stop = source.get_token()] {
    std::error_code error;
    pair.client.read_all(stop, error);
    return error;
  });
  source.request_stop();
  CHECK(is_cancelled(reader.join()));
  pair.client.close();
  writer.join();
}

TEST_CASE("a stop ends one wait: others in the queue and the deadline of the socket stay") {
  for (const thrum::poller_kind poller : both_pollers) {
    with_runtime(with_poller(poller), [] {
      support::conn_pair both = support::tcp_pair();
      net::conn& client = both.client;
      net::conn& server = both.server;
      net::conn& from = client;
      std::stop_source source = support::new_source();
      const auto read_one = [&from](const auto& stop) {
        char letter = 0;
        std::error_code error;
        from.read(std::span(&letter, 1), stop, error);
        return error ? '!' : letter;
      };
      auto first = thrum::spawn([&] { return read_one(source.get_token()); });
      REQUIRE(are_waiting(1));
      auto second = thrum::spawn([&] { return read_one(std::stop_token()); });
      REQUIRE(are_waiting(2));
      std::stop_source other = support::new_source();
      auto third = thrum::spawn([&] { return read_one(other.get_token()); });
      REQUIRE(are_waiting(3));
      other.request_stop();  // waits for its turn
      CHECK(third.join() == '!');
      source.request_stop();  // waits for data
      CHECK(first.join() == '!');
      server.write("a");
      CHECK(second.join() == 'a');
      from.set_read_deadline(support::steady::now() + 2ms);
      std::error_code error;
      char letter = 0;
      from.read(std::span(&letter, 1), thrum::context().with_timeout(1h), error);
      CHECK(error == thrum::errc::deadline_exceeded);
    });
  }
}

TEST_CASE("a stop that comes together with data loses none of it") {
  for (const thrum::poller_kind poller : both_pollers) {
    thrum::options how = with_poller(poller);
    how.procs = 4;
    with_runtime(how, [] {
      support::conn_pair both = support::tcp_pair();
      net::conn& client = both.client;
      net::conn& server = both.server;
      net::conn& from = client;
      net::conn& to = server;
      const int rounds = static_cast<int>(scaled(3000));
      int wrong = 0;
      int stopped = 0;
      for (int round = 0; round != rounds; ++round) {
        std::stop_source source = support::new_source();
        const char letter = static_cast<char>('a' + round % 26);
        auto writer = thrum::spawn([&to, letter] { to.write(std::string_view(&letter, 1)); });
        auto requester = thrum::spawn([&source] { source.request_stop(); });
        char got = 0;
        std::error_code error;
        if (from.read(std::span(&got, 1), source.get_token(), error) == 0) {
          ++stopped;
          wrong += is_cancelled(error) ? 0 : 1;
          from.read(std::span(&got, 1));
        }
        wrong += got == letter ? 0 : 1;
        writer.join();
        requester.join();
      }
      CHECK(wrong == 0);
      CHECK(stopped <= rounds);
    });
  }
}

IN_RUNTIME("a stop that comes together with a connection loses none") {
  auto listener = net::listener::listen(support::loopback());
  const int rounds = static_cast<int>(scaled(300));
  int wrong = 0;
  for (int round = 0; round != rounds; ++round) {
    std::stop_source source = support::new_source();
    auto client = thrum::spawn([&] { return net::dial(listener.local()); });
    auto requester = thrum::spawn([&source] { source.request_stop(); });
    std::error_code error;
    net::conn accepted = listener.accept(source.get_token(), error);
    if (error) {
      accepted = listener.accept();
    }
    const net::conn dialed = client.join();
    wrong += accepted.remote() == dialed.local() ? 0 : 1;
    requester.join();
  }
  CHECK(wrong == 0);
}

IN_RUNTIME("a stopped write says how much it has written, and the next one goes on there") {
  support::conn_pair both = support::tcp_pair();
  net::conn& client = both.client;
  net::conn& server = both.server;
  net::conn& to = client;
  net::conn& from = server;
  const std::string all(std::size_t{32} << 20, 'x');
  std::error_code error;
  const std::size_t done = to.write(all, thrum::context().with_timeout(20ms), error);
  REQUIRE(is_cancelled(error));
  CHECK(done < all.size());
  auto reader = thrum::spawn([&from] { return from.read_all().size(); });
  CHECK(to.write(std::string_view(all).substr(done)) == all.size() - done);
  to.close_write();
  CHECK(reader.join() == all.size());
}

IN_RUNTIME("a stop ends a stream that stands before another one, and what came before is kept") {
  support::conn_pair both = support::tcp_pair();
  net::conn& client = both.client;
  net::conn& server = both.server;
  io::buffered_reader lines(client);
  server.write("a line\nand");
  CHECK(lines.read_line() == "a line");
  CHECK(lines.peek(3) == "and");  // all has come: only a stop ends what waits for more
  const auto check_stopped = [](auto call) {
    std::error_code error;
    const thrum::context stop = thrum::context().with_cancel();
    auto stopper = thrum::spawn([&] {
      const bool waits = are_waiting(1);
      stop.cancel();
      return waits;
    });
    call(stop, error);
    CHECK(stopper.join());
    CHECK(is_cancelled(error));
  };
  check_stopped([&](auto& stop, auto& error) { CHECK_FALSE(lines.read_line(stop, error)); });
  check_stopped([&](auto& stop, auto& error) {
    char buffer[8];
    CHECK(lines.read_full(buffer, stop, error) == 3);
  });
}

IN_BUBBLE("a context's deadline ends calls at a memory_pipe by the time of a bubble") {
  const auto begin = thrum::testing::now();
  auto [first, second] = [] {
    io::memory_pipe pipe;
    return std::pair(std::move(pipe.first), std::move(pipe.second));
  }();
  std::error_code error;
  char buffer[4];
  first.read(buffer, thrum::context().with_timeout(1h), error);
  CHECK(is_cancelled(error));
  CHECK(thrum::testing::now() == begin + 1h);
  CHECK(first.write("x", thrum::context().with_timeout(1h), error) == 0);
  CHECK(is_cancelled(error));
  CHECK(thrum::testing::now() == begin + 2h);
}
