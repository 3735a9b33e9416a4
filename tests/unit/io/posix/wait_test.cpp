// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Waiting for descriptors of others where a number can be given another file, and where signals are.

#include <thrum/io/wait.hpp>

#include "support/net.hpp"
#include "support/process.hpp"
#include "support/put_back_action.hpp"
#include "support/test.hpp"
#include "support/watched_pair.hpp"

#include <csignal>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

using support::is_timeout;
using support::steady;
using support::watched_pair;
using thrum::io::wait_readable;
using thrum::io::wait_writable;

IN_RUNTIME("a waiter for a descriptor number hears nothing of the number's next owner") {
  for (const bool somebody_waits_for_the_new_one : {false, true}) {
    watched_pair old;
    watched_pair fresh;
    const int number = old.ends[0];
    std::error_code first;
    std::error_code second;
    std::atomic<bool> first_returned{false};
    thrum::wait_group group;
    group.go([&] {
      const auto until = somebody_waits_for_the_new_one ? thrum::time_point::max()
                                                        : thrum::time_point(steady::now() + 30ms);
      wait_readable(number, until, first);
      first_returned = true;
    });
    CHECK(eventually([&] { return first_returned || thrum::stats().waiting >= 1; }));
    REQUIRE(::dup2(fresh.ends[0], number) == number);  // closes the old one
    if (somebody_waits_for_the_new_one) {
      group.go([&] { wait_readable(number, thrum::time_point::max(), second); });
      CHECK(eventually([&] { return first_returned.load(); }));
    }
    fresh.put(1, "x");
    group.wait();
    CHECK(first ==
          (somebody_waits_for_the_new_one ? std::errc::operation_canceled : std::errc::timed_out));
    CHECK_FALSE(second);
    fresh.drain(0);
  }
}

IN_RUNTIME("waiters for both sides of a reused descriptor number return, and others wait on") {
  watched_pair old;
  watched_pair fresh;
  watched_pair other;
  const int number = old.ends[0];
  old.fill(0);
  std::error_code reading;
  std::error_code writing;
  std::error_code elsewhere;
  thrum::wait_group group;
  std::atomic<int> told{0};
  group.go([&] {
    wait_readable(number, thrum::time_point::max(), reading);
    ++told;
  });
  group.go([&] {
    wait_writable(number, thrum::time_point::max(), writing);
    ++told;
  });
  group.go([&] { wait_readable(other.ends[0], thrum::time_point::max(), elsewhere); });
  CHECK(eventually([] { return thrum::stats().waiting >= 3; }));
  REQUIRE(::dup2(fresh.ends[0], number) == number);
  CHECK(eventually([&] {
    CHECK(is_timeout(error_of([&] { wait_readable(number, steady::now() + 1ms); })));
    return told == 2;
  }));
  other.put(1, "x");
  group.wait();
  CHECK(support::is_cancelled(reading));
  CHECK(support::is_cancelled(writing));
  CHECK_FALSE(elsewhere);
}

IN_RUNTIME("a number that becomes a file's is always ready") {
  const watched_pair pair;
  const int number = pair.ends[0];
  const int file = ::open(support::own_program().c_str(), O_RDONLY | O_CLOEXEC);
  CHECK(is_timeout(error_of([&] { wait_readable(number, steady::now() + 100us); })));
  REQUIRE(::dup2(file, number) == number);
  wait_readable(number, steady::now() + support::long_time);
  ::close(file);
}

IN_RUNTIME("signals do not make a descriptor ready") {
  watched_pair pair;
  struct sigaction before {};
  struct sigaction nothing {};
  nothing.sa_handler = [](int) {};
  ::sigaction(SIGUSR1, &nothing, &before);
  std::atomic<bool> stop{false};
  std::thread noise([&] {
    while (!stop) {
      ::kill(::getpid(), SIGUSR1);
      std::this_thread::sleep_for(100us);
    }
  });
  int timeouts = 0;
  const int n = scaled(300, 30);
  for (int i = 0; i != n; ++i) {
    timeouts += is_timeout(error_of(
        [&] { wait_readable(pair.ends[0], steady::now() + std::chrono::microseconds(i)); }));
  }
  stop = true;
  thrum::blocking([&] { noise.join(); });
  support::put_back_action(SIGUSR1, before);
  CHECK(timeouts == n);
}
