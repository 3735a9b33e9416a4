// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Selects with cases for the readiness of descriptors.

#include <thrum/io/on_ready.hpp>

#include "support/net.hpp"
#include "support/stop_source.hpp"
#include "support/test.hpp"
#include "support/watched_pair.hpp"

using support::local_pair;
using support::steady;
using support::tcp_pair;
using support::watched_pair;
using thrum::on_recv;
using thrum::on_timeout;
using thrum::otherwise;
using thrum::io::on_readable;
using thrum::io::on_writable;

namespace {

std::string read_one(thrum::net::conn& from) {
  char byte = 0;
  return from.read(std::span<char>(&byte, 1)) == 1 ? std::string(1, byte) : std::string();
}

/// Starts a select until the connection is readable.
thrum::join_handle<std::size_t> spawn_reading_select(thrum::net::conn& of) {
  return thrum::spawn([&of] { return thrum::select(on_readable(of), on_timeout(1h)); });
}

}  // namespace

// ---- connections and what else is ours ---------------------------------------------------------

IN_RUNTIME("a connection is readable once something has come, and until it was read") {
  auto pair = tcp_pair();
  const thrum::chan<int> c(0);
  CHECK(thrum::select(on_readable(pair.server), on_recv(c), otherwise()) == 2);
  CHECK(thrum::select(on_readable(pair.server), on_recv(c), on_timeout(1ms)) == 2);
  for (int i = 0; i != scaled(200, 20); ++i) {
    auto writer = thrum::spawn([&] {
      if (i % 2 == 0) {
        thrum::sleep_for(100us);
      }
      pair.client.write(std::string_view("xy"));
    });
    bool called = false;
    CHECK(thrum::select(on_recv(c), on_readable(pair.server, [&] { called = true; })) == 1);
    CHECK(called);
    CHECK(read_one(pair.server) == "x");
    CHECK(thrum::select(on_readable(pair.server), on_recv(c)) == 0);
    CHECK(read_one(pair.server) == "y");
    CHECK(thrum::select(on_readable(pair.server), otherwise()) == 1);
    writer.join();
  }
}

IN_RUNTIME(
    "a connection is readable at its end, and when it is closed or its deadline has passed") {
  auto pair = tcp_pair();
  pair.client.close();
  CHECK(thrum::select(on_readable(pair.server), on_timeout(1h)) == 0);
  CHECK(read_one(pair.server).empty());

  auto other = tcp_pair();
  auto selector = spawn_reading_select(other.server);
  REQUIRE(are_waiting(1));
  other.server.close();
  CHECK(selector.join() == 0);
  CHECK(thrum::select(on_readable(other.server), on_timeout(1h)) == 0);
  other.client.set_read_deadline(steady::now() - 1s);
  CHECK(thrum::select(on_readable(other.client), on_timeout(1h)) == 0);
  const thrum::net::conn none;
  CHECK(thrum::select(on_readable(none), on_timeout(1h)) == 0);
}

IN_RUNTIME("a select on a connection ends when its deadline is moved into the past") {
  auto pair = local_pair();
  support::fill(pair.client);
  auto reader = spawn_reading_select(pair.client);
  auto writer =
      thrum::spawn([&] { return thrum::select(on_writable(pair.client), on_timeout(1h)); });
  auto other = tcp_pair();
  std::atomic<std::size_t> chosen{2};
  CHECK(thrum::select(on_readable(other.server), otherwise()) == 1);  // registers it
  std::thread foreign([&] { chosen = thrum::select(on_readable(other.server), on_timeout(1h)); });
  REQUIRE(are_waiting(2));
  pair.client.set_write_deadline(steady::now() - 1s);
  CHECK(writer.join() == 0);
  CHECK_FALSE(reader.done());
  pair.client.set_read_deadline(steady::now() - 1s);
  CHECK(reader.join() == 0);
  other.server.set_read_deadline(steady::now() - 1s);
  thrum::blocking([&] { foreign.join(); });
  CHECK(chosen == 0);
}

IN_RUNTIME("a select on a connection ends when the deadline that it had before has passed") {
  auto pair = tcp_pair();
  pair.server.set_read_deadline(steady::now() + 20ms);
  CHECK(thrum::select(on_readable(pair.server), on_timeout(1h)) == 0);
  pair.client.set_read_deadline(steady::now() + 20ms);
  std::atomic<std::size_t> chosen{2};
  std::thread foreign([&] { chosen = thrum::select(on_readable(pair.client), on_timeout(1h)); });
  thrum::blocking([&] { foreign.join(); });
  CHECK(chosen == 0);
  pair.client.set_read_deadline(steady::now() - 1s);
  pair.client.set_read_deadline(steady::time_point::max());
  CHECK(thrum::select(on_readable(pair.client), otherwise()) == 1);
}

