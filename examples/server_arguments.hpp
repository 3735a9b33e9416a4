// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the servers here take and say: words of their own, then [--listen ADDR] [--procs N]
// [--idle SECONDS]; and "listening on ADDR" once clients may connect. How they listen, accept and stop
// stands in each of them.
#ifndef THRUM_EXAMPLES_SERVER_ARGUMENTS_HPP
#define THRUM_EXAMPLES_SERVER_ARGUMENTS_HPP

#include <thrum.hpp>

#include "process_limits.hpp"

#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

struct server_arguments {
  std::string program;
  std::vector<std::string> words;
  std::string listen;
  std::string debug;   // where a page about the server is served; empty: nowhere
  unsigned procs = 0;  // 0: as the environment says
  std::chrono::seconds idle{60};

  /// Reads the arguments. False: they make no sense, and a message says why.
  bool parse(int count, char** values, std::size_t wanted_words, const char* usage) {
    program = std::string_view(usage).substr(0, std::string_view(usage).find(' '));
    for (int i = 1; i < count; ++i) {
      const std::string_view word = values[i];
      if (!word.starts_with("--")) {
        words.emplace_back(word);
        continue;
      }
      const std::string_view value = i + 1 < count ? values[++i] : "";
      unsigned number = 0;
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
      const bool is_number = error == std::errc() && end == value.data() + value.size();
      if (word == "--listen" && !value.empty()) {
        listen = value;
      } else if (word == "--debug" && !value.empty() &&
                 std::string_view(usage).find(word) != std::string_view::npos) {
        debug = value;
      } else if (word == "--procs" && is_number && number != 0) {
        procs = number;
      } else if (word == "--idle" && is_number && number != 0) {
        idle = std::chrono::seconds(number);
      } else {
        std::fprintf(stderr, "%s: cannot use %.*s %.*s; usage: %s\n", program.c_str(),
                     static_cast<int>(word.size()), word.data(), static_cast<int>(value.size()),
                     value.data(), usage);
        return false;
      }
    }
    if (words.size() != wanted_words) {
      std::fprintf(stderr, "usage: %s\n", usage);
      return false;
    }
    return true;
  }

  thrum::options options() const {
    thrum::options result = thrum::options::from_environment();
    if (procs != 0) {
      result.procs = procs;
    }
    return result;
  }

  // What each server says; the number is its exit status.

  void say_listening(const thrum::net::endpoint& at) const {
    std::printf("listening on %s\n", at.to_string().c_str());
    std::fflush(stdout);
  }
  int cannot_listen(const std::error_code& error) const {
    std::fprintf(stderr, "%s: cannot listen on %s: %s; choose another with --listen ADDR\n",
                 program.c_str(), listen.c_str(), error.message().c_str());
    return 1;
  }
  int cannot_accept(const std::error_code& error) const {
    std::fprintf(stderr, "%s: cannot accept on %s: %s; start it again\n", program.c_str(),
                 listen.c_str(), error.message().c_str());
    return 1;
  }
};

#endif
