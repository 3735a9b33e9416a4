// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Workers that sleep, spawn, load libraries and block without saying so; and what the main
// goroutine does to the whole process meanwhile.

#include "yard.hpp"

#include "stress/host.hpp"

#include <thrum.hpp>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#if !defined(_WIN32)
#include <sys/wait.h>
#endif
#include <unistd.h>

namespace stress {

void sleep_shortly(yard& y, worker& w) {
  constexpr milliseconds time(1);
  while (go_on(y, w)) {
    const auto begin = steady_clock::now();
    thrum::sleep_for(time);
    const auto late = steady_clock::now() - begin - time;
    expect(late >= late.zero(), "a sleep is not too short");
    const std::int64_t us = std::chrono::duration_cast<microseconds>(late).count();
    std::int64_t latest = y.latest_us;
    while (us > latest && !y.latest_us.compare_exchange_weak(latest, us)) {
    }
  }
}

void spawn_storms(yard& y, worker& w) {
  constexpr std::uint64_t n = 100;
  std::vector<thrum::join_handle<std::uint64_t>> handles;
  while (go_on(y, w)) {
    for (std::uint64_t i = 0; i != n; ++i) {
      handles.push_back(thrum::spawn([i] { return i * i; }));
    }
    std::uint64_t sum = 0;
    for (auto& handle : handles) {
      sum += handle.join();
    }
    handles.clear();
    expect(sum == (n - 1) * n * (2 * n - 1) / 6, "all of a storm return their results");
  }
}

void load_libraries(yard& y, worker& w) {
  while (go_on(y, w)) {
    void* const handle = host::open_library(y.library);
    expect(handle != nullptr, "a library can be opened");
    if (handle != nullptr) {
      expect(host::lacks_symbol(handle, "thrum_has_no_such_symbol"),
             "an absent symbol is absent, and the thread that asked is told so");
      expect(host::close_library(handle), "a library can be closed");
    }
  }
}

namespace {

/// So many numbers one after another.
using message = std::array<std::uint64_t, 16>;

message message_number(std::uint64_t n) {
  message m{};
  m.fill(n);
  return m;
}

/// False at the end of the pipe.
[[gnu::noinline]] bool read_all(int fd, message& m) {
  std::size_t done = 0;
  while (done != sizeof m) {
    const std::int64_t n = host::read(fd, reinterpret_cast<char*>(&m) + done, sizeof m - done);
    if (n <= 0) {
      expect(n == 0, "a call that blocks is not interrupted");
      expect(n < 0 || done == 0, "a pipe ends behind a message");
      if (n < 0 && errno == EINTR) {
        continue;
      }
      return false;
    }
    done += static_cast<std::size_t>(n);
  }
  return true;
}

}  // namespace

void read_pipes(yard& y, worker& w) {
  const conduit& mine = y.conduits[y.conduits_taken++];
  message m;
  for (std::uint64_t i = 0; read_all(mine.reader, m); ++i) {
    expect(m == message_number(i), "nothing is lost in a pipe");
    go_on(y, w);
  }
}

/// A foreign thread: each message in two parts, a while apart.
[[gnu::noinline]] void feed(yard& y) {
  const auto write_some = [](int fd, const char* bytes, std::size_t size) {
    while (size != 0) {
      const std::int64_t n = host::write(fd, bytes, size);
      if (n < 0 && errno != EINTR) {
        expect(false, "a pipe can be written");
        return;
      }
      if (n > 0) {
        bytes += n;
        size -= static_cast<std::size_t>(n);
      }
    }
  };
  for (std::uint64_t i = 0; !y.over; ++i) {
    const message m = message_number(i);
    const char* const bytes = reinterpret_cast<const char*>(&m);
    const std::size_t first = 1 + i % (sizeof m - 1);
    for (const conduit& c : y.conduits) {
      write_some(c.writer, bytes, first);
    }
    ::usleep(i % 8 == 0 ? 20'000 : 500);
    for (const conduit& c : y.conduits) {
      write_some(c.writer, bytes + first, sizeof m - first);
    }
    ::usleep(3'000);
  }
  for (conduit& c : y.conduits) {
    ::close(c.writer);
  }
}

#if !defined(_WIN32)

namespace {

[[gnu::noinline]] int wait_for(::pid_t child) {
  int status = -1;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

#endif

/// What concerns the whole process.
void disturb(std::uint64_t turn) {
#if !defined(_WIN32)
  if (turn % 3 == 0) {
    const ::pid_t child = ::fork();
    if (child == 0) {
      ::_exit(0);
    }
    expect(child > 0, "fork works");
    if (child > 0) {
      expect(thrum::blocking([=] { return wait_for(child); }) == 0, "a forked child ends well");
    }
  } else if (turn % 3 == 1) {
    expect(::setuid(::getuid()) == 0, "setuid works");
  }
#endif
  if (turn % 3 == 2) {
    expect(thrum::blocking([] { return std::system(host::nothing_to_run); }) == 0, "system works");
  }
}

}  // namespace stress
