// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// examples/http_server: the protocol, files, limits.

#include "support/test.hpp"

#ifdef THRUM_EXAMPLES_DIR

#include <thrum.hpp>

#include "support/with_runtime.hpp"

#include "clients.hpp"
#include "web_site.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>

namespace examples { namespace {

TEST_CASE("the HTTP server answers each request of a pipeline, byte by byte and in order") {
  for (const char* const procs : {"1", "4"}) {
    const web_site site(procs);
    support::with_runtime([&] {
      std::string requests;
      std::string expected;
      const auto add = [&](const std::string& request, const std::string& reply) {
        requests += request;
        expected += reply;
      };
      const std::string hello = answer("200 OK", plain, "Hello, World!");
      const std::string hello_head = hello.substr(0, hello.size() - 13);
      for (int i = 0; i != 200; ++i) {
        add(get("/hello"), hello);
        add(get("/note.txt?x=1"), answer("200 OK", plain, "a note\n"));
        add(get("/none"), refusal("404 Not Found"));
        add("HEAD /hello HTTP/1.1\r\nHost: a\r\n\r\n", hello_head);
        add("PUT / HTTP/1.1\r\nHost: a\r\n\r\n",
            refusal("405 Method Not Allowed", "Allow: GET, HEAD\r\n"));
        add("GET http://test/hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
            answer("200 OK", plain, "Hello, World!", "Connection: keep-alive\r\n"));
        if (i % 50 == 0) {
          add(get("/big.bin"), answer("200 OK", "application/octet-stream", site.big));
        }
      }
      add(get("/", to_close),
          answer("200 OK", "text/html; charset=utf-8", "<p>home</p>\n", to_close));
      requests += get("/hello");  // is not answered any more
      CHECK(talk(site.address(), requests) == expected);

      // The same in pieces that end anywhere.
      thrum::net::conn c = dial(site.address());
      const auto writer = thrum::spawn([&] {
        std::error_code error;
        for (std::size_t at = 0, n = 1; at < requests.size() && !error; at += n, n = n % 97 + 1) {
          c.write(std::string_view(requests).substr(at, n), error);
          thrum::this_goroutine::yield();
        }
      });
      CHECK(read_all(c) == expected);
    });
  }
}

TEST_CASE("the HTTP server serves files by name, with their types") {
  const web_site site;
  support::with_runtime([&] {
    const auto body_of = [&](const std::string& target) {
      const std::string all = talk(site.address(), get(target, to_close));
      const std::size_t end = all.find("\r\n\r\n");
      return all.substr(0, 15) != "HTTP/1.1 200 OK" ? "failed: " + all : all.substr(end + 4);
    };
    CHECK(body_of("/index.html") == "<p>home</p>\n");
    CHECK(body_of("/sub/") == "<p>below</p>\n");
    CHECK(body_of("/./a%20b%2Etxt") == "a blank\n");
    CHECK(body_of("/empty.txt").empty());
    CHECK(body_of("/big.bin") == site.big);
    CHECK(body_of("http://elsewhere/note.txt") == "a note\n");
    const std::string head =
        talk(site.address(), "HEAD /big.bin HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    CHECK(head.find("Content-Length: 700000\r\n") != std::string::npos);
    CHECK(head.ends_with("\r\n\r\n"));
  });
}

TEST_CASE("nothing outside of its directory is ever served") {
  const web_site site;
  support::with_runtime([&] {
    for (const char* const target :
         {"/../secret.txt", "/sub/../../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt",
          "/%2e%2e%2fsecret.txt", "/.%2e/secret.txt", "//secret.txt", "/./../secret.txt",
          "/outside", "/up/secret.txt", "/up/site/note.txt", "/absolute",
          "/sub/%2e%2e/../secret.txt", "//etc/passwd", "/../../../../../../../../etc/passwd",
          "/%2fetc/passwd", "/note.txt/../../secret.txt", "/sub", "http://a/../secret.txt"}) {
      INFO(target);
      CHECK(talk(site.address(), get(target, to_close)) == refusal("404 Not Found", to_close));
    }
    for (const char* const target : {"/%00", "/note.txt%00.html", "/%", "/%2", "/%zz", "/%+1",
                                     "secret.txt", "../secret.txt", "*", "?x"}) {
      INFO(target);
      CHECK(talk(site.address(), get(target, to_close)) == refusal("400 Bad Request", to_close));
    }
  });
}

TEST_CASE("the HTTP server tells what is wrong with a request, and hangs up") {
  const web_site site;
  support::with_runtime([&] {
    const auto check = [&](const std::string& request, const std::string& line,
                           const std::string& fields = "") {
      INFO(request.substr(0, 100));
      CHECK(talk(site.address(), request + get("/hello")) == refusal(line, fields + to_close));
    };
    check("nonsense\r\n", "400 Bad Request");
    check("GET / HTTP/1.1\r\n\r\n", "400 Bad Request");
    check("GET / HTTP/1.1\nHost: a\n\n", "400 Bad Request");
    check("GET / HTTP/3.0\r\n\r\n", "505 HTTP Version Not Supported");
    check(get("/", "Content-Length: 5\r\n"), "413 Content Too Large");
    check(get("/", "Transfer-Encoding: chunked\r\n"), "413 Content Too Large");
    check("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello", "405 Method Not Allowed",
          "Allow: GET, HEAD\r\n");
    check(get("/", "x: " + std::string(9000, 'y') + "\r\n"), "431 Request Header Fields Too Large");
    check("GET /" + std::string(100'000, 'y') + " HTTP/1.1\r\n",
          "431 Request Header Fields Too Large");
  });
}

namespace {

/// What clients hear whose server waits for a second.
struct cut_off {
  std::string silent;  ///< one that has sent nothing
  std::string slow;    ///< one that has sent a part of a request
  std::string used;    ///< one that has sent a request
  std::chrono::nanoseconds time;
};

cut_off cut_off_after_a_second() {
  const web_site site("2", "1");
  cut_off heard;
  support::with_runtime([&] {
    const auto dial_and_write = [&](const std::string& text) {
      thrum::net::conn c = dial(site.address());
      std::error_code error;  // it may be cut off already
      c.write(text, error);
      return c;
    };
    const auto begin = std::chrono::steady_clock::now();
    thrum::net::conn silent = dial(site.address());
    thrum::net::conn slow = dial_and_write("GET / HTTP/1.1\r\nHost:");
    thrum::net::conn used = dial_and_write(get("/hello"));
    heard.silent = read_all(silent);
    heard.slow = read_all(slow);
    heard.used = read_all(used);
    heard.time = std::chrono::steady_clock::now() - begin;
  });
  return heard;
}

}  // namespace

TEST_CASE(
    "a client that does not finish a request, or sends none, is cut off after the idle time") {
  const cut_off heard = cut_off_after_a_second();
  CHECK(heard.silent.empty());
  // A server that has had no CPU for a second has cut them off before it read.
  CHECK((heard.slow.empty() || heard.slow == refusal("408 Request Timeout", to_close)));
  CHECK((heard.used.empty() || heard.used == answer("200 OK", plain, "Hello, World!")));
  CHECK(heard.time >= 900ms);
}

TEST_CASE("a client that does not finish a request in time gets an error, and others are answered",
          "[.soak]") {
  const cut_off heard = cut_off_after_a_second();
  CHECK(heard.slow == refusal("408 Request Timeout", to_close));
  CHECK(heard.used == answer("200 OK", plain, "Hello, World!"));
}

TEST_CASE("clients that vanish do not end the HTTP server") {
  const web_site site;
  support::with_runtime([&] {
    std::string much;
    for (int i = 0; i != 20; ++i) {
      much += get("/big.bin");
    }
    for (int i = 0; i != 20; ++i) {
      thrum::net::conn c = dial(site.address());
      c.write(much);
      char first[1];
      c.read(first);
      if (i % 2 == 0) {
        c.close_write();
      }
      c.linger(0);  // a reset
    }
    CHECK(talk(site.address(), get("/hello", to_close)).ends_with("Hello, World!"));
  });
  CHECK(site.server().is_alive());
}

}}  // namespace examples

#endif