IN_RUNTIME("a select on a connection whose deadline moves to later goes on waiting") {
  auto pair = tcp_pair();
  pair.server.set_read_deadline(steady::now() + 1h);
  const thrum::chan<int> c(0);
  auto selector = thrum::spawn([&] { return thrum::select(on_readable(pair.server), on_recv(c)); });
  for (int i = 0; i != scaled(200, 20); ++i) {
    REQUIRE(are_waiting(1));
    pair.server.set_read_deadline(i % 2 == 0 ? steady::time_point::max() : steady::now() + 2h);
  }
  c.send(1);
  CHECK(selector.join() == 1);
  selector = thrum::spawn([&] { return thrum::select(on_readable(pair.server), on_recv(c)); });
  REQUIRE(are_waiting(1));
  pair.server.set_read_deadline(steady::time_point::max());
  pair.client.write(std::string_view("x"));
  CHECK(selector.join() == 0);
  CHECK(read_one(pair.server) == "x");
}

IN_RUNTIME("a connection is writable when there is room, and the other side is not asked") {
  auto pair = local_pair();
  CHECK(thrum::select(on_readable(pair.client), on_writable(pair.client)) == 1);
  support::fill(pair.client);
  CHECK(thrum::select(on_readable(pair.client), on_writable(pair.client), otherwise()) == 2);
  auto selector = thrum::spawn([&] {
    return thrum::select(on_readable(pair.client), on_timeout(1h), on_writable(pair.client));
  });
  REQUIRE(are_waiting(1));
  std::vector<char> drain(std::size_t{1} << 20);
  while (!selector.done()) {
    if (pair.server.is_readable()) {
      pair.server.read(std::span<char>(drain));
    } else {
      thrum::this_goroutine::yield();
    }
  }
  CHECK(selector.join() == 2);
}

IN_RUNTIME("a select and a reader of the same connection do not take events from each other") {
  for (int i = 0; i != scaled(100, 10); ++i) {
    auto pair = tcp_pair();
    auto reader = thrum::spawn([&] { return read_one(pair.server); });
    auto selector = spawn_reading_select(pair.server);
    REQUIRE(are_waiting(2));
    pair.client.write(std::string_view("xy"));
    CHECK(reader.join() == "x");
    CHECK(selector.join() == 0);
  }
}

TEST_CASE("a select goes on waiting when a reader has taken all that came") {
  thrum::options one = support::environment_options();
  one.procs = 1;  // so that the requests of both are first looked at when the byte is there
  with_runtime(one, [] {
    for (int i = 0; i != scaled(100, 10); ++i) {
      auto pair = tcp_pair();
      auto reader = thrum::spawn([&] { return read_one(pair.server); });
      auto selector = spawn_reading_select(pair.server);
      while (thrum::stats().waiting != 2) {
        thrum::this_goroutine::yield();
      }
      pair.client.write(std::string_view("x"));
      CHECK(reader.join() == "x");
      pair.client.write(std::string_view("y"));
      CHECK(selector.join() == 0);
    }
  });
}

IN_RUNTIME("a late event does not report bytes as readable that were read already") {
  auto pair = tcp_pair();
  for (int i = 0; i != scaled(2000, 100); ++i) {
    pair.client.write(std::string_view("x"));
    // The poller may be asked by this, and answer at any time after it.
    REQUIRE(thrum::select(on_readable(pair.server), on_timeout(1h)) == 0);
    REQUIRE(read_one(pair.server) == "x");
    REQUIRE(thrum::select(on_readable(pair.server), otherwise()) == 1);
    if (i % 8 == 0) {
      REQUIRE(thrum::select(on_readable(pair.server), on_timeout(100us)) == 1);
    }
  }
}

IN_RUNTIME("a listener is readable when a connection is there") {
  auto listener = thrum::net::listener::listen(support::loopback());
  CHECK(thrum::select(on_readable(listener), on_timeout(1ms)) == 1);
  auto client = thrum::spawn([&] { return thrum::net::dial(listener.local()); });
  CHECK(thrum::select(on_readable(listener), on_timeout(1h)) == 0);
  const auto accepted = listener.accept();
  CHECK(static_cast<bool>(accepted));
  client.join();
}

IN_RUNTIME("a select ends with the first of several sources") {
  auto first = tcp_pair();
  auto second = tcp_pair();
  const thrum::chan<int> c(0);
  std::stop_source source = support::new_source();
  int counts[4] = {};
  for (int i = 0; i != scaled(400, 40); ++i) {
    const auto which = static_cast<std::size_t>(i % 3);
    thrum::go([&, which] {
      switch (which) {
        case 0: first.client.write(std::string_view("1")); break;
        case 1: second.client.write(std::string_view("2")); break;
        default: c.send(3); break;
      }
    });
    const std::size_t chosen = thrum::select(on_readable(first.server), on_readable(second.server),
                                             on_recv(c), thrum::on_done(source.get_token()));
    REQUIRE(chosen == which);
    ++counts[chosen];
    if (chosen < 2) {
      read_one(chosen == 0 ? first.server : second.server);
    }
  }
  CHECK(counts[0] > 0);
  CHECK(counts[1] > 0);
  CHECK(counts[2] > 0);
}

