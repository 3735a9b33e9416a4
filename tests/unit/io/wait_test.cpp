// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/io/wait.hpp>

#include "support/descriptors.hpp"
#include "support/net.hpp"
#include "support/process.hpp"
#include "support/test.hpp"
#include "support/waits.hpp"
#include "support/watched_pair.hpp"

#include <csignal>

using support::is_timeout;
using support::steady;
using support::watched_pair;
using thrum::io::wait_readable;
using thrum::io::wait_writable;

IN_RUNTIME("wait_readable returns when there is something to read, now or later, and at the end") {
  watched_pair pair;
  for (int i = 0; i != scaled(200, 20); ++i) {
    thrum::wait_group group;
    group.go([&] {
      thrum::sleep_for(i % 2 == 0 ? 100us : 0us);
      pair.put(1, "x");
    });
    wait_readable(pair.ends[0]);
    CHECK(pair.take(0) == 1);
    group.wait();
  }
  thrum::os::shut_down(pair.ends[1], thrum::os::writing);
  wait_readable(pair.ends[0]);
}

IN_RUNTIME("wait_writable returns when there is room again") {
  watched_pair pair;
  wait_writable(pair.ends[0]);
  pair.fill(0);
  std::atomic<bool> drained{false};
  bool too_early = false;
  thrum::wait_group group;
  group.go([&] {
    wait_writable(pair.ends[0]);
    too_early = !drained;
  });
  thrum::sleep_for(5ms);
  drained = true;
  pair.drain(1);
  group.wait();
  CHECK_FALSE(too_early);
}

