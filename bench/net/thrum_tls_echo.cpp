// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// thrum_tls_echo --cert FILE --key FILE [--port N] [--procs N]   a goroutine per connection sends back
// whatever arrives over TLS
//
// bench/go/net/tls_echo is the same in Go.

#include <thrum.hpp>
#include <thrum/net/tls.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "thrum_server.hpp"

int main(int argc, char** argv) {
  const bench::server_arguments arguments(argc, argv);
  const auto context =
      thrum::net::tls_context::server({.certificate = arguments.certificate, .key = arguments.key});
  return bench::serve_connections(arguments, [&context](thrum::net::conn accepted) {
    thrum::net::tls_conn c = thrum::net::tls_conn::server(context, std::move(accepted));
    std::array<char, 2048> buffer;
    std::error_code error;
    for (;;) {
      const std::size_t size = c.read(std::span<char>(buffer), error);
      if (error || size == 0) {
        return;
      }
      c.write(std::string_view(buffer.data(), size), error);
      if (error) {
        return;
      }
    }
  });
}