TEST_CASE("a program that waits for a descriptor in a select alone is not dead") {
  CHECK(thrum::run([] {
          auto pair = tcp_pair();
          std::thread writer([&] {
            std::this_thread::sleep_for(150ms);
            pair.client.write(std::string_view("x"));
          });
          const auto chosen = thrum::select(on_readable(pair.server));
          thrum::blocking([&] { writer.join(); });
          return chosen == 0 ? 5 : 6;
        }) == 5);
}

// ---- descriptors of others ---------------------------------------------------------------------

IN_RUNTIME("a descriptor of another library is a case, for reading and for writing") {
  watched_pair pair;
  const auto fd = pair.ends[0];
  CHECK(thrum::select(on_readable(fd), otherwise()) == 1);
  CHECK(thrum::select(on_writable(fd), on_timeout(1h)) == 0);
  for (int i = 0; i != scaled(200, 20); ++i) {
    auto writer = thrum::spawn([&] {
      thrum::sleep_for(i % 2 == 0 ? 100us : 0us);
      pair.put(1, "x");
    });
    CHECK(thrum::select(on_timeout(1h), on_readable(fd)) == 1);
    CHECK(pair.take(0) == 1);
    CHECK(thrum::select(on_readable(fd), on_timeout(0ms)) == 1);
    writer.join();
  }
}

IN_RUNTIME("an event for one side leaves the select for the other waiting") {
  watched_pair pair;
  const auto fd = pair.ends[0];
  for (int i = 0; i != scaled(100, 10); ++i) {
    auto reads = thrum::spawn([&] { return thrum::select(on_timeout(1h), on_readable(fd)); });
    REQUIRE(are_waiting(1));
    CHECK(thrum::select(on_readable(fd), on_writable(fd)) == 1);
    thrum::io::wait_writable(fd);
    CHECK_FALSE(reads.done());
    pair.put(1, "x");
    CHECK(reads.join() == 1);
    CHECK(pair.take(0) == 1);
  }
}

TEST_CASE("what is no descriptor is ready, as the read that fails will tell") {
  with_runtime(
      [] { CHECK(thrum::select(on_readable(thrum::os::no_handle), on_timeout(1h)) == 0); });
}

// ---- threads -----------------------------------------------------------------------------------

TEST_CASE("a thread without a runtime selects on descriptors") {
  watched_pair pair;
  CHECK(thrum::select(on_readable(pair.ends[0]), on_timeout(25ms)) == 1);
  std::thread writer([&] {
    std::this_thread::sleep_for(30ms);
    pair.put(1, "x");
  });
  CHECK(thrum::select(on_readable(pair.ends[0]), on_timeout(1h)) == 0);
  writer.join();
  CHECK(pair.take(0) == 1);

  auto ours = local_pair();
  CHECK(thrum::select(on_readable(ours.server), on_timeout(1ms)) == 1);
  std::thread other([&] { ours.client.write(std::string_view("x")); });
  CHECK(thrum::select(on_readable(ours.server), on_timeout(1h)) == 0);
  other.join();
}

TEST_CASE("a foreign thread selects on a connection that a runtime's poller knows") {
  thrum::runtime runtime(support::environment_options());
  auto pair = runtime.block_on([] { return tcp_pair(); });
  runtime.block_on([&] {  // which registers it
    CHECK(thrum::select(on_readable(pair.server), on_timeout(1ms)) == 1);
  });
  CHECK(thrum::select(on_readable(pair.server), on_timeout(1ms)) == 1);
  std::thread writer([&] { pair.client.write(std::string_view("x")); });
  CHECK(thrum::select(on_readable(pair.server), on_timeout(1h)) == 0);
  writer.join();
}

TEST_CASE("the runtime whose poller knows a connection may end while others select on it") {
  auto first = std::make_unique<thrum::runtime>(support::environment_options());
  auto pair = first->block_on([] {
    auto made = tcp_pair();
    CHECK(thrum::select(on_readable(made.server), on_timeout(1ms)) == 1);
    return made;
  });
  std::atomic<bool> begun{false};
  thrum::runtime second(support::environment_options());
  auto selector = second.spawn([&] {
    begun = true;
    return thrum::select(on_readable(pair.server), on_timeout(1h));
  });
  REQUIRE(eventually([&] { return begun && second.stats().waiting == 1; }));
  first.reset();
  second.block_on([&] { pair.client.write(std::string_view("x")); });
  CHECK(selector.join() == 0);
}

IN_RUNTIME("events that come while select begins or gives up do not touch what is gone") {
  auto pair = tcp_pair();
  const int rounds = scaled(1'000, 100);
  int chosen = 0;
  for (int i = 0; i != rounds; ++i) {
    auto writer = thrum::spawn([&] { pair.client.write(std::string_view("x")); });
    chosen += i % 2 == 0 ? thrum::select(on_readable(pair.server), otherwise()) == 0
                         : thrum::select(on_readable(pair.server),
                                         on_timeout(std::chrono::microseconds(i % 30))) == 0;
    writer.join();
    CHECK(read_one(pair.server) == "x");
  }
  CHECK(chosen <= rounds);
}
