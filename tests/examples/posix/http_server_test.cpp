// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// examples/http_server: fifos, memory, and the programs that people use.

#include "support/test.hpp"

#ifdef THRUM_EXAMPLES_DIR

#include <thrum.hpp>

#include "support/process.hpp"
#include "support/with_runtime.hpp"

#include "../clients.hpp"
#include "../web_site.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <sys/stat.h>

namespace examples { namespace {

TEST_CASE("a fifo in the HTTP server's directory is not served, and delays no request") {
  const web_site site;
  REQUIRE(::mkfifo(site.file("pipe").c_str(), 0600) == 0);
  support::with_runtime([&] {
    CHECK(talk(site.address(), get("/pipe", to_close)) == refusal("404 Not Found", to_close));
  });
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

/// What clients have had answered.
struct hello_answers {
  std::atomic<int> all{0};
  std::atomic<int> first{0};  // of one client each
};

/// Asks for /hello again and again on one connection, until the server says that an answer is the
/// last one, or closes it.
struct hello_client {
  int answered = 0;
  int lost = 0;  // asked in time, and not answered
  int late = 0;  // not asked in time, and not answered
  bool was_told = false;

  void run(thrum::net::conn c, hello_answers& answers) {
    // The server waits for a second for a request that is on its way. It was not told to end when it
    // gave the last answer, thus not when the request for that was sent, by our clock.
    constexpr auto in_time = 400ms;
    auto since = std::chrono::steady_clock::now();
    while (!was_told) {
      std::error_code error;
      const auto sent = std::chrono::steady_clock::now();
      c.write(get("/hello"), error);
      const bool was_in_time = std::chrono::steady_clock::now() - since < in_time;
      std::string text;
      while (!text.ends_with("Hello, World!")) {
        char piece[256];
        const std::size_t n = c.read(std::span<char>(piece), error);
        if (n == 0) {
          ++(was_in_time ? lost : late);
          return;
        }
        text.append(piece, n);
      }
      since = sent;
      answers.first += answered == 0 ? 1 : 0;
      ++answered;
      ++answers.all;
      was_told = text.find(to_close) != std::string::npos;
    }
  }
};

namespace {

/// Tells the server to end under load. How many requests were lost that were asked in time: of a machine
/// that keeps a server from its CPU for a second there may be some.
int requests_lost_at_the_end(const char* procs) {
  int lost = 0;
  web_site site(procs);
  support::with_runtime([&] {
    std::vector<hello_client> clients(30);
    hello_answers answers;
    const thrum::net::conn idle = dial(site.address());
    thrum::wait_group all;
    for (hello_client& each : clients) {
      all.go([&, c = dial(site.address())]() mutable { each.run(std::move(c), answers); });
    }
    CHECK(support::eventually([&] { return answers.first == 30 && answers.all > 500; }));
    site.server().terminate();
    all.wait();
    CHECK(thrum::blocking([&] { return site.server().wait(); }) == 0);
    int answered = 0;
    int late = 0;
    int told = 0;
    for (const hello_client& each : clients) {
      answered += each.answered;
      lost += each.lost;
      late += each.late;
      told += each.was_told ? 1 : 0;
    }
    CHECK(answered == answers.all);
    CHECK((told > 0 || late + lost == 30));  // nobody has asked in time: there was nobody to tell
  });
  return lost;
}

bool hears_that_it_is_to_end() {
  if (THRUM_TSAN) {
    WARN("skipped: ThreadSanitizer keeps a signal from a process whose threads all sleep");
  }
  return !THRUM_TSAN;
}

}  // namespace

TEST_CASE("the HTTP server, stopped under load, says so to its clients and ends") {
  if (hears_that_it_is_to_end()) {
    requests_lost_at_the_end("1");
    requests_lost_at_the_end("4");
  }
}

TEST_CASE("the HTTP server, stopped under load, loses no request", "[.soak]") {
  if (hears_that_it_is_to_end()) {
    CHECK(requests_lost_at_the_end("1") == 0);
    CHECK(requests_lost_at_the_end("4") == 0);
  }
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
      const auto ask_for = [&](const std::string& time) {
        return run_line("wrk -t 1 -c 20 -d " + time + " " + site.url(target));
      };
      auto result = ask_for("1s");
      // A machine that does other things needs longer.
      for (const char* const time : {"4s", "16s", "64s"}) {
        if (result.says("\n  0 requests in")) {
          result = ask_for(time);
        }
      }
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
