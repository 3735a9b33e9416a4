// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// TLS by OpenSSL 3. Not in thrum.hpp: a program that includes this file needs OpenSSL's headers and
// libraries (CMake: thrum::tls; pkg-config: thrum openssl); no other program does.
//
//   const auto context = net::tls_context::client();
//   net::tls_conn c = net::tls_dial("example.org:443", context, 10s);
//   c.write("GET / HTTP/1.0\r\nHost: example.org\r\n\r\n");
//   std::string answer = c.read_all();
#ifndef THRUM_NET_TLS_HPP
#define THRUM_NET_TLS_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/net/tls_calls.hpp>     // IWYU pragma: export
#include <thrum/detail/net/tls_conn.hpp>      // IWYU pragma: export
#include <thrum/detail/net/tls_context.hpp>   // IWYU pragma: export
#include <thrum/detail/net/tls_error.hpp>     // IWYU pragma: export
#include <thrum/detail/net/tls_life.hpp>      // IWYU pragma: export
#include <thrum/detail/net/tls_transfer.hpp>  // IWYU pragma: export
#include <thrum/detail/start/deadline.hpp>
#include <thrum/net/conn.hpp>
#include <thrum/net/dial.hpp>
#include <thrum/net/host_port.hpp>
#include <thrum/until.hpp>

#include <string_view>
#include <system_error>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace net {

/// Connects to "host:service" as dial does, and agrees with the server, whose certificate must be for
/// that host. dial_options::until is for all of it; without a deadline: as long as the system tries to
/// connect, and then as long as the server takes. An error of the resolver, of the connection or of
/// tls_category(). A cancellation point.
inline tls_conn tls_dial(std::string_view text, const tls_context& context, const dial_options& how,
                         std::error_code& error) {
  return how.until.run(error, [&](time_point deadline) -> tls_conn {
    const host_port parts = split_host_port(text, error);
    if (error) {
      return {};
    }
    conn transport = net_detail::dial_until(text, how, deadline, error);
    if (error) {
      return {};
    }
    tls_conn made = tls_conn::client(context, std::move(transport), parts.host, error);
    if (error) {
      return {};
    }
    made.set_deadline(deadline);
    made.handshake(error);
    if (error) {
      return {};
    }
    made.set_deadline(time_point::max());
    return made;
  });
}

/// tls_dial that throws, with the text in the message.
inline tls_conn tls_dial(std::string_view text, const tls_context& context,
                         const dial_options& how = {}) {
  std::error_code error;
  tls_conn made = tls_dial(text, context, how, error);
  if (error) {
    base::throw_system(error, base::message<>("tls_dial ").append_quoted(text).view());
  }
  return made;
}

/// tls_dial until `end` in place of dial_options::until.
inline tls_conn tls_dial(std::string_view text, const tls_context& context, const until& end,
                         std::error_code& error) {
  return tls_dial(text, context, dial_options{.until = end}, error);
}
inline tls_conn tls_dial(std::string_view text, const tls_context& context, const until& end) {
  return tls_dial(text, context, dial_options{.until = end});
}

}}}  // namespace thrum::THRUM_ABI::net

#endif
