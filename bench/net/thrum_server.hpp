// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The servers in thrum: one goroutine for each connection.
#ifndef BENCH_NET_THRUM_SERVER_HPP
#define BENCH_NET_THRUM_SERVER_HPP

#include "server_arguments.hpp"

#include <thrum.hpp>
#include <thrum/io_uring.hpp>

#include <string>
#include <string_view>

namespace bench {

/// Accepts until the program is killed, and runs serve(conn) for each.
template <class Serve>
int serve_connections(const server_arguments& arguments, Serve serve) {
  thrum::options options;
  options.procs = arguments.procs;
  return thrum::run(options, [&] {
    const std::string address = "127.0.0.1:" + std::to_string(arguments.port);
    auto listener = thrum::net::listener::listen(std::string_view(address));
    say_listening(listener.local().port());
    for (;;) {
      thrum::go(serve, listener.accept());
    }
  });
}

inline int serve_connections(int argc, char** argv, void (*serve)(thrum::net::conn)) {
  return serve_connections(server_arguments(argc, argv), serve);
}

}  // namespace bench

#endif
