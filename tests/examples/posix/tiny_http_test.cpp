// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// examples/tiny_http.

#include "support/test.hpp"

#ifdef THRUM_EXAMPLES_DIR

#include <thrum.hpp>

#include "support/with_runtime.hpp"

#include "../clients.hpp"

#include <string>

namespace examples { namespace {

TEST_CASE("the tiny HTTP server answers each request of a connection, and ends at a signal") {
  server_process server(example_words("tiny_http", {"127.0.0.1:0"}));
  REQUIRE_FALSE(server.address().empty());
  support::with_runtime([&] {
    thrum::net::conn c = dial(server.address());
    c.write("GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\n\r\nPUT /c HTTP/1.1\r\n\r\n");
    c.close_write();
    const std::string head = "\r\nContent-Type: text/plain\r\nContent-Length: ";
    CHECK(c.read_all() == "HTTP/1.1 200 OK" + head + "17\r\n\r\nyou asked for /a\n" +
                              "HTTP/1.1 200 OK" + head + "17\r\n\r\nyou asked for /b\n" +
                              "HTTP/1.1 405 Method Not Allowed" + head + "2\r\n\r\n?\n");
  });
  server.terminate();
  CHECK(server.wait() == 0);
}

}}  // namespace examples

#endif
