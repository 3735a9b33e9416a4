// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// thrum_mixed [--port N] [--procs N]
//
// A goroutine per connection: each message is a byte, which comes back when the goroutine has computed
// for so many milliseconds. bench/go/net/mixed is the same in Go; mixed_load is the client.

#include <thrum.hpp>

#include <chrono>
#include <span>
#include <string_view>
#include <system_error>

#include "thrum_server.hpp"

namespace {

void compute(std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

void serve(thrum::net::conn c) {
  std::error_code error;
  for (char message = 0;;) {
    if (c.read(std::span<char>(&message, 1), error) == 0 || error) {
      return;
    }
    compute(std::chrono::milliseconds(message));
    c.write(std::string_view(&message, 1), error);
    if (error) {
      return;
    }
  }
}

}  // namespace

int main(int argc, char** argv) { return bench::serve_connections(argc, argv, serve); }
