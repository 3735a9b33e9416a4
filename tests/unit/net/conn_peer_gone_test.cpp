// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Connections of which one end is closed while they are used.

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/net.hpp"
#include "support/with_runtime.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <signal.h>
#include <unistd.h>

using namespace std::chrono_literals;

using support::conn_pair;
using support::tcp_pair;

TEST_CASE("send_file to a peer that is gone is an error, never a signal") {
  ::sigset_t broken_pipe;
  ::sigset_t before;
  ::sigemptyset(&broken_pipe);
  ::sigaddset(&broken_pipe, SIGPIPE);
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
  CHECK(::sigismember(&pending, SIGPIPE) == 0);
  std::fclose(file);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_CASE("send_file leaves a SIGPIPE alone that was pending before, also at the end of the file") {
  ::sigset_t broken_pipe;
  ::sigset_t before;
  ::sigset_t pending;
  ::sigemptyset(&broken_pipe);
  ::sigaddset(&broken_pipe, SIGPIPE);
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
  CHECK(::sigismember(&pending, SIGPIPE) == 1);
  const ::timespec at_once{};
  ::sigtimedwait(&broken_pipe, nullptr, &at_once);
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
      ::sigemptyset(&set);
      ::sigaddset(&set, SIGPIPE);
      ::pthread_sigmask(is_blocked ? SIG_BLOCK : SIG_UNBLOCK, &set, nullptr);
      conn_pair c = tcp_pair();
      std::error_code error;
      c.client.send_file(-1, 0, 1, error);
      CHECK(error);
      ::sigset_t now;
      ::pthread_sigmask(SIG_SETMASK, nullptr, &now);
      CHECK((::sigismember(&now, SIGPIPE) == 1) == is_blocked);
    }).join();
  }
}

TEST_CASE("closing a direction of a closed connection fails, and leaves a later one alone") {
  support::with_runtime([] {
    conn_pair closed = tcp_pair();
    closed.client.close();
    conn_pair later = tcp_pair();  // has the number that was just given back
    std::error_code error;
    closed.client.close_write(error);
    CHECK(error == std::errc::operation_canceled);
    closed.client.close_read(error);
    CHECK(error == std::errc::operation_canceled);
    CHECK_THROWS_AS(closed.client.close_write(), std::system_error);
    CHECK(later.client.write("still there") == 11);

    later.client.close_write(error);
    CHECK_FALSE(error);
    char text[11];
    CHECK(later.server.read_full(text) == 11);
    CHECK(later.server.read(text) == 0);
    thrum::net::conn none;
    none.close_write(error);
    CHECK(error == std::errc::bad_file_descriptor);
  });
}

TEST_CASE("close_write does not wait for a write that is in progress, and close waits for both") {
  constexpr int rounds = 50;
  std::atomic<int> writes_ended{0};
  support::with_runtime([&] {
    for (int round = 0; round != rounds; ++round) {
      conn_pair c = tcp_pair();
      thrum::wait_group all;
      all.go([&] {
        std::error_code error;
        const std::string much(16 << 20, 'x');
        c.client.write(much, error);  // nobody reads: it ends by close_write or close
        writes_ended += error ? 1 : 0;
      });
      all.go([&] {
        std::error_code error;
        c.client.close_write(error);
      });
      all.go([&] { c.client.close(); });
      all.wait();
    }
  });
  CHECK(writes_ended == rounds);
}

TEST_CASE("after close_read a read gives the end of the stream, unless the peer writes more") {
  support::with_runtime([] {
    conn_pair pair = tcp_pair();
    char buffer[8];
    auto waiting = thrum::spawn([&] { return pair.server.read(std::span(buffer)); });
    thrum::sleep_for(10ms);
    pair.server.close_read();
    CHECK(waiting.join() == 0);
    CHECK(pair.server.read(std::span(buffer)) == 0);
    pair.client.write("late");
    CHECK(support::eventually([&] { return pair.server.read(std::span(buffer)) == 4; }));
  });
}
