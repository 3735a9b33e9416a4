// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The code of a deadline that has passed, and that every operation with one fails with it.
// The loops look at errno on both sides of a call that waits, in one function, as programs do: they
// want to be compiled with optimisation.

#include <thrum/errno.hpp>

#include "support/commands.hpp"
#include "support/migrate.hpp"
#include "support/net.hpp"
#include "support/process.hpp"
#include "support/test.hpp"

#include <unistd.h>

using support::loopback;
using support::steady;
using thrum::errc;

namespace {

const std::error_code of_the_system = thrum::os::error_code_of(-support::timed_out_number);

}  // namespace

TEST_CASE("a deadline that has passed is a time-out of the standard, and not the system's") {
  const std::error_code ours = errc::deadline_exceeded;
  CHECK(ours == std::errc::timed_out);
  CHECK(of_the_system == std::errc::timed_out);
  CHECK(ours != of_the_system);
  CHECK(of_the_system != errc::deadline_exceeded);
  CHECK(ours == errc::deadline_exceeded);
  CHECK(ours.category() == thrum::error_category());
  CHECK(std::string(ours.category().name()) == "thrum");
  CHECK(ours.message() == "the deadline has passed");
  CHECK(ours != std::errc::operation_canceled);
}

TEST_CASE("a stream that ends too early has a code that equals no other") {
  const std::error_code early = errc::unexpected_end;
  CHECK(early.message() == "the stream has ended too early");
  CHECK(early == errc::unexpected_end);
  CHECK(early != errc::deadline_exceeded);
  CHECK(early != std::errc::timed_out);
}

TEST_CASE("a number that is no error of the library's has a message and equals itself only") {
  const std::error_code other(77, thrum::error_category());
  CHECK(other.message() == "unknown error");
  CHECK(other != std::errc::timed_out);
  CHECK(other.default_error_condition() == std::error_condition(77, thrum::error_category()));
}

TEST_CASE("reading, writing, accepting and receiving fail with deadline_exceeded") {
  const auto check = [] {
    char one = 'x';
    const std::span<char> buffer(&one, 1);
    auto pair = support::tcp_pair();
    pair.client.set_deadline(steady::now());
    CHECK(error_of([&] { pair.client.read(buffer); }) == errc::deadline_exceeded);
    CHECK(error_of([&] { pair.client.write("x"); }) == errc::deadline_exceeded);
    pair.server.set_read_deadline(steady::now() + 1ms);
    CHECK(error_of([&] { pair.server.read(buffer); }) == errc::deadline_exceeded);
    std::error_code error;
    pair.server.read(buffer, error);
    CHECK(error == errc::deadline_exceeded);

    auto listener = thrum::net::listener::listen(loopback());
    listener.set_deadline(steady::now() + 1ms);
    CHECK(error_of([&] { listener.accept(); }) == errc::deadline_exceeded);

    auto udp = thrum::net::udp_socket::bind(loopback());
    udp.set_deadline(steady::now() + 1ms);
    CHECK(error_of([&] { udp.recv(buffer); }) == errc::deadline_exceeded);
    CHECK(error_of([&] { udp.send_to("x", udp.local()); }) == errc::deadline_exceeded);

    thrum::io::pipe pipe;
    pipe.reader().set_deadline(steady::now() + 1ms);
    CHECK(error_of([&] { pipe.reader().read(buffer); }) == errc::deadline_exceeded);

    const auto fd = pair.server.native_handle();
    CHECK(error_of([&] { thrum::io::wait_readable(fd, steady::now()); }) ==
          errc::deadline_exceeded);
    thrum::io::wait_readable(fd, steady::now() + 1ms, error);
    CHECK(error == errc::deadline_exceeded);

    CHECK(thrum::context::background().with_timeout(0ms).error() == errc::deadline_exceeded);
  };
  check();
  with_runtime(check);
}

