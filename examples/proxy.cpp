// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// proxy: takes connections and forwards each to a target, byte by byte in both directions.
//
//   proxy LISTEN TARGET [--procs N]
//
// Two goroutines for each connection. When one side ends its stream, the other is told so and may
// go on sending, as TCP allows; an error on one side ends both.
//
// Try it with: proxy 127.0.0.1:8081 example.org:80

#include <thrum.hpp>

#include "server_arguments.hpp"

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

using namespace std::chrono_literals;

namespace {

/// Passes everything that `from` sends to `to`.
void pump(thrum::net::conn& from, thrum::net::conn& to) {
  std::error_code error;
  thrum::io::copy(from, to, error);
  if (!error) {
    to.close_write(error);
  }
  if (error) {
    from.close();  // ends the other direction, too
    to.close();
  }
}

void forward(thrum::net::conn client, const std::string& target) {
  std::error_code error;
  thrum::net::conn server = thrum::net::dial(std::string_view(target), 10s, error);
  if (error) {
    std::fprintf(stderr, "proxy: cannot connect to %s: %s; is it listening?\n", target.c_str(),
                 error.message().c_str());
    client.linger(0);  // the client sees a reset, not an answer without content
    return;
  }
  const auto answers = thrum::spawn([&] { pump(server, client); });
  pump(client, server);
}  // here `answers` is waited for

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
    thrum::go(forward, std::move(c), given.words[1]);
  }
}

}  // namespace

int main(int count, char** values) {
  server_arguments given;
  if (!given.parse(count, values, 2, "proxy LISTEN TARGET [--procs N]")) {
    return 2;
  }
  given.listen = given.words[0];
  return thrum::run(given.options(), [&] { return serve_all(given); });
}
