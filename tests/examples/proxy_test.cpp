// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// examples/proxy: bytes and ends, each way.

#include "support/test.hpp"

#ifdef THRUM_EXAMPLES_DIR

#include <thrum.hpp>

#include "support/with_runtime.hpp"

#include "clients.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <system_error>

namespace examples { namespace {

TEST_CASE("the proxy forwards both directions, and the end of each alone") {
  for (const char* const procs : {"1", "4"}) {
    server_process echo(example_words("echo_server", {"--listen", "127.0.0.1:0"}));
    server_process proxy(example_words("proxy", on(procs, {"127.0.0.1:0", echo.address()})));
    REQUIRE_FALSE(proxy.address().empty());
    support::with_runtime([&] {
      const std::string text = pattern(2'000'000);
      CHECK(talk(proxy.address(), text) == text);
    });
  }
}

TEST_CASE("through the proxy a server may end first, and still hears the rest") {
  auto listener = thrum::net::listener::listen("127.0.0.1:0");
  server_process proxy(
      example_words("proxy", {"127.0.0.1:0", listener.local().to_string(), "--procs", "2"}));
  REQUIRE_FALSE(proxy.address().empty());
  support::with_runtime([&] {
    thrum::net::conn client = dial(proxy.address());
    thrum::net::conn server = listener.accept();
    server.set_deadline(std::chrono::steady_clock::now() + support::long_time);
    server.write("that is all");
    server.close_write();
    CHECK(read_all(client) == "that is all");
    client.write("there is more");
    client.close_write();
    CHECK(read_all(server) == "there is more");

    client = dial(proxy.address());
    server = listener.accept();
    server.set_deadline(std::chrono::steady_clock::now() + support::long_time);
    server.linger(0);
    server.close();  // a reset ends both directions
    CHECK(read_all(client).empty());

    listener.close();
    std::error_code error;  // the proxy may reset the connection before dial returns
    client = thrum::net::dial(std::string_view(proxy.address()), 0s, error);
    CHECK(read_all(client).empty());
  });
  CHECK(proxy.is_alive());
}

}}  // namespace examples

#endif
