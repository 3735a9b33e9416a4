// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// send_file and SIGPIPE: its system call has no flag that would keep the signal away. And what comes
// after close_read.

#include "support/net.hpp"
#include "support/test.hpp"

#include <cstdio>

#include <signal.h>
#include <unistd.h>

using support::conn_pair;
using support::tcp_pair;

TEST_CASE("send_file to a peer that is gone is an error, never a signal") {
  ::sigset_t broken_pipe;
  ::sigset_t before;
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  REQUIRE(::pthread_sigmask(SIG_BLOCK, &broken_pipe, &before) == 0);

  std::FILE* const file = std::tmpfile();
  REQUIRE(file != nullptr);
  std::fputs("something to send", file);
  std::fflush(file);

  conn_pair c = tcp_pair();
  c.server.close_write();
  char end[1];
  REQUIRE(c.client.read(end) == 0);
  c.server.linger(0);
  c.server.close();  // a reset, after an end of the stream
  std::error_code error;
  CHECK(support::eventually([&] {
    c.client.send_file(::fileno(file), 0, 17, error);
    return static_cast<bool>(error);
  }));
  CHECK((error == std::errc::broken_pipe || error == std::errc::connection_reset));
  c.client.send_file(::fileno(file), 0, 17, error);
  CHECK(error == std::errc::broken_pipe);

  ::sigset_t pending;
  REQUIRE(::sigpending(&pending) == 0);
  CHECK(sigismember(&pending, SIGPIPE) == 0);
  std::fclose(file);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_CASE("send_file leaves a SIGPIPE alone that was pending before, also at the end of the file") {
  ::sigset_t broken_pipe;
  ::sigset_t before;
  ::sigset_t pending;
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  REQUIRE(::pthread_sigmask(SIG_BLOCK, &broken_pipe, &before) == 0);
  REQUIRE(::raise(SIGPIPE) == 0);

  std::FILE* const file = std::tmpfile();
  REQUIRE(file != nullptr);
  std::fputs("something to send", file);
  std::fflush(file);
  conn_pair c = tcp_pair();
  CHECK(c.client.send_file(::fileno(file), 0, 1000) == 17);
  std::fclose(file);

  REQUIRE(::sigpending(&pending) == 0);
  CHECK(sigismember(&pending, SIGPIPE) == 1);
  int taken = 0;
  ::sigwait(&broken_pipe, &taken);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_CASE("send_file whose peer goes away in the middle is no signal, either") {
  // What was sent before counts as success, and the signal comes all the same. So this would end
  // the program, most of the time.
  constexpr std::uint64_t size = 16 << 20;
  std::FILE* const file = std::tmpfile();
  REQUIRE(file != nullptr);
  REQUIRE(::ftruncate(::fileno(file), size) == 0);
  support::with_runtime([&] {
    for (int round = 0; round != 30; ++round) {
      conn_pair c = tcp_pair();
      c.server.close_write();
      thrum::wait_group sending;
      sending.go([&] {
        std::error_code error;
        c.client.send_file(::fileno(file), 0, size, error);
      });
      std::vector<char> buffer(1 << 20);
      c.server.read(buffer);
      c.server.linger(0);
      c.server.close();
      sending.wait();
    }
  });
  std::fclose(file);
}

TEST_CASE("send_file leaves a thread's signal mask as it was") {
  for (const bool is_blocked : {false, true}) {
    std::thread([&] {
      ::sigset_t set;
      sigemptyset(&set);
      sigaddset(&set, SIGPIPE);
      ::pthread_sigmask(is_blocked ? SIG_BLOCK : SIG_UNBLOCK, &set, nullptr);
      conn_pair c = tcp_pair();
      std::error_code error;
      c.client.send_file(-1, 0, 1, error);
      CHECK(error);
      ::sigset_t now;
      ::pthread_sigmask(SIG_SETMASK, nullptr, &now);
      CHECK((sigismember(&now, SIGPIPE) == 1) == is_blocked);
    }).join();
  }
}

IN_RUNTIME("what the peer writes after close_read can still be read") {
  conn_pair pair = tcp_pair();
  char buffer[8];
  pair.server.close_read();
  CHECK(pair.server.read(std::span(buffer)) == 0);
  pair.client.write("late");
  CHECK(support::eventually([&] { return pair.server.read(std::span(buffer)) == 4; }));
}
