// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// copy_cpu [MIB] [ROUNDS]   the CPU time of a copy from one TCP connection to another, three ways in turn:
//
//   bare     a loop of splice over blocking sockets, and nothing else
//   thrum    io::copy, in a runtime with one processor
//   memory   a loop of read and write with 32 KiB
//
// Prints the seconds of each, and at the end the medians and their ratios to the bare loop. Each way
// runs in a process of its own, between a process that sends and one that counts. A runtime's start and
// end are in its time: MIB is 1024 unless told otherwise.

#include <thrum.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr std::size_t at_once = std::size_t{256} * 1024;

template <class T>
T checked(T result, const char* call) {
  if (result < 0) {
    std::perror(call);
    std::_Exit(1);
  }
  return result;
}

/// A listener on the loopback.
int listen_somewhere(sockaddr_in& where) {
  const int fd = checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  where = {};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof where;
  auto* const address = reinterpret_cast<sockaddr*>(&where);
  checked(::bind(fd, address, size), "bind");
  checked(::listen(fd, 1), "listen");
  checked(::getsockname(fd, address, &size), "getsockname");
  return fd;
}

int connect_to(const sockaddr_in& where) {
  const int fd = checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  checked(::connect(fd, reinterpret_cast<const sockaddr*>(&where), sizeof where), "connect");
  return fd;
}

void send_bytes(int fd, std::size_t total) {
  const std::vector<char> block(at_once, 'x');
  for (std::size_t sent = 0; sent < total;) {
    const std::size_t n = std::min(block.size(), total - sent);
    sent += static_cast<std::size_t>(checked(::write(fd, block.data(), n), "write"));
  }
}

/// Whether so many arrive, and then the end.
bool count_bytes(int fd, std::size_t total) {
  std::vector<char> block(at_once);
  std::size_t got = 0;
  while (const auto n = checked(::read(fd, block.data(), block.size()), "read")) {
    got += static_cast<std::size_t>(n);
  }
  return got == total;
}

void copy_bare(int from, int to) {
  int ends[2];
  checked(::pipe2(ends, O_CLOEXEC), "pipe2");
  checked(::fcntl(ends[0], F_SETPIPE_SZ, static_cast<int>(at_once)), "F_SETPIPE_SZ");
  while (auto n =
             checked(::splice(from, nullptr, ends[1], nullptr, at_once, SPLICE_F_MOVE), "splice")) {
    while (n > 0) {
      n -= checked(
          ::splice(ends[0], nullptr, to, nullptr, static_cast<std::size_t>(n), SPLICE_F_MOVE),
          "splice");
    }
  }
}

void copy_through_memory(int from, int to) {
  std::array<char, std::size_t{32} * 1024> block;
  while (auto n = checked(::read(from, block.data(), block.size()), "read")) {
    for (const char* at = block.data(); n > 0;) {
      const auto written = checked(::write(to, at, static_cast<std::size_t>(n)), "write");
      at += written;
      n -= written;
    }
  }
}

void copy_by_thrum(int from, int to) {
  for (const int fd : {from, to}) {
    checked(::fcntl(fd, F_SETFL, O_NONBLOCK), "F_SETFL");
  }
  thrum::options how;
  how.procs = 1;
  thrum::run(how, [&] {
    thrum::net::conn source(thrum::io::descriptor(from, "copy_cpu"));
    thrum::net::conn destination(thrum::io::descriptor(to, "copy_cpu"));
    thrum::io::copy(source, destination);
  });
}

/// Seconds of CPU time of a copy, in a process of its own.
double measure(void (*copy)(int, int), std::size_t total) {
  sockaddr_in in_address;
  sockaddr_in out_address;
  const int in_listener = listen_somewhere(in_address);
  const int out_listener = listen_somewhere(out_address);
  const pid_t sender = checked(::fork(), "fork");
  if (sender == 0) {
    send_bytes(connect_to(in_address), total);
    std::_Exit(0);
  }
  const pid_t counter = checked(::fork(), "fork");
  if (counter == 0) {
    std::_Exit(count_bytes(checked(::accept(out_listener, nullptr, nullptr), "accept"), total) ? 0
                                                                                               : 1);
  }
  const pid_t copier = checked(::fork(), "fork");
  if (copier == 0) {
    copy(checked(::accept(in_listener, nullptr, nullptr), "accept"), connect_to(out_address));
    std::_Exit(0);
  }
  rusage used{};
  int ended = 0;
  checked(::wait4(copier, &ended, 0, &used), "wait4");
  for (const pid_t other : {sender, counter}) {
    int status = 0;
    checked(::waitpid(other, &status, 0), "waitpid");
    ended |= status;
  }
  ::close(in_listener);
  ::close(out_listener);
  if (ended != 0) {
    std::fputs("copy_cpu: a process has failed, or not all bytes have arrived\n", stderr);
    std::exit(1);
  }
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

struct way {
  const char* name;
  void (*copy)(int, int);
  std::vector<double> seconds{};

  double median() {
    std::sort(seconds.begin(), seconds.end());
    return seconds[seconds.size() / 2];
  }
};

}  // namespace

int main(int argc, char** argv) {
  const std::size_t mib = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1024;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
  if (mib == 0 || rounds <= 0) {
    std::fputs("usage: copy_cpu [MIB] [ROUNDS]\n", stderr);
    return 2;
  }
  std::array<way, 3> ways{
      {{"bare", &copy_bare}, {"thrum", &copy_by_thrum}, {"memory", &copy_through_memory}}};
  for (int round = 0; round != rounds; ++round) {
    for (way& each : ways) {
      each.seconds.push_back(measure(each.copy, mib << 20));
      std::printf("%-6s %.3f s\n", each.name, each.seconds.back());
      std::fflush(stdout);
    }
  }
  const double bare = ways[0].median();
  for (way& each : ways) {
    std::printf("%-6s median %.3f s, %.2f of bare\n", each.name, each.median(),
                each.median() / bare);
  }
}
