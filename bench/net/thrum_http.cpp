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
#include "thrum_server.hpp"

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

int main(int argc, char** argv) { return bench::serve_connections(argc, argv, serve); }
