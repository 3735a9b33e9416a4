// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// net/tls.hpp: try_read and try_write, which do not wait, read_v and write_v, of several pieces.

#include <thrum/net/tls.hpp>

#include "support/net.hpp"
#include "support/test.hpp"
#include "tls/pairs.hpp"

#include <openssl/ssl.h>

namespace net = thrum::net;
using net::tls_conn;
using support::agreed_tls_pair;
using support::asking;
using support::new_tls_pair;
using support::read_text;
using support::some_bytes;
using support::tls_pair;

namespace {

/// try_read until there is something, for a while; the end: empty.
std::optional<std::string> tried_tls_text(tls_conn& from) {
  char buffer[16];
  std::optional<std::size_t> n;
  eventually([&] {
    n = from.try_read(std::span<char>(buffer));
    return n.has_value();
  });
  return n ? std::optional(std::string(buffer, *n)) : std::nullopt;
}

/// try_write until nothing more goes in.
std::size_t tried_tls_full(tls_conn& to, std::string_view bytes) {
  std::size_t done = 0;
  while (const std::optional<std::size_t> n = to.try_write(bytes.substr(done))) {
    done += *n;
    if (done == bytes.size()) {
      break;
    }
  }
  return done;
}

/// More than any connection takes while nobody reads.
std::string more_than_fits() {
  const std::string some = some_bytes((std::size_t{1} << 20) - 1);
  std::string bytes;
  for (int i = 0; i != 64; ++i) {
    bytes += some;
  }
  return bytes;
}

std::span<const std::byte> bytes_of_piece(std::string_view text) {
  return std::as_bytes(std::span<const char>(text));
}

}  // namespace

IN_RUNTIME("tls: try_read is none while there is nothing, then what there is, then the end") {
  tls_pair made = agreed_tls_pair();
  char buffer[2];
  CHECK(!made.client.try_read(std::span<char>(buffer)));
  CHECK(made.client.try_read(std::span<char>()) == 0);
  made.server.write(std::string_view("one"));
  CHECK(tried_tls_text(made.client) == "one");
  made.server.write(std::string_view("more"));
  std::optional<std::size_t> n;
  CHECK(eventually([&] {
    n = made.client.try_read(std::span<char>(buffer));
    return n.has_value();
  }));
  CHECK(n == 2);
  CHECK(made.client.buffered() == 2);
  CHECK(made.client.try_read(std::span<char>(buffer)) == 2);  // which the connection has not
  CHECK(!made.client.try_read(std::span<char>(buffer)));
  made.server.write(std::string_view("last"));
  CHECK(read_text(made.client, 4) == "last");  // as if nobody had tried
  made.server.close_write();
  CHECK(tried_tls_text(made.client) == "");
  CHECK(made.client.try_read(std::span<char>(buffer)) == 0);
}

IN_RUNTIME("tls: try_read and try_write do the handshake without waiting for it") {
  tls_pair made = new_tls_pair();
  char one = 0;
  CHECK(!made.client.try_read({&one, 1}));
  CHECK(!made.client.try_write(std::string_view("x")));
  CHECK(eventually([&] {
    CHECK(!made.server.try_read({&one, 1}));
    return made.client.try_write(std::string_view("x")).has_value();
  }));
  CHECK(tried_tls_text(made.server) == "x");
  CHECK(made.server.version() == "TLSv1.3");
  made.server.write(std::string_view("y"));
  CHECK(tried_tls_text(made.client) == "y");
  // One that nobody of ours waits in, with one that does.
  tls_pair other = new_tls_pair();
  auto server = thrum::spawn([&] { return read_text(other.server, 1); });
  CHECK(eventually([&] { return other.client.try_write(std::string_view("z")).has_value(); }));
  CHECK(server.join() == "z");
}

IN_RUNTIME("tls: try_read and try_write say why a handshake fails") {
  tls_pair made = new_tls_pair(net::tls_context::client(),
                               net::tls_context::server(support::serving()), "localhost");
  auto server = thrum::spawn([&] { return error_of([&] { made.server.handshake(); }); });
  std::error_code error;
  char one = 0;
  CHECK(eventually([&] {
    CHECK(!made.client.try_read({&one, 1}, error));
    return static_cast<bool>(error);
  }));
  CHECK(error == net::tls_error::untrusted);
  CHECK(server.join() == net::tls_error::refused_by_peer);
  CHECK(!made.client.try_write(std::string_view("x"), error));
  CHECK(error == net::tls_error::untrusted);
}

IN_RUNTIME("tls: what try_write has taken is sent by the next write, and nothing is lost") {
  tls_pair made = agreed_tls_pair();
  const std::string bytes = more_than_fits();
  std::size_t n = 0;
  CHECK(eventually([&] {  // an acknowledgement that comes late makes room
    n += tried_tls_full(made.client, std::string_view(bytes).substr(n));
    return !made.client.try_write(std::string_view());  // a part of a record is not sent
  }));
  CHECK(n != 0);
  CHECK(n < bytes.size());
  auto reader = thrum::spawn([&] { return read_text(made.server, n); });
  made.client.write(std::string_view());
  CHECK((reader.join() == std::string_view(bytes).substr(0, n)));
  CHECK(made.client.try_write(std::string_view()) == 0);
  CHECK(made.client.try_write(std::string_view("abc")) == 3);
  CHECK(read_text(made.server, 3) == "abc");
  made.client.close_write();
  CHECK(made.server.read_all().empty());
  CHECK(error_of([&] { made.client.try_write(std::string_view("x")); }) == std::errc::broken_pipe);
}

