// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// examples/echo_server, and what all servers do with wrong arguments.

#include "support/test.hpp"

#ifdef THRUM_EXAMPLES_DIR

#include <thrum.hpp>

#include "support/with_runtime.hpp"

#include "clients.hpp"

#include <mutex>
#include <string>

namespace examples { namespace {

TEST_CASE("the echo server sends back what it gets, to many at the same time") {
  for (const char* const procs : {"1", "4"}) {
    server_process server(example_words("echo_server", on(procs, {"--listen", "127.0.0.1:0"})));
    REQUIRE_FALSE(server.address().empty());
    support::with_runtime([&] {
      const std::string text = pattern(300'000);
      int right = 0;
      thrum::mutex mutex;
      thrum::wait_group all;
      for (int i = 0; i != 20; ++i) {
        all.go([&] {
          const bool same = talk(server.address(), text) == text;
          const std::lock_guard lock(mutex);
          right += same ? 1 : 0;
        });
      }
      all.wait();
      CHECK(right == 20);
    });
    if (has("nc")) {
      CHECK(run_line("echo hello | nc -N 127.0.0.1 " + port_of(server)).text == "hello\n");
    }
  }
}

TEST_CASE("a server that cannot do what it is asked says why, and what to do") {
  server_process server(example_words("echo_server", {"--listen", "127.0.0.1:0"}));
  const auto taken = run_line(example_line("echo_server", "--listen " + server.address()));
  CHECK(taken.exit_code == 1);
  CHECK(taken.says("cannot listen on " + server.address()));
  CHECK(taken.says("--listen"));
  CHECK(run_line(example_line("echo_server", "--procs x")).exit_code == 2);
  CHECK(run_line(example_line("echo_server", "--nonsense 1")).says("usage:"));
  const auto missing = run_line(example_line("http_server", "/nonexistent"));
  CHECK(missing.exit_code == 1);
  CHECK(missing.says("cannot open /nonexistent"));
  const auto no_page =
      run_line(example_line("http_server", ". --listen 127.0.0.1:0 --debug " + server.address()));
  CHECK(no_page.exit_code == 1);
  CHECK(no_page.text.starts_with("http_server: cannot serve the page on " + server.address()));
}

}}  // namespace examples

#endif
