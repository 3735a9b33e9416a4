// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A program with interpose.hpp in it, whose goroutines call what blocks a thread elsewhere.

#include "programs/programs.hpp"
#include "support/eventually.hpp"

#include <thrum.hpp>
#include <thrum/errno.hpp>
#include <thrum/interpose.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;

std::atomic<int> failed{0};

void expect(bool holds, const char* what, int line) {
  if (!holds) {
    std::printf("line %d: %s, errno %d\n", line, what, errno);
    ++failed;
  }
}
#define EXPECT(claim) expect(static_cast<bool>(claim), #claim, __LINE__)

template <class F>
int run_checked(F f) {
  return thrum::run(thrum::options{.procs = 2}, [&] {
    f();
    return failed != 0 ? 1 : 0;
  });
}

bool would_block(ssize_t result) { return result == -1 && errno == EAGAIN; }

struct two_ends {
  explicit two_ends(bool is_pipe = false) {
    EXPECT((is_pipe ? ::pipe(fd) : ::socketpair(AF_UNIX, SOCK_STREAM, 0, fd)) == 0);
  }
  two_ends(const two_ends&) = delete;
  two_ends& operator=(const two_ends&) = delete;
  ~two_ends() {
    close_end(0);
    close_end(1);
  }
  void close_end(int i) {
    if (fd[i] >= 0) {
      ::close(fd[i]);
    }
    fd[i] = -1;
  }
  void time_out(int i, int option, long us) const {
    const ::timeval time{0, us};
    EXPECT(::setsockopt(fd[i], SOL_SOCKET, option, &time, sizeof time) == 0);
  }
  int fd[2];
};

bool uses_few_threads() { return thrum::stats().threads <= 2 + 8; }

int many_readers() {
  ::rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  const unsigned n = limit.rlim_cur > 6'100 ? 3'000 : 300;
  return run_checked([n] {
    std::vector<int> writers;
    thrum::wait_group group;
    for (unsigned i = 0; i != n; ++i) {
      two_ends ends(i % 2 == 0);
      const int reader = std::exchange(ends.fd[0], -1);
      writers.push_back(std::exchange(ends.fd[1], -1));
      group.go([=] {
        char got[4];
        EXPECT(::read(reader, got, sizeof got) == 4);
        EXPECT(got[0] == static_cast<char>(i));
        ::close(reader);
      });
    }
    EXPECT(support::are_waiting(n));
    EXPECT(uses_few_threads());
    for (unsigned i = 0; i != n; ++i) {
      const char word[4] = {static_cast<char>(i)};
      EXPECT(::write(writers[i], word, sizeof word) == 4);
      ::close(writers[i]);
    }
    group.wait();
  });
}

int many_sleepers() {
  return run_checked([] {
    thrum::wait_group group;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i != 1'000; ++i) {
      group.go([] {
        const ::timespec time{0, 2'000'000};
        EXPECT(::usleep(2'000) == 0);
        EXPECT(::nanosleep(&time, nullptr) == 0);
        EXPECT(::clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr) == 0);
        std::this_thread::sleep_for(2ms);
        EXPECT(::sleep(0) == 0);
      });
    }
    group.wait();
    EXPECT(std::chrono::steady_clock::now() - begin >= 8ms);
    EXPECT(uses_few_threads());
    const ::timespec wrong{0, -1};
    EXPECT(::nanosleep(&wrong, nullptr) == -1 && errno == EINVAL);
    EXPECT(::clock_nanosleep(CLOCK_MONOTONIC, 0, &wrong, nullptr) == EINVAL);
    ::timespec moment{};
    ::clock_gettime(CLOCK_MONOTONIC, &moment);
    ++moment.tv_sec;
    EXPECT(::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &moment, nullptr) == 0);
  });
}

