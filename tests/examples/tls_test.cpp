// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// examples/tls_client and tls_echo_server: TLS by OpenSSL as a stream.

#include "support/test.hpp"

#ifdef THRUM_EXAMPLES_DIR

#include <thrum.hpp>

#include "support/with_runtime.hpp"

#include "clients.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace examples { namespace {

class certificate {
 public:
  certificate() {
    made_ = run_line(
                "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes "
                "-subj /CN=localhost -addext subjectAltName=DNS:localhost -days 2 -keyout '" +
                key() + "' -out '" + text() + "'")
                .exit_code == 0;
  }
  bool is_made() const { return made_; }
  std::string key() const { return (folder_ / "key.pem").string(); }
  std::string text() const { return (folder_ / "certificate.pem").string(); }

 private:
  folder folder_;
  bool made_ = false;
};

TEST_CASE("the TLS client talks to OpenSSL's own server") {
  if (!is_built("tls_client") || !has("openssl")) {
    return;
  }
  const certificate paper;
  REQUIRE(paper.is_made());
  std::string place;
  std::optional<server_process> server;
  for (int i = 0; i != 10 && (!server || !server->text().ends_with("ACCEPT\n")); ++i) {
    place = free_place().to_string();
    server.emplace(std::vector<std::string>{"openssl", "s_server", "-rev", "-accept", place,
                                            "-cert", paper.text(), "-key", paper.key()},
                   "ACCEPT");
  }
  const auto client = [&](const std::string& words) {
    return run_line(example_line("tls_client", place + " --ca '" + paper.text() + "' " + words));
  };
  const auto good = client("--name localhost hello 'one two' x");
  CHECK(good.text == "olleh\nowt eno\nx\n");
  CHECK(good.exit_code == 0);
  const auto wrong_name = client("--name example.org hello");
  CHECK(wrong_name.says("certificate verify failed"));
  CHECK(wrong_name.exit_code == 1);
  const auto stranger = run_line(example_line("tls_client", place + " --name localhost hello"));
  CHECK(stranger.says("certificate verify failed"));
}

TEST_CASE("the TLS echo server talks to its own client, to OpenSSL's, and to one without TLS",
          "[once]") {
  if (!is_built("tls_echo_server") || !has("openssl")) {
    return;
  }
  const certificate paper;
  REQUIRE(paper.is_made());
  const auto words = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {paper.text(), paper.key(), "--listen", "127.0.0.1:0"});
    return example_words("tls_echo_server", on("2", std::move(more)));
  };
  const server_process server(words({}));
  const server_process impatient(words({"--idle", "1"}));
  for (const server_process* const each : {&server, &impatient}) {
    REQUIRE_FALSE(each->address().empty());
  }
  const std::string line(100'000, 'x');
  CHECK(run_line(example_line("tls_client", server.address() + " --ca '" + paper.text() +
                                                "' --name localhost " + line))
            .text == line + "\n");
  // OpenSSL's client stays until it is cut off, or ended.
  const server_process other(
      {"sh", "-c",
       "exec openssl s_client -quiet -verify_return_error -connect " + server.address() +
           " -CAfile '" + paper.text() + "' <<'end'\nhello\nend\n"},
      "hello");
  CHECK(other.text().ends_with("hello\n"));
  support::with_runtime([&] {
    // An alert or nothing comes back, and then the end.
    CHECK(talk(server.address(), "GET / HTTP/1.1\r\n\r\n").size() < 20);
    thrum::net::conn silent = dial(impatient.address());
    CHECK(read_all(silent).empty());
  });
  for (const server_process* const each : {&server, &impatient}) {
    CHECK(each->is_alive());
  }
}

}}  // namespace examples

#endif
