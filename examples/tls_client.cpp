// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// tls_client: sends lines over TLS and prints the line that comes back for each.
//
//   tls_client ADDRESS [--ca FILE] [--name HOST] LINE...
//
// The server's certificate must be for HOST (the host of ADDRESS) and signed by one of FILE (by one
// that the system trusts).
//
// Try it with: openssl s_server -rev -accept 4433 -cert CERT -key KEY

#include <thrum.hpp>
#include <thrum/net/tls.hpp>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

namespace {

constexpr std::size_t longest_line = std::size_t{1} << 20;

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

int fail(const char* what, const std::string& object, const std::error_code& why,
         const char* advice) {
  std::fprintf(stderr, "tls_client: cannot %s %s: %s; %s\n", what, object.c_str(),
               why.message().c_str(), advice);
  return 1;
}

int talk(const arguments& given) {
  std::error_code error;
  const auto context = thrum::net::tls_context::client({.trust = given.ca}, error);
  if (error) {
    return fail("read", given.ca, error, "name a PEM file with --ca");
  }
  thrum::net::conn below = thrum::net::dial(given.address, 10s, error);
  if (error) {
    return fail("connect to", given.address, error, "is a server listening there?");
  }
  auto stream = thrum::net::tls_conn::client(context, std::move(below), given.name, error);
  if (!error) {
    stream.set_deadline(std::chrono::steady_clock::now() + 60s);
    stream.handshake(error);
  }
  if (error) {
    return fail("agree with", given.address, error, "see --ca and --name for what is trusted");
  }
  thrum::io::buffered_reader answers(stream, longest_line);
  for (const std::string& line : given.lines) {
    stream.write(line + "\n", error);
    const auto answer = error ? std::nullopt : answers.read_line(error);
    if (!answer) {
      return fail("talk to", given.address, error, "it may have closed the connection");
    }
    std::puts(answer->c_str());
  }
  stream.close_write(error);
  return 0;
}

}  // namespace

int main(int count, char** values) {
  arguments given;
  if (!given.parse(count, values)) {
    return 2;
  }
  return thrum::run([&] { return talk(given); });
}