IN_RUNTIME("tls: try_read and try_write are none while another has its turn") {
  tls_pair made = agreed_tls_pair();
  auto reader = thrum::spawn([&] { return read_text(made.client, 1); });
  CHECK(are_waiting(1));
  char one = 0;
  CHECK(!made.client.try_read({&one, 1}));
  made.server.write(std::string_view("x"));
  CHECK(reader.join() == "x");
  const std::string bytes = more_than_fits();
  auto writer = thrum::spawn([&] {
    std::error_code error;
    made.client.write(bytes, error);
    return error;
  });
  CHECK(are_waiting(1));
  CHECK(!made.client.try_write(std::string_view("z")));
  made.client.close();
  CHECK(support::is_cancelled(writer.join()));
}

IN_RUNTIME("tls: for try_read and try_write a deadline, a close and no connection are errors") {
  tls_pair made = agreed_tls_pair();
  std::error_code error;
  char one = 0;
  made.client.set_deadline(support::steady::now());
  CHECK(!made.client.try_write(std::string_view("x"), error));
  CHECK(support::is_timeout(error));
  CHECK(!made.client.try_read({&one, 1}, error));
  CHECK(support::is_timeout(error));
  made.client.set_deadline(thrum::time_point::max());
  CHECK(made.client.try_write(std::string_view("x"), error) == 1);
  CHECK(!error);
  made.client.close();
  CHECK(support::is_cancelled(error_of([&] { made.client.try_write(std::string_view("x")); })));
  CHECK(support::is_cancelled(error_of([&] { made.client.try_read({&one, 1}); })));
  tls_pair late = new_tls_pair();
  late.client.set_read_deadline(support::steady::now());
  CHECK(!late.client.try_write(std::string_view("x"), error));  // both hold for the handshake
  CHECK(support::is_timeout(error));
  tls_conn none;
  CHECK(!none.try_read({&one, 1}, error));
  CHECK(error == std::errc::bad_file_descriptor);
  CHECK(!none.try_write(std::string_view("x"), error));
  CHECK(error == std::errc::bad_file_descriptor);
}

IN_RUNTIME("tls: try_read answers a change of keys, and says what the peer has broken") {
  tls_pair made = agreed_tls_pair();
  for (int i = 0; i < 3; ++i) {
    CHECK(SSL_key_update(made.server.native_session(), SSL_KEY_UPDATE_REQUESTED) == 1);
    made.server.write(std::string_view("ping"));
    CHECK(tried_tls_text(made.client) == "ping");
    CHECK(made.client.try_write(std::string_view("pong")) == 4);
    CHECK(read_text(made.server, 4) == "pong");
  }
  made.server.transport().write(std::string_view("GET / HTTP/1.0\r\n\r\n"));
  std::error_code error;
  char one = 0;
  CHECK(eventually([&] {
    CHECK(!made.client.try_read({&one, 1}, error));
    return static_cast<bool>(error);
  }));
  CHECK(error == net::tls_error::protocol);
}

TEST_CASE("tls: try_read and try_write work from threads of others, too") {
  tls_pair made = new_tls_pair();
  std::optional<std::string> asked;
  std::thread server([&] {
    asked = tried_tls_text(made.server);
    made.server.write(std::string_view("answer"));
  });
  CHECK(eventually([&] { return made.client.try_write(std::string_view("hello")) == 5; }));
  CHECK(tried_tls_text(made.client) == "answer");
  server.join();
  CHECK(asked == "hello");
}

IN_RUNTIME("tls: read_v and write_v take the pieces in their order, as one stream") {
  tls_pair made = new_tls_pair();
  const std::string large = some_bytes(200'000);
  const std::vector<std::span<const std::byte>> pieces{
      bytes_of_piece("one"),   bytes_of_piece(""),    bytes_of_piece("two"),
      bytes_of_piece("three"), bytes_of_piece(large), bytes_of_piece("end")};
  auto writer = thrum::spawn([&] {
    const std::size_t n = made.client.write_v(pieces) + made.client.write_v({});
    made.client.close_write();
    return n;
  });
  std::string first(2, '-');
  std::string nothing;
  std::string second(9, '-');
  const std::vector<std::span<std::byte>> room{std::as_writable_bytes(std::span<char>(first)),
                                               std::as_writable_bytes(std::span<char>(nothing)),
                                               std::as_writable_bytes(std::span<char>(second))};
  CHECK(made.server.read_v(room) == 11);
  CHECK(first + second == "onetwothree");
  CHECK((made.server.read_all() == large + "end"));
  CHECK(made.server.read_v(room) == 0);
  CHECK(made.server.read_v({}) == 0);
  CHECK(writer.join() == 11 + large.size() + 3);
  std::error_code error;
  CHECK(made.client.write_v(pieces, error) == 0);
  CHECK(error == std::errc::broken_pipe);
  made.server.close();
  CHECK(made.server.read_v(room, error) == 0);
  CHECK(support::is_cancelled(error));
}

IN_RUNTIME("tls: read_v waits for the first piece only") {
  tls_pair made = agreed_tls_pair();
  made.server.write(std::string_view("abc"));
  std::string first(2, '-');
  std::string second(2, '-');
  const std::vector<std::span<std::byte>> room{std::as_writable_bytes(std::span<char>(first)),
                                               std::as_writable_bytes(std::span<char>(second))};
  CHECK(made.client.read_v(room) == 3);
  CHECK(first + second == "abc-");
}
