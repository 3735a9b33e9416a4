// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// echo_server: sends back whatever arrives, a goroutine for each connection.
//
//   echo_server [--listen ADDR] [--procs N]
//
// Try it with: nc 127.0.0.1 7007

#include <thrum.hpp>

#include "server_arguments.hpp"

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

namespace {

void echo(thrum::net::conn c) {
  std::array<char, 2048> buffer;
  std::error_code error;
  for (;;) {
    const std::size_t n = c.read(std::span<char>(buffer), error);
    if (error || n == 0) {
      return;  // the connection is closed with c
    }
    c.write(std::string_view(buffer.data(), n), error);
    if (error) {
      return;
    }
  }
}

/// A goroutine for each connection, until connections cannot be accepted.
int serve_all(const server_arguments& given) {
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
    thrum::go(echo, std::move(c));
  }
}

}  // namespace

int main(int count, char** values) {
  server_arguments given;
  given.listen = "127.0.0.1:7007";
  if (!given.parse(count, values, 0, "echo_server [--listen ADDR] [--procs N]")) {
    return 2;
  }
  return thrum::run(given.options(), [&] { return serve_all(given); });
}
