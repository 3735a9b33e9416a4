// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// net/tls.hpp: what a connection does while the peer has sent a part of a message that belongs to no
// handshake: a ticket, cut into several records, of which some are on their way.

#include <thrum/net/tls.hpp>

#include "support/net.hpp"
#include "support/test.hpp"
#include "tls/pairs.hpp"

#include <openssl/ssl.h>

namespace io = thrum::io;
namespace net = thrum::net;
using net::tls_conn;
using net::tls_context;
using support::asking;
using support::read_text;
using support::serving;
using support::some_bytes;
using support::vouches;

namespace {

/// A client that has agreed with its server, and has received the first record of a ticket of several.
class held_ticket {
 public:
  held_ticket() {
    const support::identity own = vouches().issue();  // makes the ticket long
    const tls_context to_serve = tls_context::server(serving(
        {.trust = vouches().certificate(), .ask_client = net::client_certificate::required}));
    SSL_CTX_set_max_send_fragment(to_serve.native_handle(), 512);
    client = tls_conn::client(
        tls_context::client(asking({.certificate = own.certificate, .key = own.key})),
        std::move(near_.client), "localhost");
    server = tls_conn::server(to_serve, std::move(far_.client));
    auto serving_side = thrum::spawn([this] { server.handshake(); });
    to_client_ = thrum::spawn([this] {
      while (pass_record(far_.server, near_.server)) {
      }
    });
    to_server_ = thrum::spawn([this] {
      pass_record(near_.server, far_.server);  // the client's first flight
      client_agreed_.acquire();
      std::error_code error;
      io::copy(near_.server, far_.server, error);
      far_.server.close_write(error);
    });
    client.handshake();
    while (records_.try_acquire()) {
    }
    client_agreed_.release();
    serving_side.join();
    records_.release();
    char one = 0;
    CHECK(eventually([&] {
      return !client.try_read(std::span(&one, 1)) && SSL_in_init(client.native_session()) == 1;
    }));
  }
  held_ticket(const held_ticket&) = delete;
  held_ticket& operator=(const held_ticket&) = delete;
  ~held_ticket() {
    release();
    client.close();
    server.close();
    near_.server.close();
    far_.server.close();
    to_client_.join();
    to_server_.join();
  }

  /// The rest comes.
  void release() { records_.release(many); }

  tls_conn client;
  tls_conn server;

 private:
  static constexpr std::ptrdiff_t many = 1 << 20;

  bool pass_record(net::conn& from, net::conn& to) {
    std::error_code error;
    constexpr std::size_t head = 5;
    std::string record(head, '\0');
    if (from.read_full(record, error) != head) {
      return false;
    }
    const auto size = [&](std::size_t i) { return static_cast<unsigned char>(record[i]); };
    const std::size_t body = std::size_t{size(3)} * 256 + size(4);
    record.resize(head + body);
    from.read_full(std::span(record).subspan(head), error);
    if (&from == &far_.server) {
      records_.acquire();
    }
    to.write(record, error);
    return !error;
  }

  support::conn_pair near_ = support::tcp_pair();
  support::conn_pair far_ = support::tcp_pair();
  thrum::counting_semaphore<> records_{many};
  thrum::counting_semaphore<> client_agreed_{0};
  thrum::join_handle<void> to_client_;
  thrum::join_handle<void> to_server_;
};

}  // namespace

IN_RUNTIME(
    "tls: a write in the middle of the peer's message waits for the rest, and loses nothing") {
  held_ticket held;
  SECTION("a plain one") {
    auto writer = thrum::spawn([&] { return held.client.write(std::string_view("hello")); });
    held.release();
    CHECK(writer.join() == 5);
  }
  SECTION("one of many records, beside one who reads") {
    auto reader = thrum::spawn([&] { return read_text(held.client, 3); });
    auto writer = thrum::spawn([&] { return held.client.write("hello" + some_bytes(300'000)); });
    held.release();
    CHECK(read_text(held.server, 5) == "hello");
    CHECK(read_text(held.server, 300'000) == some_bytes(300'000));
    CHECK(writer.join() == 300'005);
    held.server.write(std::string_view("abc"));
    CHECK(reader.join() == "abc");
    return;
  }
  SECTION("a buffer's flush") {
    io::buffered_writer out(held.client);
    out.write("hello");
    auto writer = thrum::spawn([&] { out.flush(); });
    held.release();
    writer.join();
    CHECK(out.buffered() == 0);
  }
  SECTION("several pieces") {
    auto writer = thrum::spawn([&] {
      const std::span<const std::byte> pieces[] = {std::as_bytes(std::span("hel", 3)),
                                                   std::as_bytes(std::span("lo", 2))};
      return held.client.write_v(pieces);
    });
    held.release();
    CHECK(writer.join() == 5);
  }
  SECTION("one that does not wait") {
    std::error_code error;
    CHECK(!held.client.try_write("hello", error));
    CHECK(!error);
    held.release();
    std::size_t done = 0;
    CHECK(eventually([&] {
      done += held.client.try_write(std::string_view("hello").substr(done)).value_or(0);
      return done == 5;
    }));
  }
  CHECK(read_text(held.server, 5) == "hello");
}

IN_RUNTIME("tls: a write that waits for the peer's message ends with its own deadline or stop") {
  held_ticket held;
  std::error_code error;
  SECTION("a deadline, beside one who reads without") {
    auto reader = thrum::spawn([&] { return read_text(held.client, 3); });
    held.client.set_write_deadline(support::steady::now() + 20ms);
    CHECK(held.client.write(std::string_view("lost"), error) == 0);
    CHECK(error == thrum::errc::deadline_exceeded);
    held.client.set_write_deadline(thrum::time_point::max());
    held.release();
    held.server.write(std::string_view("abc"));
    CHECK(reader.join() == "abc");
  }
  SECTION("a deadline, alone") {
    held.client.set_write_deadline(support::steady::now() + 20ms);
    CHECK(held.client.write(std::string_view("lost"), error) == 0);
    CHECK(error == thrum::errc::deadline_exceeded);
    held.client.set_write_deadline(thrum::time_point::max());
    held.release();
  }
  SECTION("not with a reader's deadline") {
    held.client.set_read_deadline(support::steady::now());
    auto writer = thrum::spawn([&] { return held.client.write(std::string_view("kept")); });
    held.release();
    CHECK(writer.join() == 4);
    CHECK(read_text(held.server, 4) == "kept");
  }
  SECTION("a stop") {
    thrum::context stop = thrum::context().with_timeout(20ms);
    CHECK(held.client.write(std::string_view("lost"), stop, error) == 0);
    CHECK(error == std::errc::operation_canceled);
    held.release();
  }
  SECTION("a close") {
    auto writer = thrum::spawn([&] {
      std::error_code of_write;
      held.client.write(std::string_view("lost"), of_write);
      return of_write;
    });
    held.client.close();
    CHECK(writer.join() == std::errc::operation_canceled);
    return;
  }
  held.client.write(std::string_view("kept"));
  CHECK(read_text(held.server, 4) == "kept");
}

IN_RUNTIME("tls: close_write in the middle of the peer's message is reported to the peer") {
  held_ticket held;
  auto closing = thrum::spawn([&] { held.client.close_write(); });
  held.release();
  closing.join();
  CHECK(held.server.read_all().empty());
}
