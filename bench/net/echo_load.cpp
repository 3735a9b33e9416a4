// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// echo_load --port N [--connections N] [--seconds S] [--warmup S] [--size BYTES]
//
// A client of echo servers, in one thread: each connection sends a message, waits until it is back,
// checks every byte, and sends the next. No message is like another. Prints "measuring" when the
// warm-up is over, then one line:
//
//   requests 1404391 seconds 5.000 rate 280878 p50_us 224.3 p99_us 301.1 p999_us 420.7
//
// Ends with status 1 if a connection is lost or a byte is wrong. Does not use thrum. tls_load is the
// same over TLS.

#include <algorithm>
#include <array>
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

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "load_client.hpp"

#if BENCH_OVER_TLS
#include "tls_wire.hpp"
#else
#include "plain_wire.hpp"
#endif

namespace {

using bench::checked;
using bench::fail;
using clock_type = std::chrono::steady_clock;

struct arguments {
  std::uint16_t port = 0;
  std::size_t connections = 64;
  std::size_t size = 64;
  double seconds = 5;
  double warmup = 1;
};

struct connection {
  wire way;
  std::uint64_t number = 0;
  std::uint64_t sent = 0;
  std::size_t received = 0;
  clock_type::time_point since;
};

class load {
 public:
  explicit load(const arguments& a)
      : arguments_(a), connections_(a.connections), message_(a.size), answer_(a.size) {}

  int run() {
    epoll_ = checked(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
    std::uint64_t number = 0;
    for (connection& c : connections_) {
      const int fd = bench::connect_to(arguments_.port);
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
    std::printf("requests %llu seconds %.3f rate %.0f p50_us %.1f p99_us %.1f p999_us %.1f\n",
                static_cast<unsigned long long>(requests_), seconds,
                static_cast<double>(requests_) / seconds, latencies_.quantile(0.5),
                latencies_.quantile(0.99), latencies_.quantile(0.999));
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
  bench::histogram latencies_;
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
