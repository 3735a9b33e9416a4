// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/io/wait.hpp>

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/descriptors.hpp"
#include "support/eventually.hpp"
#include "support/net.hpp"
#include "support/process.hpp"
#include "support/put_back_action.hpp"
#include "support/scale.hpp"
#include "support/waits.hpp"
#include "support/with_runtime.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace std::chrono_literals;
using support::error_of;
using support::eventually;
using support::is_timeout;
using support::scaled;
using support::steady;
using support::with_runtime;
using thrum::io::wait_readable;
using thrum::io::wait_writable;

namespace {

/// Two connected sockets as of a foreign library: in blocking mode, known by their numbers only.
struct foreign_pair {
  foreign_pair() { REQUIRE(support::open_socket_pair(ends, support::waits::yes)); }
  ~foreign_pair() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  foreign_pair(const foreign_pair&) = delete;
  foreign_pair& operator=(const foreign_pair&) = delete;

  void put(int end, std::string_view text) const {
    [[maybe_unused]] const auto n = ::write(ends[end], text.data(), text.size());
  }
  std::size_t take(int end) const {
    char buffer[16];
    const auto n = ::recv(ends[end], buffer, sizeof buffer, MSG_DONTWAIT);
    return n > 0 ? static_cast<std::size_t>(n) : 0;
  }
  void fill(int end) const {
    const std::string block(100'000, 'x');
    while (::send(ends[end], block.data(), block.size(), MSG_DONTWAIT) > 0) {
    }
  }
  void drain(int end) const {
    std::string buffer(100'000, '\0');
    while (::recv(ends[end], buffer.data(), buffer.size(), MSG_DONTWAIT) > 0) {
    }
  }

  int ends[2] = {-1, -1};
};

}  // namespace

TEST_CASE("wait_readable returns when there is something to read, now or later, and at the end") {
  with_runtime([] {
    foreign_pair pair;
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
    ::shutdown(pair.ends[1], SHUT_WR);
    wait_readable(pair.ends[0]);
  });
}

TEST_CASE("wait_writable returns when there is room again") {
  with_runtime([] {
    foreign_pair pair;
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
  });
}

TEST_CASE("a wait for a descriptor times out at its deadline, not before, and leaves nothing") {
  with_runtime([] {
    foreign_pair pair;
    for (const auto after : {-1'000ms, 0ms, 1ms, 20ms}) {
      const auto start = steady::now();
      CHECK(is_timeout(error_of([&] { wait_readable(pair.ends[0], start + after); })));
      CHECK(steady::now() - start >= after);
    }
    pair.put(1, "x");
    wait_readable(pair.ends[0], steady::now() - 1s);  // it can be read, whatever the time
    pair.fill(0);
    CHECK(is_timeout(error_of([&] { wait_writable(pair.ends[0], steady::now() + 1ms); })));
  });
}

TEST_CASE("a number that belongs to nothing is an error, and no wait") {
  const auto check = [] {
    const int number = ::fcntl(0, F_DUPFD, 700);  // so high that nobody else gets it
    ::close(number);
    for (const int wrong : {-1, number}) {
      CHECK(error_of([&] { wait_readable(wrong); }) == std::errc::bad_file_descriptor);
      CHECK(error_of([&] { wait_writable(wrong); }) == std::errc::bad_file_descriptor);
    }
  };
  check();
  with_runtime(check);
}

TEST_CASE(
    "several goroutines wait for one descriptor: what comes wakes all, each byte is for one") {
  with_runtime([] {
    foreign_pair pair;
    constexpr int waiters = 8;
    std::atomic<int> got{0};
    thrum::wait_group group;
    for (int i = 0; i != waiters; ++i) {
      group.go([&] {
        char byte;
        do {
          wait_readable(pair.ends[0]);
        } while (::recv(pair.ends[0], &byte, 1, MSG_DONTWAIT) != 1);
        ++got;
      });
    }
    for (int i = 0; i != waiters; ++i) {
      CHECK(eventually([&] { return got == i; }));
      pair.put(1, "x");
    }
    group.wait();
    CHECK(got == waiters);
  });
}

TEST_CASE("both directions of one descriptor are waited for at the same time, in any order") {
  with_runtime([] {
    for (int i = 0; i != scaled(100, 10); ++i) {
      foreign_pair pair;
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
  });
}

TEST_CASE("a number that is closed and used again is waited for as what it is now") {
  with_runtime([] {
    int reused = 0;
    int number = -1;
    for (int i = 0; i != scaled(300, 30); ++i) {
      foreign_pair pair;
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
  });
}

TEST_CASE("a waiter for a number that is given anew is not told of its new owner") {
  with_runtime([] {
    for (const bool somebody_waits_for_the_new_one : {false, true}) {
      foreign_pair old;
      foreign_pair fresh;
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
      CHECK(first == (somebody_waits_for_the_new_one ? std::errc::operation_canceled
                                                     : std::errc::timed_out));
      CHECK_FALSE(second);
      fresh.drain(0);
    }
  });
}

TEST_CASE("both sides that wait for a number hear that it was given anew, others are not touched") {
  with_runtime([] {
    foreign_pair old;
    foreign_pair fresh;
    foreign_pair other;
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
  });
}

TEST_CASE("what the wait before has found does not keep a later one waiting") {
  with_runtime([] {
    foreign_pair pair;
    const int number = pair.ends[0];
    const auto soon = [] { return steady::now() + support::long_time; };
    for (int i = 0; i != 20; ++i) {
      CHECK(is_timeout(error_of([&] { wait_readable(number, steady::now() + 100us); })));
      pair.put(1, "x");
      for (int k = 0; k != i; ++k) {
        wait_readable(number, soon());
      }
      CHECK(pair.take(0) == 1);
    }
    // A file is always ready, and has no place in the poller.
    const int file = ::open(support::own_program().c_str(), O_RDONLY | O_CLOEXEC);
    CHECK(is_timeout(error_of([&] { wait_readable(number, steady::now() + 100us); })));
    REQUIRE(::dup2(file, number) == number);
    wait_readable(number, soon());
    ::close(file);
  });
}

TEST_CASE("a descriptor that a connection owns is waited for beside the connection's own reads") {
  with_runtime([] {
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
  });
}

TEST_CASE("a goroutine that waits for a descriptor of others is unwound when its runtime stops") {
  foreign_pair pair;
  CHECK(support::is_unwound_at_stop([&] { wait_readable(pair.ends[0]); }));
  pair.put(1, "x");
  with_runtime([&] { wait_readable(pair.ends[0]); });
}

TEST_CASE("threads wait for descriptors, too, without a runtime and beside goroutines") {
  foreign_pair pair;
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

TEST_CASE("signals do not make a descriptor ready") {
  with_runtime([] {
    foreign_pair pair;
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
  });
}
