// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// thrum_echo [--port N] [--procs N]   a goroutine per connection sends back whatever arrives
//
// bench/go/net/echo is the same in Go.

#include <thrum.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "server_arguments.hpp"

namespace {

void serve(thrum::net::conn c) {
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
}

}  // namespace

int main(int argc, char** argv) {
  const bench::server_arguments arguments(argc, argv);
  thrum::options options;
  options.procs = arguments.procs;
  return thrum::run(options, [&] {
    const std::string address = "127.0.0.1:" + std::to_string(arguments.port);
    auto listener = thrum::net::listener::listen(std::string_view(address));
    bench::say_listening(listener.local().port());
    for (;;) {
      thrum::go(serve, listener.accept());
    }
  });
}
