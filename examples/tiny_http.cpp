// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// tiny_http: an HTTP server in some fifty lines. It answers GET with the path, keeps connections, and ends in
// order at SIGTERM and SIGINT. examples/http_server.cpp is the one that serves files and trusts no client.
//
//   tiny_http [ADDR]
//
// Try it with: curl http://127.0.0.1:8082/some/path

#include <thrum.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

using namespace std::chrono_literals;

namespace {

void answer(thrum::net::conn& client) {
  thrum::io::buffered_reader in(client);
  std::error_code error;
  for (;;) {
    client.set_deadline(std::chrono::steady_clock::now() + 30s);
    const std::optional<std::string> request = in.read_line(error);  // GET /some/path HTTP/1.1
    std::optional<std::string> header;
    do {
      header = in.read_line(error);
    } while (header && !header->empty());
    if (!request || !header) {
      return;  // the client has gone, or takes too long
    }
    const auto end = request->rfind(' ');
    const bool is_get = request->starts_with("GET /") && end > 4;
    const std::string body = is_get ? "you asked for " + request->substr(4, end - 4) + "\n" : "?\n";
    client.write(std::string(is_get ? "HTTP/1.1 200 OK" : "HTTP/1.1 405 Method Not Allowed") +
                     "\r\nContent-Type: text/plain\r\nContent-Length: " +
                     std::to_string(body.size()) + "\r\n\r\n" + body,
                 error);
  }
}

}  // namespace

int main(int count, char** values) {
  return thrum::run([&] {
    std::error_code error;
    const std::string address = count > 1 ? values[1] : "127.0.0.1:8082";
    thrum::net::listener listener = thrum::net::listener::listen(address, {}, error);
    if (error) {
      std::fprintf(stderr, "tiny_http: cannot listen on %s: %s\n", address.c_str(),
                   error.message().c_str());
      return 1;
    }
    std::printf("listening on %s\n", listener.local().to_string().c_str());
    std::fflush(stdout);
    thrum::net::server server(std::move(listener));
    thrum::io::signal_set signals({SIGTERM, SIGINT}, error);
    thrum::go([&server, told = signals.chan()] {
      if (told && told.recv()) {
        server.stop_for(10s);
      }
    });
    server.serve(answer, error);
    return error ? 1 : 0;
  });
}