IN_RUNTIME("a dial that takes too long fails with deadline_exceeded, not with the system's code") {
  const support::black_hole nobody;
  CHECK(error_of([&] { thrum::net::dial(nobody.where(), 5ms); }) == errc::deadline_exceeded);
  CHECK(error_of([&] { thrum::net::dial(nobody.where(), -1ms); }) == errc::deadline_exceeded);
}

IN_RUNTIME("waiting for a process that runs on fails with deadline_exceeded") {
  auto child =
      thrum::io::process::spawn(support::words_that_wait(), {.in = thrum::io::redirect::pipe()});
  std::error_code error;
  child.wait_for(1ms, error);
  CHECK(error == errc::deadline_exceeded);
}

IN_RUNTIME("errno after blocking is what the function has left there") {
  std::atomic<int> wrong{0};
  std::atomic<int> moved{0};
  thrum::wait_group group;
  // More than there are processors: those that come back find theirs taken.
  for (int g = 0; g != 16; ++g) {
    group.go([&, g] {
      for (int i = 0; i != scaled(40, 10); ++i) {
        const long before = support::os_thread();
        errno = 1'000 + g;
        const int result = thrum::blocking([&] {
          ::usleep(200);
          return ::close(-1 - g);
        });
        wrong += result == -1 && errno == EBADF ? 0 : 1;
        moved += support::os_thread() != before ? 1 : 0;
      }
    });
  }
  REQUIRE(group.wait_for(support::long_time));
  INFO(moved.load() << " calls came back on another thread");
  CHECK(wrong == 0);
}

IN_RUNTIME("errno moves with the goroutine to another thread") {
  const support::crowd crowd;
  for (int i = 0; i != support::affordable_migrations(scaled(10, 3)); ++i) {
    errno = 2'000 + i;
    REQUIRE(support::migrate());
    CHECK(thrum::blocking([] { return 0; }) == 0);
    errno = 3'000 + i;
    thrum::this_goroutine::yield();
    CHECK(errno == 3'000 + i);
  }
}

IN_RUNTIME("errno is the goroutine's own across whatever parks it", with_procs(1)) {
  std::atomic<bool> leave{false};
  std::atomic<int> wrong{0};
  thrum::wait_group group;
  group.go([&] {
    while (!leave) {
      errno = EDOM;
      thrum::this_goroutine::yield();
      wrong += errno == EDOM ? 0 : 1;
    }
  });
  auto ping = thrum::make_chan<int>();
  thrum::mutex mutex;
  group.go([&] {
    for (;;) {
      errno = ERANGE;
      const auto value = ping.recv();
      wrong += errno == ERANGE ? 0 : 1;
      if (!value) {
        break;
      }
      const std::lock_guard lock(mutex);
      thrum::this_goroutine::yield();
    }
  });
  for (int i = 0; i != 20; ++i) {
    errno = 100 + i;
    thrum::this_goroutine::yield();
    CHECK(errno == 100 + i);
    thrum::sleep_for(100us);
    CHECK(errno == 100 + i);
    ping.send(i);
    CHECK(errno == 100 + i);
    {
      const std::lock_guard lock(mutex);  // held by the receiver, which has yielded
      CHECK(errno == 100 + i);
    }
    thrum::spawn([] { errno = EIO; }).join();
    CHECK(errno == 100 + i);
  }
  leave = true;
  ping.close();
  group.wait();
  CHECK(wrong == 0);
}

IN_RUNTIME("errno is 0 where a goroutine begins", with_procs(1)) {
  errno = ENOSPC;
  CHECK(thrum::spawn([] { return errno; }).join() == 0);
  CHECK(errno == ENOSPC);
}

TEST_CASE("errno remains an int that can be assigned to, also on a foreign thread") {
  static_assert(std::is_same_v<decltype((errno)), int&>);
  errno = 0;
  CHECK(::close(-1) == -1);
  CHECK(errno == EBADF);
  thrum::sleep_for(1ms);
  errno = 5;
  CHECK(errno == 5);
}
