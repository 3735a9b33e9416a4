// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// echo_load --port N [--connections N] [--seconds S] [--warmup S] [--size BYTES]
//
// A client of echo servers, in one thread: each connection sends a message, waits until it is back,
// checks every byte, and sends the next. No message is like another. Prints "measuring" when the
// warm-up is over, then one line:
//
//   requests 1404391 seconds 5.000 rate 280878 p50_us 224.3 p99_us 301.1
//
// Ends with status 1 if a connection is lost or a byte is wrong. Does not use thrum. tls_load is the
// same over TLS.

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#if BENCH_OVER_TLS
#include "tls_wire.hpp"
#else
#include "plain_wire.hpp"
#endif

namespace {

using clock_type = std::chrono::steady_clock;

struct arguments {
  std::uint16_t port = 0;
  std::size_t connections = 64;
  std::size_t size = 64;
  double seconds = 5;
  double warmup = 1;
};

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "echo_load: %s\n", what);
  std::exit(1);
}

int checked(int result, const char* call) {
  if (result < 0) {
    std::fprintf(stderr, "echo_load: %s: %s\n", call, std::strerror(errno));
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

struct connection {
  wire way;
  std::uint64_t number = 0;
  std::uint64_t sent = 0;
  std::size_t received = 0;
  clock_type::time_point since;
};

int connect_to(std::uint16_t port) {
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

class load {
 public:
  explicit load(const arguments& a)
      : arguments_(a), connections_(a.connections), message_(a.size), answer_(a.size) {}

  int run() {
    epoll_ = checked(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
    std::uint64_t number = 0;
    for (connection& c : connections_) {
      const int fd = connect_to(arguments_.port);
      c.way.begin(fd);
      c.number = number++;
      epoll_event interest{};
      interest.events = EPOLLIN | EPOLLET;
      interest.data.ptr = &c;
      checked(::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &interest), "epoll_ctl");
    }
    for (connection& c : connections_) {
      send_next(c, clock_type::now());
    }
    pump(arguments_.warmup);
    std::puts("measuring");
    std::fflush(stdout);
    latencies_ = {};
    requests_ = 0;
    const double seconds = pump(arguments_.seconds);
    std::printf("requests %llu seconds %.3f rate %.0f p50_us %.1f p99_us %.1f\n",
                static_cast<unsigned long long>(requests_), seconds,
                static_cast<double>(requests_) / seconds, latencies_.quantile(0.5),
                latencies_.quantile(0.99));
    std::fflush(stdout);
    // The reader of that line may look at the server before the connections end.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return 0;
  }

 private:
  /// Message k of connection n is words that hold both and the place in the message.
  void compose(const connection& c) {
    const std::uint64_t seed = (c.number << 40) ^ c.sent;
    for (std::size_t at = 0; at < message_.size(); at += sizeof(std::uint64_t)) {
      const std::uint64_t word = (seed + at + 1) * 0x9e3779b97f4a7c15U;
      std::memcpy(message_.data() + at, &word, std::min(sizeof word, message_.size() - at));
    }
  }

  void send_next(connection& c, clock_type::time_point now) {
    ++c.sent;
    c.received = 0;
    c.since = now;
    compose(c);
    const ssize_t n = c.way.send(message_.data(), message_.size());
    if (n != static_cast<ssize_t>(message_.size())) {
      fail("a message could not be sent at once");
    }
  }

  void receive(connection& c) {
    const std::size_t wanted = answer_.size() - c.received;
    const ssize_t n = c.way.receive(answer_.data() + c.received, wanted);
    if (n <= 0) {
      if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
      }
      fail("the server ended a connection");
    }
    const auto size = static_cast<std::size_t>(n);
    compose(c);
    if (std::memcmp(answer_.data() + c.received, message_.data() + c.received, size) != 0) {
      fail("a byte came back wrong");
    }
    c.received += size;
    if (c.received == answer_.size()) {
      const auto now = clock_type::now();
      latencies_.add(static_cast<std::uint64_t>((now - c.since).count()));
      ++requests_;
      send_next(c, now);
    }
  }

  /// Lets messages go round for this time and returns how long it was.
  double pump(double seconds) {
    const auto begin = clock_type::now();
    const auto end = begin + std::chrono::duration<double>(seconds);
    std::array<epoll_event, 256> events;
    auto now = begin;
    for (; now < end; now = clock_type::now()) {
      const int n = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 5000);
      if (n == 0) {
        fail("no answer for 5 s");
      }
      for (int i = 0; i < n; ++i) {
        receive(*static_cast<connection*>(events[static_cast<std::size_t>(i)].data.ptr));
      }
    }
    return std::chrono::duration<double>(now - begin).count();
  }

  const arguments arguments_;
  int epoll_ = -1;
  std::vector<connection> connections_;
  std::vector<char> message_;
  std::vector<char> answer_;
  histogram latencies_;
  std::uint64_t requests_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  arguments a;
  bool understood = argc % 2 == 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const double value = std::strtod(argv[i + 1], nullptr);
    if (name == "--port") {
      a.port = static_cast<std::uint16_t>(value);
    } else if (name == "--connections") {
      a.connections = static_cast<std::size_t>(value);
    } else if (name == "--seconds") {
      a.seconds = value;
    } else if (name == "--warmup") {
      a.warmup = value;
    } else if (name == "--size") {
      a.size = static_cast<std::size_t>(value);
    } else {
      understood = false;
    }
  }
  if (!understood || a.port == 0 || a.connections == 0 || a.size == 0) {
    std::fputs(
        "usage: echo_load --port N [--connections N] [--seconds S] [--warmup S] [--size BYTES]\n",
        stderr);
    return 2;
  }
  return load(a).run();
}
