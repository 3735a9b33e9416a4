// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the servers here take and say: words of their own, then [--listen ADDR] [--procs N]
// [--idle SECONDS]; and "listening on ADDR" once clients may connect. And how one ends in order when
// it is told to, by SIGTERM or SIGINT.
#ifndef THRUM_EXAMPLES_SERVER_ARGUMENTS_HPP
#define THRUM_EXAMPLES_SERVER_ARGUMENTS_HPP

#include <thrum.hpp>

#include "process_limits.hpp"

#include <charconv>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

struct server_arguments {
  std::string program;
  std::vector<std::string> words;
  std::string listen;
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

  /// Listens where --listen says and starts serve(connection) as a goroutine for each connection.
  /// Returns the exit status of a server that cannot go on.
  template <class Serve>
  int run_server(Serve serve) const {
    std::error_code error;
    thrum::net::listener listener = start_listening(error);
    while (!error) {
      thrum::net::conn connection = listener.accept(error);
      if (error) {
        say_cannot_accept(error);
        return 1;
      }
      thrum::go(serve, std::move(connection));
    }
    return 1;
  }

  /// As run_server, but serve(connection, session) is the handler of a net::server. SIGTERM and
  /// SIGINT stop it: requests at work are answered, for so long as `patience` at most. Returns the
  /// exit status.
  template <class Serve>
  int run_until_told(Serve serve, std::chrono::seconds patience) const {
    std::error_code error;
    // If they cannot be heard, they end the program as they always do.
    thrum::io::signal_set signals({SIGTERM, SIGINT}, error);
    thrum::net::listener listener = start_listening(error);
    if (error) {
      return 1;
    }
    thrum::net::server server(std::move(listener), {.idle_grace = std::chrono::seconds(1)});
    const auto stops = thrum::spawn([&server, patience, told = signals.chan()] {
      if (told && told.recv()) {
        server.stop_for(patience);
      }
    });
    server.serve(std::move(serve), error);
    if (error) {
      say_cannot_accept(error);
    }
    signals.stop();  // `stops` ends, if it waits for one
    return error ? 1 : 0;
  }

 private:
  /// Listens where --listen says; says so, or why not.
  thrum::net::listener start_listening(std::error_code& error) const {
    allow_all_descriptors();
    thrum::net::listener listener = thrum::net::listener::listen(listen, {}, error);
    if (error) {
      std::fprintf(stderr, "%s: cannot listen on %s: %s; choose another with --listen ADDR\n",
                   program.c_str(), listen.c_str(), error.message().c_str());
    } else {
      std::printf("listening on %s\n", listener.local().to_string().c_str());
      std::fflush(stdout);
    }
    return listener;
  }

  void say_cannot_accept(const std::error_code& error) const {
    std::fprintf(stderr, "%s: cannot accept on %s: %s; start it again\n", program.c_str(),
                 listen.c_str(), error.message().c_str());
  }
};

#endif
