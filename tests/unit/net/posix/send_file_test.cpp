// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// conn::send_file from what is no file on a disk: devices and pipes. Of files that the kernel makes
// up: linux/sockets_test.cpp.
// send_file and SIGPIPE: its system call has no flag that would keep the signal away. And what comes
// after close_read.

#include "support/net.hpp"
#include "support/test.hpp"
#include "unit/net/sent_to_peer.hpp"

#include <cstdio>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

using support::conn_pair;
using support::is_cancelled;
using support::is_timeout;
using support::sent_to_peer;
using support::steady;
using support::tcp_pair;

IN_RUNTIME("send_file from a device without an end sends as many bytes as were asked for") {
  const int zeroes = ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
  REQUIRE(zeroes >= 0);
  for (const std::uint64_t n : {std::uint64_t{100}, std::uint64_t{3'000'000}}) {
    std::uint64_t sent = 0;
    std::error_code error;
    const std::string got = sent_to_peer(zeroes, 0, n, sent, error);
    CHECK_FALSE(error);
    CHECK(sent == n);
    CHECK((got == std::string(static_cast<std::size_t>(n), '\0')));
  }
  ::close(zeroes);
}

IN_RUNTIME("send_file copies a pipe up to its end, or as much as was asked for") {
  for (const bool waits : {false, true}) {
    thrum::io::pipe pipe;
    const int end = ::dup(pipe.reader().native_handle());
    ::fcntl(end, F_SETFL, waits ? 0 : O_NONBLOCK);
    const std::string text(200'000, 'p');
    auto writer = thrum::spawn([&] {
      pipe.writer().write(text);
      thrum::sleep_for(1ms);
      pipe.writer().write("rest");
      pipe.writer().write("!");
      pipe.close_write();
    });
    std::uint64_t sent = 0;
    std::error_code error;
    CHECK((sent_to_peer(end, 0, text.size() + 4, sent, error) == text + "rest"));
    CHECK_FALSE(error);
    CHECK(sent == text.size() + 4);
    CHECK(sent_to_peer(end, 0, 1'000, sent, error) == "!");
    CHECK_FALSE(error);
    CHECK(sent == 1);
    CHECK(sent_to_peer(end, 7, 1'000, sent, error).empty());
    CHECK(error == std::errc::invalid_seek);
    CHECK(sent == 0);
    writer.join();
    ::close(end);
  }
}

IN_RUNTIME("send_file from a pipe in which nothing is ends with the deadline, and with close") {
  thrum::io::pipe pipe;
  const int end = ::dup(pipe.reader().native_handle());
  auto pair = tcp_pair();
  std::error_code error;
  pair.client.set_write_deadline(steady::now() + 5ms);
  CHECK(pair.client.send_file(end, 0, 10, error) == 0);
  CHECK(is_timeout(error));
  pair.client.set_write_deadline(thrum::time_point::max());
  auto closer = thrum::spawn([&] {
    thrum::sleep_for(2ms);
    pair.client.close();
  });
  CHECK(pair.client.send_file(end, 0, 10, error) == 0);
  CHECK(is_cancelled(error));
  closer.join();
  ::close(end);
}

IN_RUNTIME("send_file from what cannot be read tells why") {
  std::uint64_t sent = 1;
  std::error_code error;
  const int folder = ::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  CHECK(sent_to_peer(folder, 0, 10, sent, error).empty());
  CHECK(error == std::errc::is_a_directory);
  CHECK(sent == 0);
  ::close(folder);
}

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
