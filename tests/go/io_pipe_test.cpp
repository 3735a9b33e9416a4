// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Go's tests of pipes and their deadlines, re-created from their descriptions on io::descriptor,
// which is what every descriptor here is built on.

#include "support/folder.hpp"
#include "support/net.hpp"
#include "support/test.hpp"

using support::steady;
using thrum::io::descriptor;
using thrum::os::io_result;

namespace {

constexpr auto reading = thrum::io::side::read;
constexpr auto writing = thrum::io::side::write;

struct pipe_ends {
  descriptor out;
  descriptor in;
};

pipe_ends make_pipe() {
  thrum::os::handle fds[2];
  REQUIRE(thrum::os::open_pipe(fds) == 0);
  return {descriptor(fds[0], "test"), descriptor(fds[1], "test")};
}

io_result read(descriptor& from, std::span<char> to) {
  return from.run(reading,
                  [&](thrum::os::handle fd) { return thrum::os::read(fd, to.data(), to.size()); });
}
io_result write(descriptor& to, std::string_view text) {
  return to.run(writing, [&](thrum::os::handle fd) {
    return thrum::os::write_without_signal(fd, text.data(), text.size());
  });
}

}  // namespace

TEST_CASE("os VariousDeadlines: a pipe that is written to all the time times out nevertheless") {
  for (const unsigned procs : {1U, 4U}) {
    with_runtime(with_procs(procs), [] {
      auto [out, in] = make_pipe();
      thrum::wait_group group;
      group.go([&p = in] {
        while (write(p, "endless") > 0) {
          thrum::this_goroutine::yield();
        }
      });
      int timeouts = 0;
      int n = 0;
      char buffer[64];
      for (auto after = 1ns; after < 20ms; after *= 4, ++n) {
        out.set_deadline(reading, steady::now() + after);
        io_result result = 1;
        while (result > 0) {
          result = read(out, buffer);
        }
        timeouts += result == thrum::sched::io_deadline_exceeded;
      }
      CHECK(timeouts == n);
      in.close();
      group.wait();
    });
  }
}

IN_RUNTIME(
    "ClosedPipeRaceRead, ClosedPipeRaceWrite: a close ends calls that begin or wait, each time") {
  int wrong = 0;
  for (int i = 0; i != scaled(200, 20); ++i) {
    const bool reads = i % 2 == 0;
    auto [out, in] = make_pipe();
    descriptor& end = reads ? out : in;
    std::atomic<int> cancelled{0};
    thrum::wait_group group;
    for (int k = 0; k != 4; ++k) {
      group.go([&end, &cancelled, reads] {
        char buffer[1];
        const std::string block(100'000, 'x');
        io_result result = 1;
        while (result > 0) {
          result = reads ? read(end, buffer) : write(end, block);
        }
        cancelled += result == thrum::os::cancelled;
      });
    }
    if (i % 4 != 2) {
      thrum::sleep_for(20us);
    }
    end.close();
    group.wait();
    wrong += cancelled != 4;
  }
  CHECK(wrong == 0);
}

IN_RUNTIME("RacyRead: ten goroutines that read a pipe with deadlines of 1 us get each byte once") {
  auto [out, in] = make_pipe();
  std::atomic<std::size_t> got{0};
  std::atomic<int> wrong{0};
  std::size_t sent = 0;
  thrum::wait_group readers;
  for (int i = 0; i != 10; ++i) {
    readers.go([&p = out, &got, &wrong] {
      char buffer[16];
      int in_vain = 0;
      for (;;) {
        // Where all is slow a microsecond has always passed before a read begins, and it reads nothing.
        const auto soon = 1us * (1 << std::min(in_vain / 1'000, 10));
        p.set_deadline(reading, steady::now() + soon);
        const io_result n = read(p, buffer);
        if (n == 0) {
          return;
        }
        in_vain = n < 0 ? in_vain + 1 : 0;
        wrong += n < 0 && n != thrum::sched::io_deadline_exceeded;
        got += n > 0 ? static_cast<std::size_t>(n) : 0;
      }
    });
  }
  for (int i = 0; i != scaled(1'000, 50); ++i) {
    const io_result n = write(in, "hello, world");
    sent += n > 0 ? static_cast<std::size_t>(n) : 0;
    thrum::this_goroutine::yield();
  }
  in.close();
  readers.wait();
  CHECK(wrong == 0);
  CHECK(got == sent);
}

IN_RUNTIME("RawConnReadWrite: the call is made again after each wait, until it has something") {
  auto [out, in] = make_pipe();
  int calls = 0;
  std::string got;
  std::atomic<std::size_t> taken{0};
  thrum::wait_group group;
  group.go([&p = out, &calls, &got, &taken] {
    p.run(reading, [&](thrum::os::handle fd) -> io_result {
      ++calls;
      char buffer[8];
      const io_result n = thrum::os::read(fd, buffer, sizeof buffer);
      if (n > 0) {
        got.append(buffer, static_cast<std::size_t>(n));
        taken = got.size();
      }
      return n > 0 && got.size() < 3 ? thrum::os::would_block : n;
    });
  });
  std::size_t written = 0;
  for (const char* const letter : {"a", "b", "c"}) {
    thrum::sleep_for(1ms);
    write(in, letter);
    ++written;
    CHECK(support::eventually([&] { return taken == written; }));
  }
  group.wait();
  CHECK(got == "abc");
  CHECK(calls >= 3);
  CHECK(calls <= 20);
}

IN_RUNTIME("a thousand goroutines pass a byte on through as many pipes") {
  const int n = scaled(1'000, 50);
  std::vector<pipe_ends> pipes;
  for (int i = 0; i != n + 1; ++i) {
    pipes.push_back(make_pipe());
  }
  thrum::wait_group group;
  for (std::size_t i = 0; i != static_cast<std::size_t>(n); ++i) {
    group.go([&pipes, i] {
      char one[1];
      if (read(pipes[i].out, one) == 1) {
        ++one[0];
        write(pipes[i + 1].in, std::string_view(one, 1));
      }
    });
  }
  write(pipes.front().in, std::string_view("\0", 1));
  char one[1];
  CHECK(read(pipes.back().out, one) == 1);
  CHECK(one[0] == static_cast<char>(n));
  group.wait();
}
