// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// examples/http_server: the protocol, files, limits, memory, and real clients.

#include "support/catch.hpp"

#ifdef THRUM_EXAMPLES_DIR

#include <thrum.hpp>

#include "support/process.hpp"
#include "support/with_runtime.hpp"

#include "clients.hpp"

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <sys/resource.h>
#include <sys/stat.h>

namespace examples { namespace {

std::string get(const std::string& target, const std::string& fields = "") {
  return "GET " + target + " HTTP/1.1\r\nHost: test\r\n" + fields + "\r\n";
}

const std::string to_close = "Connection: close\r\n";

std::string answer(const std::string& line, const std::string& type, const std::string& body,
                   const std::string& fields = "") {
  return "HTTP/1.1 " + line + "\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\nContent-Type: " + type + "\r\n" + fields + "\r\n" + body;
}

std::string refusal(const std::string& line, const std::string& fields = "") {
  return answer(line, "text/plain; charset=utf-8", line.substr(4) + "\n", fields);
}

const std::string plain = "text/plain; charset=utf-8";

/// A site with everything that may go wrong, and its server.
class web_site {
 public:
  explicit web_site(const std::string& procs = "2", const std::string& idle = "100") {
    files_.write("secret.txt", "not for you\n");
    files_.write("site/index.html", "<p>home</p>\n");
    files_.write("site/note.txt", "a note\n");
    files_.write("site/a b.txt", "a blank\n");
    files_.write("site/empty.txt", "");
    files_.write("site/sub/index.html", "<p>below</p>\n");
    files_.write("site/big.bin", big);
    std::error_code error;
    fs::create_symlink("note.txt", files_ / "site/inside", error);
    fs::create_symlink("../secret.txt", files_ / "site/outside", error);
    fs::create_directory_symlink("..", files_ / "site/up", error);
    fs::create_symlink(files_ / "site/note.txt", files_ / "site/absolute", error);
    ::mkfifo((files_ / "site/pipe").c_str(), 0600);
    server_.emplace(example_words("http_server", on(procs, {(files_ / "site").string(), "--listen",
                                                            "127.0.0.1:0", "--idle", idle})));
    REQUIRE_FALSE(server_->address().empty());
  }

  const std::string& address() const { return server_->address(); }
  const server_process& server() const { return *server_; }
  std::string url(const std::string& target) const { return "http://" + address() + target; }
  fs::path file(const std::string& name) const { return files_ / ("site/" + name); }

  const std::string big = pattern(700'000);

 private:
  folder files_;
  std::optional<server_process> server_;
};

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
    for (const char* const target : {"/../secret.txt",
                                     "/sub/../../secret.txt",
                                     "/%2e%2e/secret.txt",
                                     "/..%2fsecret.txt",
                                     "/%2e%2e%2fsecret.txt",
                                     "/.%2e/secret.txt",
                                     "//secret.txt",
                                     "/./../secret.txt",
                                     "/outside",
                                     "/up/secret.txt",
                                     "/up/site/note.txt",
                                     "/absolute",
                                     "/sub/%2e%2e/../secret.txt",
                                     "//etc/passwd",
                                     "/../../../../../../../../etc/passwd",
                                     "/%2fetc/passwd",
                                     "/note.txt/../../secret.txt",
                                     "/pipe",
                                     "/sub",
                                     "http://a/../secret.txt"}) {
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

TEST_CASE(
    "a client that does not finish a request, or sends none, is cut off after the idle time") {
  const web_site site("2", "1");
  support::with_runtime([&] {
    const auto begin = std::chrono::steady_clock::now();
    thrum::net::conn silent = dial(site.address());
    thrum::net::conn slow = dial(site.address());
    thrum::net::conn used = dial(site.address());
    slow.write("GET / HTTP/1.1\r\nHost:");
    used.write(get("/hello"));
    CHECK(read_all(silent).empty());
    CHECK(read_all(slow) == refusal("408 Request Timeout", to_close));
    CHECK(read_all(used) == answer("200 OK", plain, "Hello, World!"));
    CHECK(std::chrono::steady_clock::now() - begin >= 900ms);
  });
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

TEST_CASE("an idle connection costs the HTTP server less than 6 KiB") {
  constexpr std::size_t connections = 2000;
  ::rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  if (!support::memory_is_exact() || !support::optimised ||
      static_cast<std::size_t>(limit.rlim_max) < connections + 200) {
    WARN("memory means nothing here, or too few descriptors are allowed: left out");
    return;
  }
  const ::rlimit before = limit;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  const web_site site;
  support::with_runtime([&] {
    const auto use = [&](thrum::net::conn& c) {
      const std::string expected = answer("200 OK", plain, "a note\n");
      std::string text(expected.size(), '\0');
      c.write(get("/note.txt"));
      c.read_full(text);
      return text == expected;
    };
    thrum::net::conn first = dial(site.address());
    CHECK(use(first));
    const std::size_t alone = support::resident_bytes_of(site.server().id());
    std::vector<thrum::net::conn> idle;
    std::size_t answered = 0;
    for (std::size_t i = 0; i != connections; ++i) {
      idle.push_back(dial(site.address()));
      answered += use(idle.back()) ? 1 : 0;
    }
    CHECK(answered == connections);
    const std::size_t together = support::resident_bytes_of(site.server().id());
    CHECK(alone != 0);
    CHECK((together - alone) / connections < 6 * 1024);
  });
  ::setrlimit(RLIMIT_NOFILE, &before);
}

TEST_CASE("curl and wrk are content with the HTTP server", "[once]") {
  const web_site site;
  if (has("curl")) {
    const auto curl = [](const std::string& words) { return run_line("curl -sS " + words); };
    CHECK(curl(site.url("/note.txt")).text == "a note\n");
    CHECK(curl("-I " + site.url("/")).says("Content-Type: text/html"));
    CHECK(curl("--path-as-is -o /dev/null -w '%{http_code}' " + site.url("/../secret.txt")).text ==
          "404");
    CHECK(curl("-d x=y -o /dev/null -w '%{http_code}' " + site.url("/")).text == "405");
    CHECK(
        curl(site.url("/big.bin") + " | cmp - '" + site.file("big.bin").string() + "'").exit_code ==
        0);
    CHECK(curl("-w '%{num_connects} ' " + site.url("/hello") + " " + site.url("/hello")).text ==
          "Hello, World!1 Hello, World!0 ");
  }
  if (has("wrk")) {
    for (const char* const target : {"/hello", "/note.txt"}) {
      const auto result = run_line("wrk -t 1 -c 20 -d 1s " + site.url(target));
      INFO(result.text);
      CHECK(result.exit_code == 0);
      CHECK(result.says("requests in"));
      CHECK_FALSE(result.says("\n  0 requests in"));
      CHECK_FALSE(result.says("Non-2xx"));
    }
  }
}

}}  // namespace examples

#endif
