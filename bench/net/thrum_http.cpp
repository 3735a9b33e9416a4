// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// thrum_http [--port N] [--procs N]   a goroutine per connection answers every request alike
//
// bench/go/net/http_raw is the same in Go.

#include <thrum.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "request_counter.hpp"
#include "server_arguments.hpp"

namespace {

void serve(thrum::net::conn c) {
  std::array<char, 2048> buffer;
  bench::request_counter counter;
  std::string room;
  std::error_code error;
  for (;;) {
    const std::size_t size = c.read(std::span<char>(buffer), error);
    if (error || size == 0) {
      return;
    }
    const std::size_t requests = counter.count({buffer.data(), size});
    if (requests == 0) {
      continue;
    }
    c.write(bench::http_answers(requests, room), error);
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
