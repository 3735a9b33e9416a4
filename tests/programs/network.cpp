// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Programs that use the network under limits, or with signals, that others should not have.

#include "programs/programs.hpp"

#include <thrum.hpp>
#include <thrum/net/look_up.hpp>
#include <thrum/sched/io/poll_table.hpp>

#include <atomic>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
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

/// Sockets whose connections are in the queue of `to`, made before descriptors run out.
std::vector<int> connect_raw(const endpoint& to, int n) {
  std::vector<int> sockets;
  for (int i = 0; i != n; ++i) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || ::connect(fd, to.data(), to.size()) != 0) {
      return {};
    }
    sockets.push_back(fd);
  }
  return sockets;
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
    const std::vector<int> sockets = connect_raw(listener.local(), clients);
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
    const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
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

/// From now on this thread, and those that it makes, get `error` from that call if its argument has
/// that value. False: that cannot be had here.
bool refuse(int call, unsigned argument, std::uint32_t value, std::uint16_t error) {
  // The lower half, which is all that counts here.
  const unsigned half = std::endian::native == std::endian::big ? 4 : 0;
  const auto where =
      static_cast<std::uint32_t>(offsetof(::seccomp_data, args) + 8 * argument + half);
  ::sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(::seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, where),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const ::sock_fprog filter{std::size(rules), rules};
  const bool done = ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                    ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
  if (!done) {
    std::puts("skipped: the system takes no filter");
  }
  return done;
}

int open_numbers() {
  int n = 0;
  for (int fd = 0; fd != 1'024; ++fd) {
    n += ::fcntl(fd, F_GETFD) != -1 ? 1 : 0;
  }
  return n;
}

/// Exit status 0: where the system has a number but we have no memory for it, that is an
/// error_code, and the number does not stay open.
int descriptors_without_memory() {
  const thrum::io::pipe first;  // with what takes its memory at the same time
  constexpr std::size_t at_once = 1'024 * sizeof(thrum::sched::poll_desc);
#ifdef SYS_mmap2  // by which the C library maps where there are both
  constexpr int mapping = SYS_mmap2;
#else
  constexpr int mapping = SYS_mmap;
#endif
  if (!refuse(mapping, 1, at_once, ENOMEM)) {
    return 0;
  }
  thrum::options options = thrum::options::from_environment();
  options.stack_size = 2 * at_once;  // and so not refused
  return thrum::run(options, [] {
    const endpoint here("127.0.0.1:0");
    const std::vector<endpoint> nobody{listener::listen(here).local()};
    auto listener = listener::listen(here);
    const std::vector<std::string> arguments{"/bin/true"};
    thrum::io::process_options with_pipe;
    with_pipe.in = thrum::io::redirect::pipe();
    const std::vector<int> sockets = connect_raw(listener.local(), 1);
    {
      const thrum::sched::section inside;
      while (thrum::sched::poll_table::take() != nullptr) {
      }
    }
    const char* const names[] = {"listen", "dial", "race", "accept",
                                 "bind",   "pipe", "file", "process"};
    std::error_code errors[std::size(names)];
    int leaked[std::size(names)] = {};
    for (std::size_t i = 0; i != std::size(names); ++i) {
      const int n = open_numbers();
      std::error_code& e = errors[i];
      switch (i) {
        case 0: listener::listen(here, {}, e); break;
        case 1: dial(here, {}, e); break;
        case 2: thrum::net_detail::dial_race(nobody, nobody, thrum::time_point::max(), e); break;
        case 3: listener.accept(e); break;
        case 4: thrum::net::udp_socket::bind(here, e); break;
        case 5: thrum::io::pipe{e}; break;
        case 6: thrum::io::file::open("/dev/null", thrum::io::open_mode::read, e); break;
        default: thrum::io::process::spawn(arguments, with_pipe, e); break;
      }
      leaked[i] = open_numbers() - n;
    }
    int wrong = 0;
    for (std::size_t i = 0; i != std::size(names); ++i) {
      if (errors[i] != std::errc::not_enough_memory || leaked[i] != 0) {
        std::printf("%s: %s, %d leaked\n", names[i], errors[i].message().c_str(), leaked[i]);
        ++wrong;
      }
    }
    return wrong;
  });
}

/// Exit status 0: any address means any IPv4 address where there is no IPv6, unless IPv6 alone is
/// asked for.
int without_ipv6() {
#if defined(SYS_socketcall)
  return 0;  // sockets may be made by another call, whose arguments no filter sees
#endif
  if (!refuse(SYS_socket, 0, AF_INET6, EAFNOSUPPORT)) {
    return 0;
  }
  return thrum::run([] {
    std::error_code error;
    auto any = listener::listen(":0", {}, error);
    std::printf("listen: %s\n", error.message().c_str());
    int wrong = error ? 1 : 0;
    for (const endpoint& to : {endpoint::v4(0x7f000001, any.local().port()),
                               endpoint("[::]:0").with_port(any.local().port())}) {
      const conn made = dial(to, 10s, error);
      std::printf("dial: %s\n", error.message().c_str());
      wrong += error ? 1 : 0;
    }
    thrum::net::udp_socket::bind(endpoint(":0"), error);
    std::printf("bind: %s\n", error.message().c_str());
    wrong += error ? 1 : 0;
    listener::listen(":0", {.dual_stack = false}, error);
    wrong += error != std::errc::address_family_not_supported;
    listener::listen("[::1]:0", {}, error);
    wrong += error != std::errc::address_family_not_supported;
    return wrong;
  });
}

/// Exit status 0: where the system refuses every socket option, a program can still listen, dial
/// and bind, unless it asks for an option.
int without_options() {
#if defined(SYS_socketcall)
  return 0;  // as above
#endif
  for (const int level : {int{SOL_SOCKET}, int{IPPROTO_TCP}, int{IPPROTO_IPV6}}) {
    if (!refuse(SYS_setsockopt, 1, static_cast<std::uint32_t>(level), ENOPROTOOPT)) {
      return 0;
    }
  }
  return thrum::run([] {
    int wrong = 0;
    std::error_code error;
    for (const char* const where : {"127.0.0.1:0", "[::]:0"}) {
      auto listener = listener::listen(where, {}, error);
      if (error == std::errc::address_family_not_supported ||
          error == std::errc::address_not_available) {
        continue;  // no IPv6 here
      }
      std::printf("listen on %s: %s\n", where, error.message().c_str());
      wrong += error ? 1 : 0;
      const conn made = dial(endpoint::v4(0x7f000001, listener.local().port()), 10s, error);
      std::printf("dial: %s\n", error.message().c_str());
      wrong += error && listener.local().family() == thrum::net::address_family::v4 ? 1 : 0;
      thrum::net::udp_socket::bind(endpoint(where), error);
      std::printf("bind: %s\n", error.message().c_str());
      wrong += error ? 1 : 0;
    }
    const thrum::net::listen_options asked[] = {
        {.reuse_port = true}, {.keep_alive = {.enable = false}}, {.keep_alive = {.count = 3}}};
    for (const auto& how : asked) {
      listener::listen(endpoint("127.0.0.1:0"), how, error);
      wrong += error != std::errc::no_protocol_option;
    }
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
    check(thrum::net_detail::look_ups::of_process().threads() ==
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
    {"descriptors_without_memory", &descriptors_without_memory},
    {"silent_names", &silent_names},
    {"without_ipv6", &without_ipv6},
    {"without_options", &without_options},
    {"write_to_nobody", &write_to_nobody},
};
const programs::group in_register(network_entries);

}  // namespace