IN_RUNTIME("a wait for a descriptor times out at its deadline, not before, and leaves nothing") {
  watched_pair pair;
  for (const auto after : {-1'000ms, 0ms, 1ms, 20ms}) {
    const auto start = steady::now();
    CHECK(is_timeout(error_of([&] { wait_readable(pair.ends[0], start + after); })));
    CHECK(steady::now() - start >= after);
  }
  pair.put(1, "x");
  wait_readable(pair.ends[0], steady::now() - 1s);  // it can be read, whatever the time
  pair.fill(0);
  CHECK(is_timeout(error_of([&] { wait_writable(pair.ends[0], steady::now() + 1ms); })));
}

TEST_CASE("a number that belongs to nothing is an error, and no wait") {
  const auto check = [] {
    for (const thrum::os::handle wrong : {thrum::os::no_handle, support::number_of_nothing()}) {
      CHECK(error_of([&] { wait_readable(wrong); }) == std::errc::bad_file_descriptor);
      CHECK(error_of([&] { wait_writable(wrong); }) == std::errc::bad_file_descriptor);
    }
  };
  check();
  with_runtime(check);
}

IN_RUNTIME(
    "several goroutines wait for one descriptor: what comes wakes all, each byte is for one") {
  watched_pair pair;
  constexpr int waiters = 8;
  std::atomic<int> got{0};
  thrum::wait_group group;
  for (int i = 0; i != waiters; ++i) {
    group.go([&] {
      do {
        wait_readable(pair.ends[0]);
      } while (pair.take(0, 1) != 1);
      ++got;
    });
  }
  for (int i = 0; i != waiters; ++i) {
    CHECK(eventually([&] { return got == i; }));
    pair.put(1, "x");
  }
  group.wait();
  CHECK(got == waiters);
}

IN_RUNTIME("both directions of one descriptor are waited for at the same time, in any order") {
  for (int i = 0; i != scaled(100, 10); ++i) {
    watched_pair pair;
    pair.fill(0);
    std::atomic<bool> readable{false};
    std::atomic<bool> writable{false};
    thrum::wait_group group;
    group.go([&] {
      wait_readable(pair.ends[0]);
      readable = true;
    });
    group.go([&] {
      wait_writable(pair.ends[0]);
      writable = true;
    });
    if (i % 2 == 0) {
      thrum::sleep_for(50us);
    }
    CHECK_FALSE(readable);
    CHECK_FALSE(writable);
    if (i % 4 < 2) {
      pair.put(1, "x");
      CHECK(eventually([&] { return readable.load(); }));
      CHECK_FALSE(writable);
      pair.drain(1);
    } else {
      pair.drain(1);
      CHECK(eventually([&] { return writable.load(); }));
      CHECK_FALSE(readable);
      pair.put(1, "x");
    }
    group.wait();
  }
}

IN_RUNTIME("a number that is closed and used again is waited for as what it is now") {
  int reused = 0;
  thrum::os::handle number = thrum::os::no_handle;
  for (int i = 0; i != scaled(300, 30); ++i) {
    watched_pair pair;
    reused += pair.ends[0] == number;
    number = pair.ends[0];
    CHECK(is_timeout(error_of([&] { wait_readable(number, steady::now() + 10us); })));
    thrum::wait_group group;
    group.go([&] { wait_readable(number); });
    if (i % 2 == 0) {
      thrum::this_goroutine::yield();
    }
    pair.put(1, "x");  // and closes with the event still on its way
    group.wait();
  }
  CHECK(reused > 0);
}

TEST_CASE("a wait for a descriptor number that is closed never ends for the number's next owner") {
  if (THRUM_TSAN) {
    return;  // it takes that for a mistake, which it is, of others: here it is the point
  }
  with_runtime([] {
    int told = 0;
    for (int i = 0; i != scaled(100, 20); ++i) {
      auto old = std::make_unique<watched_pair>();
      const thrum::os::handle number = old->ends[0];
      std::error_code error;
      std::atomic<bool> returned{false};
      auto waiter = thrum::spawn([&] {
        wait_readable(number, steady::now() + (i == 0 ? 200ms : 5ms), error);
        returned = true;
      });
      CHECK(eventually([&] { return returned || thrum::stats().waiting >= 1; }));
      old.reset();
      const watched_pair fresh;
      fresh.put(1, "x");
      waiter.join();
      // Told at once, where the poller hears of it; or at its deadline.
      told += support::is_cancelled(error);
      CHECK((support::is_cancelled(error) || is_timeout(error)));
    }
    if (THRUM_OS_WINDOWS) {
      CHECK(told > 0);
    }
  });
}

IN_RUNTIME("what the wait before has found does not keep a later one waiting") {
  watched_pair pair;
  const thrum::os::handle number = pair.ends[0];
  const auto soon = [] { return steady::now() + support::long_time; };
  for (int i = 0; i != 20; ++i) {
    CHECK(is_timeout(error_of([&] { wait_readable(number, steady::now() + 100us); })));
    pair.put(1, "x");
    for (int k = 0; k != i; ++k) {
      wait_readable(number, soon());
    }
    CHECK(pair.take(0) == 1);
  }
}

IN_RUNTIME("a file is always ready, and has no place in the poller") {
  const thrum::io::file file = thrum::io::file::open(support::own_program());
  const auto soon = steady::now() + support::long_time;
  CHECK_FALSE(error_of([&] { wait_readable(file.native_handle(), soon); }));
  CHECK_FALSE(error_of([&] { wait_writable(file.native_handle(), soon); }));
}

IN_RUNTIME("a descriptor that a connection owns is waited for beside the connection's own reads") {
  auto [client, server] = support::tcp_pair();
  const int n = scaled(300, 30);
  std::atomic<int> seen{0};
  std::atomic<int> got{0};
  thrum::wait_group group;
  group.go([&c = client, &seen, &got, n] {
    while (got != n) {
      try {
        wait_readable(c.native_handle(), steady::now() + 1ms);
        ++seen;
      } catch (const std::system_error&) {
      }
      thrum::this_goroutine::yield();
    }
  });
  group.go([&c = client, &got, n] {
    char byte[1];
    while (got != n) {
      got += c.read(byte) == 1;
    }
  });
  for (int i = 0; i != n; ++i) {
    server.write("x");
    CHECK(eventually([&] { return got == i + 1; }));
  }
  group.wait();
  std::atomic<bool> last{false};
  group.go([&c = client, &last] {
    wait_readable(c.native_handle());
    last = true;
  });
  CHECK_FALSE(last);
  server.write("x");
  group.wait();
  CHECK(got == n);
}

TEST_CASE("a goroutine that waits for a descriptor of others is unwound when its runtime stops") {
  watched_pair pair;
  CHECK(support::is_unwound_at_stop([&] { wait_readable(pair.ends[0]); }));
  pair.put(1, "x");
  with_runtime([&] { wait_readable(pair.ends[0]); });
}

TEST_CASE("threads wait for descriptors, too, without a runtime and beside goroutines") {
  watched_pair pair;
  CHECK(is_timeout(error_of([&] { wait_readable(pair.ends[0], steady::now() + 5ms); })));
  std::thread writer([&] {
    std::this_thread::sleep_for(5ms);
    pair.put(1, "x");
  });
  wait_readable(pair.ends[0]);
  writer.join();
  CHECK(pair.take(0) == 1);
  with_runtime([&] {
    std::atomic<int> returned{0};
    thrum::go([&] {
      thrum::sleep_for(2ms);
      pair.put(1, "x");
    });
    support::on_goroutines_and_threads(2, [&] {
      wait_readable(pair.ends[0]);
      ++returned;
    });
    CHECK(returned == 4);
  });
}

TEST_CASE("wait_readable and wait_writable can say what is wrong without throwing") {
  thrum::os::handle ends[2];
  REQUIRE(thrum::os::open_pipe(ends) == 0);
  const auto check = [&] {
    const auto soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
    std::error_code error;
    thrum::io::wait_readable(ends[0], soon, error);
    CHECK(error == std::errc::timed_out);
    thrum::io::wait_writable(ends[1], thrum::time_point::max(), error);
    CHECK_FALSE(error);
    thrum::io::wait_readable(thrum::os::no_handle, thrum::time_point::max(), error);
    CHECK(error == std::errc::bad_file_descriptor);
    CHECK_THROWS_AS(thrum::io::wait_readable(ends[0], soon), std::system_error);
  };
  check();
  support::with_runtime(check);
  thrum::os::close(ends[0]);
  thrum::os::close(ends[1]);
}
