// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// epoll_echo [--port N] [--procs N]   sends back whatever arrives, from one thread whatever --procs

#include <csignal>

#include "epoll_loop.hpp"

namespace {

struct echo {
  static std::string_view answer(std::string_view piece, std::string&) { return piece; }
};

}  // namespace

int main(int argc, char** argv) {
  const bench::server_arguments arguments(argc, argv);
  std::signal(SIGPIPE, SIG_IGN);
  bench::epoll_loop<echo>{}.serve(arguments.port);
}
