// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// tls_echo_server: sends back whatever arrives over TLS.
//
//   tls_echo_server CERT KEY [--listen ADDR] [--procs N] [--idle SECONDS]
//
// CERT and KEY are PEM files. A client that is silent for so many seconds (60) is disconnected.
//
// Try it with: openssl s_client -quiet -connect 127.0.0.1:7009 -CAfile CERT

#include <thrum.hpp>

#include "server_arguments.hpp"
#include "tls_stream.hpp"

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string_view>
#include <utility>

namespace {

void echo(tls_stream stream) {
  if (!stream.accept()) {
    std::fprintf(stderr, "tls_echo_server: cannot agree with a client: %s; does it trust us?\n",
                 stream.problem().c_str());
    return;
  }
  std::array<char, 2048> buffer;
  std::size_t n = 0;
  while ((n = stream.read(std::span<char>(buffer))) != 0) {
    if (!stream.write(std::string_view(buffer.data(), n))) {
      return;
    }
  }
  if (stream.problem().empty()) {
    stream.close_write();
  }
}

}  // namespace

int main(int count, char** values) {
  server_arguments given;
  given.listen = "127.0.0.1:7009";
  if (!given.parse(count, values, 2,
                   "tls_echo_server CERT KEY [--listen ADDR] [--procs N] [--idle SECONDS]")) {
    return 2;
  }
  std::signal(SIGPIPE, SIG_IGN);
  const tls_context context(SSL_CTX_new(TLS_server_method()));
  if (context == nullptr ||
      SSL_CTX_use_certificate_chain_file(context.get(), given.words[0].c_str()) != 1 ||
      SSL_CTX_use_PrivateKey_file(context.get(), given.words[1].c_str(), SSL_FILETYPE_PEM) != 1) {
    std::fprintf(stderr, "tls_echo_server: cannot use %s with %s: %s; name two PEM files\n",
                 given.words[0].c_str(), given.words[1].c_str(), tls_problem("no memory").c_str());
    return 1;
  }
  return thrum::run(given.options(), [&] {
    return given.run_server(
        [&](thrum::net::conn c) { echo(tls_stream(*context, std::move(c), given.idle)); });
  });
}
