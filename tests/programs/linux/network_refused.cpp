// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Programs that use the network while a filter of Linux refuses calls.

#include "programs/programs.hpp"
#include "programs/raw_connections.hpp"

#include <thrum.hpp>
#include <thrum/detail/sched/io/poll_table.hpp>

#include <bit>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

namespace {

using namespace std::chrono_literals;
using thrum::net::conn;
using thrum::net::dial;
using thrum::net::endpoint;
using thrum::net::listener;

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
    const std::vector<endpoint> nobody(2, listener::listen(here).local());
    auto listener = listener::listen(here);
    const std::vector<std::string> arguments{"/bin/true"};
    thrum::io::process_options with_pipe;
    with_pipe.in = thrum::io::redirect::pipe();
    const std::vector<int> sockets = programs::connect_raw(listener.local(), 1);
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
        case 2: dial(nobody, {}, e); break;
        case 3: listener.accept(e); break;
        case 4: thrum::net::udp_socket::bind(here, e); break;
        case 5: thrum::io::pipe{e}; break;
        case 6: thrum::io::file::open("/dev/null", thrum::io::open_mode::read, e); break;
        default: thrum::io::process::spawn(arguments, with_pipe, e); break;
      }
      for (int looks = 0; looks != 10'000 && open_numbers() > n; ++looks) {
        thrum::sleep_for(1ms);  // a dial that another has outrun is closed when it hears of that
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

constexpr programs::entry network_refused_entries[] = {
    {"descriptors_without_memory", &descriptors_without_memory},
    {"without_ipv6", &without_ipv6},
    {"without_options", &without_options},
};
const programs::group network_refused_registered(network_refused_entries);

}  // namespace
