// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// epoll_http [--port N] [--procs N]   answers every request alike, from one thread whatever --procs

#include <csignal>

#include "epoll_loop.hpp"
#include "request_counter.hpp"

namespace {

class hello {
 public:
  std::string_view answer(std::string_view piece, std::string& room) {
    return bench::http_answers(requests_.count(piece), room);
  }

 private:
  bench::request_counter requests_;
};

}  // namespace

int main(int argc, char** argv) {
  const bench::server_arguments arguments(argc, argv);
  std::signal(SIGPIPE, SIG_IGN);
  bench::epoll_loop<hello>{}.serve(arguments.port);
}
