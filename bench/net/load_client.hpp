// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the clients of the servers have together: connections, latencies, and the end when anything goes
// wrong. None of them uses thrum.
#ifndef BENCH_NET_LOAD_CLIENT_HPP
#define BENCH_NET_LOAD_CLIENT_HPP

#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace bench {

[[noreturn]] inline void fail(const char* what) {
  std::fprintf(stderr, "load: %s\n", what);
  std::exit(1);
}

inline int checked(int result, const char* call) {
  if (result < 0) {
    std::fprintf(stderr, "load: %s: %s\n", call, std::strerror(errno));
    std::exit(1);
  }
  return result;
}

/// Counts latencies in classes that are at most 1/64 of their value wide.
class histogram {
 public:
  void add(std::uint64_t ns) { ++counts_[index(ns)]; }

  /// The upper end of the class that holds this share of all, in microseconds.
  double quantile(double share) const {
    std::uint64_t total = 0;
    for (const std::uint64_t count : counts_) {
      total += count;
    }
    const auto wanted = static_cast<std::uint64_t>(share * static_cast<double>(total));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i != counts_.size(); ++i) {
      seen += counts_[i];
      if (seen > wanted) {
        return static_cast<double>(upper_end(i)) / 1000;
      }
    }
    return 0;
  }

 private:
  static constexpr unsigned bits = 6;
  static constexpr std::uint64_t steps = std::uint64_t{1} << bits;

  static std::size_t index(std::uint64_t ns) {
    if (ns < steps) {
      return static_cast<std::size_t>(ns);
    }
    const auto shift = static_cast<unsigned>(std::bit_width(ns)) - bits - 1;
    return static_cast<std::size_t>((shift + 1) * steps + (ns >> shift) - steps);
  }
  static std::uint64_t upper_end(std::size_t i) {
    if (i < steps) {
      return i;
    }
    const std::uint64_t shift = i / steps - 1;
    return ((steps + i % steps + 1) << shift) - 1;
  }

  std::array<std::uint64_t, (64 - bits + 1) * steps> counts_{};
};

/// A connection to this machine.
inline int connect_to(std::uint16_t port) {
  const int fd = checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  checked(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), "connect");
  const int on = 1;
  checked(::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), "setsockopt");
  return fd;
}

}  // namespace bench

#endif