int large_transfers() {
  return run_checked([] {
    for (const bool is_pipe : {false, true}) {
      two_ends ends(is_pipe);
      constexpr std::size_t n = 1'500'000;
      std::vector<char> data(n, 'x');
      thrum::wait_group group;
      group.go([&] {
        EXPECT(::write(ends.fd[1], data.data(), n) == ssize_t{n});
        ::iovec parts[2] = {{data.data(), n / 3}, {data.data(), n - n / 3}};
        EXPECT(::writev(ends.fd[1], parts, 2) == ssize_t{n});
        ends.close_end(1);
      });
      std::vector<char> some(70'000);
      std::size_t got = 0;
      ssize_t now = 0;
      while ((now = ::read(ends.fd[0], some.data(), some.size())) > 0) {
        got += static_cast<std::size_t>(now);
      }
      EXPECT(now == 0);
      EXPECT(got == 2 * n);
      group.wait();
    }
  });
}

int flags_and_time_outs() {
  return run_checked([] {
    two_ends ends;
    char got[8];
    EXPECT(would_block(::recv(ends.fd[0], got, sizeof got, MSG_DONTWAIT)));
    ends.time_out(0, SO_RCVTIMEO, 20'000);
    auto begin = std::chrono::steady_clock::now();
    EXPECT(would_block(::recv(ends.fd[0], got, sizeof got, 0)));
    EXPECT(std::chrono::steady_clock::now() - begin >= 20ms);
    ends.time_out(0, SO_RCVTIMEO, 0);

    thrum::wait_group group;
    group.go([&] {
      for (const char& each : std::string_view("abcde")) {
        EXPECT(::write(ends.fd[1], &each, 1) == 1);
        ::usleep(500);
      }
    });
    EXPECT(::recv(ends.fd[0], got, 5, MSG_WAITALL) == 5);
    EXPECT(std::string_view(got, 5) == "abcde");
    group.wait();

    const int flags = ::fcntl(ends.fd[0], F_GETFL);
    EXPECT((flags & O_NONBLOCK) == 0);
    ::fcntl(ends.fd[0], F_SETFL, flags | O_NONBLOCK);
    EXPECT(would_block(::read(ends.fd[0], got, 1)));
    ::fcntl(ends.fd[0], F_SETFL, flags);

    ends.time_out(1, SO_SNDTIMEO, 20'000);
    std::vector<char> large(10'000'000);
    begin = std::chrono::steady_clock::now();
    const ssize_t part = ::write(ends.fd[1], large.data(), large.size());
    EXPECT(part > 0 && part < static_cast<ssize_t>(large.size()));
    EXPECT(std::chrono::steady_clock::now() - begin >= 20ms);
    EXPECT(would_block(::send(ends.fd[1], "x", 1, 0)));
  });
}

int datagrams() {
  return run_checked([] {
    const int one = ::socket(AF_INET, SOCK_DGRAM, 0);
    ::sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const address = reinterpret_cast<::sockaddr*>(&own);
    ::socklen_t size = sizeof own;
    EXPECT(::bind(one, address, size) == 0);
    EXPECT(::getsockname(one, address, &size) == 0);
    thrum::wait_group group;
    group.go([&] {
      EXPECT(::sendto(one, "ab", 2, 0, address, size) == 2);
      EXPECT(::sendto(one, "", 0, 0, address, size) == 0);
    });
    char got[8];
    ::sockaddr_in from{};
    ::socklen_t from_size = sizeof from;
    EXPECT(::recvfrom(one, got, sizeof got, 0, reinterpret_cast<::sockaddr*>(&from), &from_size) ==
           2);
    EXPECT(from_size == sizeof from && from.sin_port == own.sin_port);
    EXPECT(::recvfrom(one, got, sizeof got, MSG_WAITALL, nullptr, nullptr) == 0);
    group.wait();
    ::close(one);
  });
}

int streams_that_end() {
  return run_checked([] {
    std::signal(SIGPIPE, SIG_IGN);
    two_ends ends;
    thrum::wait_group group;
    char got[8];
    ::iovec part{got, 2};
    ::msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    group.go([&] {
      EXPECT(::recvmsg(ends.fd[0], &message, 0) == 2);
      const int copy = ::dup(ends.fd[0]);
      EXPECT(::read(copy, got, sizeof got) == 1);
      EXPECT(::read(copy, got, sizeof got) == 0);
      ::close(copy);
    });
    EXPECT(::sendmsg(ends.fd[1], &message, 0) == 2);
    ::usleep(1'000);
    EXPECT(::send(ends.fd[1], "x", 1, MSG_NOSIGNAL) == 1);
    ::usleep(1'000);
    ::shutdown(ends.fd[1], SHUT_WR);
    group.wait();
    ends.close_end(0);
    EXPECT(::sendmsg(ends.fd[1], &message, 0) == -1 && errno == EPIPE);
    EXPECT(::read(-1, got, sizeof got) == -1 && errno == EBADF);
  });
}

int several_descriptors() {
  return run_checked([] {
    two_ends ends;
    char got[8];
    ::pollfd both[2] = {{ends.fd[0], POLLIN, 0}, {ends.fd[1], POLLIN, 0}};
    auto begin = std::chrono::steady_clock::now();
    EXPECT(::poll(both, 2, 5) == 0);
    EXPECT(::poll(nullptr, 0, 5) == 0);
    EXPECT(std::chrono::steady_clock::now() - begin >= 10ms);
    thrum::wait_group group;
    const auto write_later = [&] {
      group.go([&] {
        ::usleep(1'000);
        EXPECT(::write(ends.fd[1], "z", 1) == 1);
      });
    };
    write_later();
    EXPECT(::poll(both, 2, -1) == 1);
    EXPECT(both[0].revents == POLLIN && both[1].revents == 0);
    EXPECT(::read(ends.fd[0], got, sizeof got) == 1);

    ::fd_set set;
    FD_ZERO(&set);
    FD_SET(ends.fd[0], &set);
    ::timeval time{100, 0};
    write_later();
    EXPECT(::select(ends.fd[0] + 1, &set, nullptr, nullptr, &time) == 1);
    EXPECT(FD_ISSET(ends.fd[0], &set));
    EXPECT(time.tv_sec < 100);
    EXPECT(::read(ends.fd[0], got, sizeof got) == 1);
    time = {0, 2'000};
    EXPECT(::select(ends.fd[0] + 1, &set, nullptr, nullptr, &time) == 0);
    EXPECT(!FD_ISSET(ends.fd[0], &set));
    EXPECT(time.tv_sec == 0 && time.tv_usec == 0);

    const int events = ::epoll_create1(0);
    ::epoll_event event{};
    event.events = EPOLLIN;
    EXPECT(::epoll_ctl(events, EPOLL_CTL_ADD, ends.fd[0], &event) == 0);
    EXPECT(::epoll_wait(events, &event, 1, 2) == 0);
    write_later();
    EXPECT(::epoll_wait(events, &event, 1, -1) == 1);
    ::close(events);
    group.wait();
  });
}

int connections() {
  return run_checked([] {
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
    ::sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const address = reinterpret_cast<::sockaddr*>(&own);
    ::socklen_t size = sizeof own;
    EXPECT(::bind(listener, address, size) == 0);
    EXPECT(::getsockname(listener, address, &size) == 0);
    EXPECT(::listen(listener, 10) == 0);
    thrum::wait_group group;
    group.go([&] {
      const int end = ::accept(listener, nullptr, nullptr);
      EXPECT(end >= 0);
      char got[5];
      EXPECT(::recv(end, got, 5, MSG_WAITALL) == 5);
      EXPECT(::send(end, got, 5, 0) == 5);
      ::close(end);
    });
    EXPECT(support::are_waiting(1));
    const int end = ::socket(AF_INET, SOCK_STREAM, 0);
    EXPECT(::connect(end, address, size) == 0);
    EXPECT(::send(end, "hello", 5, 0) == 5);
    char got[8];
    EXPECT(::read(end, got, sizeof got) == 5);
    group.wait();
    ::close(end);
    ::close(listener);
    EXPECT(::connect(end, address, size) == -1 && errno == EBADF);
  });
}

int other_threads() {
  two_ends ends(true);
  std::thread reader([&] {
    char got = 0;
    EXPECT(::read(ends.fd[0], &got, 1) == 1);
  });
  EXPECT(::usleep(1'000) == 0);
  EXPECT(::write(ends.fd[1], "x", 1) == 1);
  reader.join();

  std::atomic<bool> has_begun{false};
  std::atomic<bool> has_ended{false};
  std::thread cancelled([&] {
    struct end_of_scope {
      std::atomic<bool>& ended;
      ~end_of_scope() { ended = true; }
    } const at_end{has_ended};
    has_begun = true;
    char got = 0;
    std::_Exit(::read(ends.fd[0], &got, 1) == 1 ? 3 : 4);  // it never returns
  });
  while (!has_begun) {
    std::this_thread::yield();
  }
  ::pthread_cancel(cancelled.native_handle());
  cancelled.join();
  EXPECT(has_ended);
  return failed != 0 ? 1 : 0;
}

int forked_child() {
  return run_checked([] {
    two_ends ends(true);
    const ::pid_t child = ::fork();
    if (child == 0) {
      char got = 0;
      const bool is_read = ::read(ends.fd[0], &got, 1) == 1 && got == 'q';
      ::_exit(is_read && ::usleep(100) == 0 ? 0 : 1);
    }
    ::usleep(2'000);
    EXPECT(::write(ends.fd[1], "q", 1) == 1);
    int status = 1;
    EXPECT(::waitpid(child, &status, 0) == child && status == 0);
  });
}

const programs::entry entries[] = {
    {"many_readers", many_readers},
    {"many_sleepers", many_sleepers},
    {"large_transfers", large_transfers},
    {"flags_and_time_outs", flags_and_time_outs},
    {"datagrams", datagrams},
    {"streams_that_end", streams_that_end},
    {"several_descriptors", several_descriptors},
    {"connections", connections},
    {"other_threads", other_threads},
    {"forked_child", forked_child},
};
const programs::group registered(entries);

}  // namespace
