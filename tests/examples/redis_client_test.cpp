// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// examples/redis_client, with a real server.

#include "support/test.hpp"

#ifdef THRUM_EXAMPLES_DIR

#include <thrum.hpp>

#include "clients.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace examples { namespace {

TEST_CASE("the Redis client waits in goroutines, not in threads") {
  if (!is_built("redis_client") || !has("redis-server")) {
    return;
  }
  std::string host;
  std::string port;
  std::optional<server_process> server;
  for (int i = 0; i != 10 && (!server || server->text().find("Ready") == std::string::npos); ++i) {
    const thrum::net::endpoint place = free_place();
    host = place.address();
    port = std::to_string(place.port());
    server.emplace(std::vector<std::string>{"redis-server", "--port", port, "--bind", host,
                                            "--save", "", "--appendonly", "no"},
                   "Ready to accept connections");
  }
  const auto client = [&](const std::string& words) {
    return run_line("THRUM_MAXPROCS=1 " +
                    example_line("redis_client", host + " " + port + " " + words));
  };
  CHECK(client("SET name 'a value'").text == "OK\n");
  CHECK(client("GET name").text == "a value\n");
  CHECK(client("GET nothing").text == "\n");
  CHECK(client("MGET name nothing name").text == "a value\n\na value\n");
  CHECK(client("--clients 50 INCR count").exit_code == 0);
  CHECK(client("GET count").text == "50\n");
  const auto refused = client("NONSENSE");
  CHECK(refused.says("unknown command"));
  CHECK(refused.exit_code == 1);

  // Fifty wait for a value, on one processor; the one that brings the values comes later.
  std::string values;
  for (int i = 0; i != 50; ++i) {
    values += " v";
  }
  const std::string redis = example_line("redis_client", host + " " + port);
  const auto waiting = run_line(
      "(while [ $(" + redis + " CLIENT LIST | grep -c cmd=blpop) -lt 50 ]; do sleep 0.01; done; " +
      redis + " RPUSH list" + values + " >/dev/null) & THRUM_MAXPROCS=1 " + redis +
      " --clients 50 BLPOP list 0; wait");
  INFO(waiting.text);
  std::size_t got = 0;
  for (std::size_t at = 0; (at = waiting.text.find("list\nv\n", at)) != std::string::npos; ++at) {
    ++got;
  }
  CHECK(got == 50);
  server.reset();
  CHECK(client("GET name").says("Connection refused"));
}

}}  // namespace examples

#endif
