// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Programs that use the network under limits, or with signals, that others should not have.

#include "programs/programs.hpp"
#include "programs/raw_connections.hpp"
#include "support/process.hpp"

#include <thrum.hpp>
#include <thrum/detail/net/look_up.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <netdb.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/// In place of the system's: names under .silent get no answer, as if their servers were switched
/// off, and others do not exist.
extern "C" int getaddrinfo(const char* host, const char*, const addrinfo*, addrinfo**) {
  const std::string_view name = host;
  while (name.ends_with(".silent")) {
    ::pause();
  }
  return EAI_NONAME;
}

namespace {

using namespace std::chrono_literals;
using thrum::net::conn;
using thrum::net::dial;
using thrum::net::endpoint;
using thrum::net::listener;

std::chrono::nanoseconds processor_time() {
  std::timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

/// Clients come while there is no descriptor for them; some descriptors are given back after a
/// while. Exit status 0: all of them were served, and the wait was none for the processor.
int accept_without_descriptors() {
  return thrum::run([] {
    constexpr int clients = 20;
    auto listener = listener::listen(endpoint("127.0.0.1:0"));
    {
      const conn warm = dial(listener.local());  // the poller has its descriptors now
      listener.accept();
      listener.set_deadline(std::chrono::steady_clock::now() + 1ms);
      std::error_code expected;
      listener.accept(expected);
      listener.set_deadline(thrum::time_point::max());
    }
    const std::vector<int> sockets = programs::connect_raw(listener.local(), clients);
    const int highest = ::dup(0);
    const rlimit few{static_cast<rlim_t>(highest) + 3, static_cast<rlim_t>(highest) + 3};
    ::setrlimit(RLIMIT_NOFILE, &few);
    std::vector<int> occupied{highest};
    for (int fd; (fd = ::dup(0)) >= 0;) {
      occupied.push_back(fd);
    }
    if (sockets.size() != clients || errno != EMFILE) {
      std::puts("not the situation that was to be tested");
      return 1;
    }
    std::atomic<int> served{0};
    std::atomic<int> failed{0};
    thrum::wait_group group;
    group.go([&] {
      std::error_code error;
      while (conn c = listener.accept(error)) {
        c.write("w", error);
        ++served;
      }
      failed += error != std::errc::operation_canceled;
    });
    const auto before = processor_time();
    thrum::sleep_for(500ms);
    const auto spent = processor_time() - before;
    const int early = served;
    for (const int fd : occupied) {
      ::close(fd);
    }
    int welcomed = 0;
    for (const int fd : sockets) {
      thrum::io::wait_readable(fd);
      char byte;
      welcomed += ::read(fd, &byte, 1) == 1;
      ::close(fd);
    }
    listener.close();
    group.wait();
    std::printf("early %d, served %d, welcomed %d, failed %d, %lld us\n", early, served.load(),
                welcomed, failed.load(), static_cast<long long>(spent / 1us));
    return early == 0 && served == clients && welcomed == clients && failed == 0 && spent < 250ms
               ? 0
               : 1;
  });
}

/// Exit status 0: errors instead of SIGPIPE in everything that writes.
int write_to_nobody() {
  return thrum::run([] {
    int wrong = 0;
    const int file = ::open(support::own_program().c_str(), O_RDONLY | O_CLOEXEC);
    for (int how = 0; how != 3; ++how) {
      auto listener = listener::listen(endpoint("127.0.0.1:0"));
      conn client = dial(listener.local());
      listener.accept().linger(0);
      const std::string text = "anybody there?";
      const std::span<const std::byte> piece = std::as_bytes(std::span(text));
      std::error_code error;
      for (int i = 0; i != 1'000 && error != std::errc::broken_pipe; ++i) {
        error.clear();
        switch (how) {
          case 0: client.write(text, error); break;
          case 1: client.write_v(std::span(&piece, 1), error); break;
          default: client.send_file(file, 0, 100, error); break;
        }
      }
      wrong += error != std::errc::broken_pipe;
    }
    std::printf("%d without the error\n", wrong);
    return wrong;
  });
}

/// Threads of this process.
std::size_t threads() { return thrum::os::count_threads(); }

/// Exit status 0: dials of names whose servers are silent end in time, as does a foreign thread's;
/// one name that is asked for often has one thread, many names have a limited number. Then main
/// returns while the servers are still silent, and one more dial waits without a time-out.
int silent_names() {
  int wrong = 0;
  const auto check = [&wrong](bool claim, const char* what) {
    std::printf("%s: %s\n", what, claim ? "yes" : "no");
    wrong += claim ? 0 : 1;
  };
  const auto times_out = [](const std::string& where, std::chrono::milliseconds time) {
    std::error_code error;
    dial(where, time, error);
    return error == thrum::errc::deadline_exceeded;
  };
  check(times_out("a.silent:80", 20ms), "a thread's dial times out");
  const int returned = thrum::run([&] {
    check(times_out("a.silent:80", 20ms), "a goroutine's dial times out");
    const std::size_t before = threads();
    constexpr int dials = 300;
    std::atomic<int> late{0};
    thrum::wait_group group;
    for (int i = 0; i != dials; ++i) {
      group.go([&] { late += times_out("a.silent:80", 100ms) ? 1 : 0; });
    }
    group.wait();
    check(late == dials, "many dials of one name time out");
    check(threads() <= before + thrum::stats().procs + 8, "they take no threads");
    late = 0;
    for (int i = 0; i != dials; ++i) {
      group.go(
          [&, i] { late += times_out("b" + std::to_string(i) + ".silent:80", 100ms) ? 1 : 0; });
    }
    group.wait();
    check(late == dials, "dials of many names time out");
    check(thrum::net_detail::look_ups::of_process().threads() <=
              thrum::net_detail::look_ups::most_threads,
          "they take a limited number of threads");
    thrum::go([] { dial("a.silent:80"); });
    thrum::this_goroutine::yield();
    return wrong;
  });
  return returned;
}

constexpr programs::entry network_entries[] = {
    {"accept_without_descriptors", &accept_without_descriptors},
    {"silent_names", &silent_names},
    {"write_to_nobody", &write_to_nobody},
};
const programs::group in_register(network_entries);

}  // namespace
