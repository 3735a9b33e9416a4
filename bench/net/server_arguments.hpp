// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What every server of this folder takes and says: --port N (0, as without it: the system chooses),
// --procs N; of a server over TLS, --cert FILE and --key FILE; and "listening on PORT" once clients may connect.
#ifndef THRUM_BENCH_NET_SERVER_ARGUMENTS_HPP
#define THRUM_BENCH_NET_SERVER_ARGUMENTS_HPP

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace bench {

struct server_arguments {
  std::uint16_t port = 0;
  unsigned procs = 1;
  std::string certificate;
  std::string key;

  server_arguments(int argc, char** argv) {
    for (int i = 1; i + 1 < argc; i += 2) {
      const std::string_view name = argv[i];
      if (name == "--cert" || name == "--key") {
        (name == "--cert" ? certificate : key) = argv[i + 1];
        continue;
      }
      const unsigned long value = std::strtoul(argv[i + 1], nullptr, 10);
      if (name == "--port") {
        port = static_cast<std::uint16_t>(value);
      } else if (name == "--procs") {
        procs = static_cast<unsigned>(value);
      } else {
        refuse(argv[0]);
      }
    }
    if (argc % 2 == 0) {
      refuse(argv[0]);
    }
  }

 private:
  [[noreturn]] static void refuse(const char* program) {
    std::fprintf(stderr, "usage: %s [--port N] [--procs N]\n", program);
    std::exit(2);
  }
};

inline void say_listening(unsigned port) {
  std::printf("listening on %u\n", port);
  std::fflush(stdout);
}

}  // namespace bench

#endif
