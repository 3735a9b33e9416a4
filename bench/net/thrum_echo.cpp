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
#include <string_view>
#include <system_error>

#include "thrum_server.hpp"

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

int main(int argc, char** argv) { return bench::serve_connections(argc, argv, serve); }
