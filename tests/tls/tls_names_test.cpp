// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The public surface of <thrum/net/tls.hpp>, name by name, as unit/api_names_test.cpp has the rest: it
// compiles only if every name is there in the form that programs use.

#include <thrum/net/tls.hpp>

#include "support/test.hpp"

namespace net = thrum::net;
using net::tls_conn;
using net::tls_context;
using std::declval;

#define GIVES(type, ...) static_assert(std::is_same_v<type, decltype(__VA_ARGS__)>, #__VA_ARGS__)

namespace {

using error_code = std::error_code;

static_assert(std::is_same_v<std::string, decltype(net::tls_options::certificate)> &&
              std::is_same_v<std::string, decltype(net::tls_options::key)> &&
              std::is_same_v<std::string, decltype(net::tls_options::key_password)> &&
              std::is_same_v<std::string, decltype(net::tls_options::trust)> &&
              std::is_same_v<bool, decltype(net::tls_options::verify)> &&
              std::is_same_v<net::client_certificate, decltype(net::tls_options::ask_client)> &&
              std::is_same_v<std::vector<std::string>, decltype(net::tls_options::protocols)> &&
              std::is_same_v<net::tls_version, decltype(net::tls_options::minimum)> &&
              std::is_same_v<std::size_t, decltype(net::tls_options::sessions)>);

static_assert(std::is_copy_constructible_v<tls_context> &&
              std::is_default_constructible_v<tls_context>);
GIVES(tls_context, tls_context::client());
GIVES(tls_context, tls_context::client({.protocols = {"h2"}}));
GIVES(tls_context, tls_context::client({}, declval<error_code&>()));
GIVES(tls_context, tls_context::server({.certificate = "c", .key = "k"}));
GIVES(tls_context, tls_context::server({}, declval<error_code&>()));
GIVES(::SSL_CTX*, declval<const tls_context&>().native_handle());

static_assert(!std::is_copy_constructible_v<tls_conn> &&
              std::is_nothrow_move_constructible_v<tls_conn> &&
              std::is_default_constructible_v<tls_conn>);
GIVES(tls_conn, tls_conn::client(declval<tls_context&>(), declval<net::conn>(), "host"));
GIVES(tls_conn, tls_conn::client(declval<tls_context&>(), declval<net::conn&>(), "host"));
GIVES(tls_conn, tls_conn::client(declval<tls_context&>(), declval<net::conn>(), "host",
                                 declval<error_code&>()));
GIVES(tls_conn, tls_conn::server(declval<tls_context&>(), declval<net::conn>()));
GIVES(tls_conn, tls_conn::server(declval<tls_context&>(), declval<net::conn&>()));
GIVES(tls_conn,
      tls_conn::server(declval<tls_context&>(), declval<net::conn&>(), declval<error_code&>()));
GIVES(void, declval<tls_conn&>().handshake());
GIVES(void, declval<tls_conn&>().handshake(declval<error_code&>()));
GIVES(std::size_t, declval<tls_conn&>().read(declval<std::span<char>>()));
GIVES(std::size_t, declval<tls_conn&>().write("text", declval<error_code&>()));
GIVES(std::string, declval<tls_conn&>().read_all());
GIVES(std::size_t, declval<tls_conn&>().read_v(declval<std::span<const std::span<std::byte>>>()));
GIVES(std::size_t, declval<tls_conn&>().read_v(declval<std::span<const std::span<std::byte>>>(),
                                               declval<error_code&>()));
GIVES(std::size_t,
      declval<tls_conn&>().write_v(declval<std::span<const std::span<const std::byte>>>()));
GIVES(std::size_t,
      declval<tls_conn&>().write_v(declval<std::span<const std::span<const std::byte>>>(),
                                   declval<error_code&>()));
GIVES(std::size_t,
      declval<tls_conn&>().write_v(declval<std::span<const std::span<const std::byte>>>(),
                                   std::stop_token(), declval<error_code&>()));
GIVES(std::optional<std::size_t>, declval<tls_conn&>().try_read(declval<std::span<char>>()));
GIVES(std::optional<std::size_t>,
      declval<tls_conn&>().try_read(declval<std::span<std::byte>>(), declval<error_code&>()));
GIVES(std::optional<std::size_t>, declval<tls_conn&>().try_write("text"));
GIVES(std::optional<std::size_t>,
      declval<tls_conn&>().try_write(declval<std::span<const std::byte>>(),
                                     declval<error_code&>()));
GIVES(void, declval<tls_conn&>().close_write());
GIVES(void, declval<tls_conn&>().close_write(declval<error_code&>()));
GIVES(void, declval<tls_conn&>().close());
GIVES(void, declval<tls_conn&>().set_deadline(thrum::time_point()));
GIVES(void, declval<tls_conn&>().set_read_deadline(thrum::time_point()));
GIVES(void, declval<tls_conn&>().set_write_deadline(thrum::time_point()));
GIVES(std::string, declval<const tls_conn&>().protocol());
GIVES(std::string, declval<const tls_conn&>().version());
GIVES(std::string, declval<const tls_conn&>().cipher());
GIVES(std::string, declval<const tls_conn&>().server_name());
GIVES(bool, declval<const tls_conn&>().resumed());
GIVES(std::size_t, declval<const tls_conn&>().buffered());
GIVES(net::conn&, declval<tls_conn&>().transport());
GIVES(net::endpoint, declval<const tls_conn&>().local());
GIVES(net::endpoint, declval<const tls_conn&>().remote());
GIVES(::SSL*, declval<const tls_conn&>().native_session());

GIVES(tls_conn, net::tls_dial("host:443", declval<tls_context&>()));
GIVES(tls_conn, net::tls_dial("host:443", declval<tls_context&>(), 1s));
GIVES(tls_conn, net::tls_dial("host:443", declval<tls_context&>(), 1s, declval<error_code&>()));
GIVES(tls_conn, net::tls_dial("host:443", declval<tls_context&>(), thrum::context()));
GIVES(void, declval<tls_conn&>().handshake(thrum::context(), declval<error_code&>()));
GIVES(tls_conn, net::tls_dial("host:443", declval<tls_context&>(), thrum::time_point()));
GIVES(tls_conn, net::tls_dial("host:443", declval<tls_context&>(), thrum::time_point(),
                              declval<error_code&>()));
GIVES(tls_conn, net::tls_dial("host:443", declval<tls_context&>(),
                              {.head_start = 1ms, .until = thrum::time_point()}));
GIVES(tls_conn, net::tls_dial("host:443", declval<tls_context&>(), {.until = thrum::context()},
                              declval<error_code&>()));

}  // namespace

TEST_CASE("tls: what programs may tell apart are conditions, which errors of TLS equal") {
  using net::tls_error;
  for (const tls_error each :
       {tls_error::wrong_host, tls_error::expired, tls_error::untrusted,
        tls_error::no_common_protocol, tls_error::refused_by_peer, tls_error::protocol}) {
    const error_code code(static_cast<int>(each), net::tls_category());
    CHECK(code == each);
    CHECK(code.message() == make_error_condition(each).message());
    CHECK(!code.message().empty());
    CHECK(code != std::errc::timed_out);
  }
  CHECK(std::string_view(net::tls_category().name()) == "tls");
}
