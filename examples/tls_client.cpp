// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// tls_client: sends lines over TLS and prints the line that comes back for each.
//
//   tls_client ADDRESS [--ca FILE] [--name HOST] LINE...
//
// The server's certificate must be for HOST (the host of ADDRESS) and signed by one of FILE (by one
// that the system trusts). See tls_stream.hpp for how OpenSSL and goroutines go together.
//
// Try it with: openssl s_server -rev -accept 4433 -cert CERT -key KEY

#include <thrum.hpp>

#include "tls_stream.hpp"

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

namespace {

struct arguments {
  std::string address;
  std::string ca;
  std::string name;
  std::vector<std::string> lines;

  bool parse(int count, char** values) {
    for (int i = 1; i < count; ++i) {
      const std::string_view word = values[i];
      if ((word == "--ca" || word == "--name") && i + 1 < count) {
        (word == "--ca" ? ca : name) = values[++i];
      } else if (address.empty()) {
        address = word;
      } else {
        lines.emplace_back(word);
      }
    }
    std::error_code error;
    if (const auto parts = thrum::net::split_host_port(address, error); name.empty() && !error) {
      name = parts.host;
    }
    if (lines.empty() || name.empty()) {
      std::fprintf(stderr, "usage: tls_client HOST:PORT [--ca FILE] [--name HOST] LINE...\n");
    }
    return !lines.empty() && !name.empty();
  }
};

int fail(const char* what, const std::string& object, const std::string& why) {
  std::fprintf(stderr, "tls_client: cannot %s %s: %s\n", what, object.c_str(), why.c_str());
  return 1;
}

/// Reads one line, without its end. False: the stream has ended, or failed.
bool read_line(tls_stream& from, std::string& rest, std::string& line) {
  std::size_t end = 0;
  while ((end = rest.find('\n')) == std::string::npos) {
    std::array<char, 1024> buffer;
    const std::size_t n = from.read(std::span<char>(buffer));
    if (n == 0) {
      return false;
    }
    rest.append(buffer.data(), n);
  }
  line = rest.substr(0, end);
  rest.erase(0, end + 1);
  return true;
}

int talk(const arguments& given) {
  const tls_context context(SSL_CTX_new(TLS_client_method()));
  if (context == nullptr) {
    return fail("start", "OpenSSL", tls_problem("no memory"));
  }
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  const int trusted = given.ca.empty()
                          ? SSL_CTX_set_default_verify_paths(context.get())
                          : SSL_CTX_load_verify_locations(context.get(), given.ca.c_str(), nullptr);
  if (trusted != 1) {
    return fail("read", given.ca, tls_problem("no certificates") + "; name a PEM file with --ca");
  }
  std::error_code error;
  thrum::net::conn c = thrum::net::dial(std::string_view(given.address), 10s, error);
  if (error) {
    return fail("connect to", given.address, error.message() + "; is a server listening there?");
  }
  tls_stream stream(*context, std::move(c), 10s);
  if (!stream.connect(given.name)) {
    return fail("agree with", given.address,
                stream.problem() + "; see --ca and --name for what is trusted");
  }
  std::string rest;
  for (const std::string& line : given.lines) {
    std::string answer;
    if (!stream.write(line + "\n") || !read_line(stream, rest, answer)) {
      return fail("talk to", given.address,
                  stream.problem().empty() ? "it has closed the connection" : stream.problem());
    }
    std::puts(answer.c_str());
  }
  stream.close_write();
  return 0;
}

}  // namespace

int main(int count, char** values) {
  arguments given;
  if (!given.parse(count, values)) {
    return 2;
  }
  std::signal(SIGPIPE, SIG_IGN);
  return thrum::run([&] { return talk(given); });
}
