// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// tls_echo_server: sends back whatever arrives over TLS.
//
//   tls_echo_server CERT KEY [--listen ADDR] [--procs N] [--idle SECONDS]
//
// CERT and KEY are PEM files. A client that is silent for so many seconds (60) is disconnected.
//
// Try it with: openssl s_client -quiet -connect 127.0.0.1:7009 -CAfile CERT

#include <thrum.hpp>
#include <thrum/net/tls.hpp>

#include "server_arguments.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

namespace {

void echo(thrum::net::tls_conn stream, std::chrono::seconds patience) {
  const auto wait_no_longer = [&] {
    stream.set_deadline(std::chrono::steady_clock::now() + patience);
  };
  std::error_code error;
  wait_no_longer();
  stream.handshake(error);
  if (error) {
    std::fprintf(stderr, "tls_echo_server: cannot agree with a client: %s; does it trust us?\n",
                 error.message().c_str());
    return;
  }
  std::array<char, 2048> buffer;
  while (const std::size_t n = stream.read(std::span<char>(buffer), error)) {
    wait_no_longer();
    stream.write(std::string_view(buffer.data(), n), error);
    if (error) {
      return;
    }
  }
}

/// A goroutine for each connection, until connections cannot be accepted.
int serve_all(const server_arguments& given, const thrum::net::tls_context& context) {
  allow_all_descriptors();
  std::error_code error;
  thrum::net::listener listener = thrum::net::listener::listen(given.listen, {}, error);
  if (error) {
    return given.cannot_listen(error);
  }
  given.say_listening(listener.local());
  for (;;) {
    thrum::net::conn c = listener.accept(error);
    if (error) {
      return given.cannot_accept(error);
    }
    thrum::go([&context, idle = given.idle, c = std::move(c)]() mutable {
      std::error_code no_memory;
      echo(thrum::net::tls_conn::server(context, std::move(c), no_memory), idle);
    });
  }
}

}  // namespace

int main(int count, char** values) {
  server_arguments given;
  given.listen = "127.0.0.1:7009";
  if (!given.parse(count, values, 2,
                   "tls_echo_server CERT KEY [--listen ADDR] [--procs N] [--idle SECONDS]")) {
    return 2;
  }
  std::error_code error;
  const auto context = thrum::net::tls_context::server(
      {.certificate = given.words[0], .key = given.words[1]}, error);
  if (error) {
    std::fprintf(stderr, "tls_echo_server: cannot use %s with %s: %s; name two PEM files\n",
                 given.words[0].c_str(), given.words[1].c_str(), error.message().c_str());
    return 1;
  }
  return thrum::run(given.options(), [&] { return serve_all(given, context); });
}
