// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/io/signal_set.hpp>

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/child.hpp"
#include "support/eventually.hpp"
#include "support/process.hpp"
#include "support/scale.hpp"
#include "support/waits.hpp"
#include "support/with_runtime.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

using namespace std::chrono_literals;
using support::with_procs;
using support::with_runtime;
using thrum::io::signal_set;

namespace {

/// Sends a signal to the process; the system chooses a thread. ThreadSanitizer holds a signal back
/// until its thread makes a call that it knows, which a thread that sleeps does not: so there the
/// signal goes to the calling thread.
void send_to_us(int number) {
  if (THRUM_TSAN) {
    ::raise(number);
  } else {
    ::kill(::getpid(), number);
  }
}

struct ::sigaction action_of(int number) {
  struct ::sigaction found {};
  ::sigaction(number, nullptr, &found);
  return found;
}

std::atomic<int> heard_by_others{0};
void other_handler(int) { ++heard_by_others; }

}  // namespace

TEST_CASE("a signal comes as an element of the channel") {
  with_runtime([] {
    signal_set set{SIGUSR1, SIGUSR2};
    send_to_us(SIGUSR1);
    CHECK(set.chan().recv() == SIGUSR1);
    send_to_us(SIGUSR2);
    CHECK(set.chan().recv() == SIGUSR2);
  });
}

TEST_CASE("signals are one case of a select") {
  with_runtime([] {
    signal_set set{SIGUSR1};
    int got = 0;
    thrum::go([] {
      thrum::sleep_for(1ms);
      send_to_us(SIGUSR1);
    });
    const std::size_t chosen = thrum::select(
        thrum::on_recv(set.chan(), [&](std::optional<int> number) { got = number.value_or(-1); }),
        thrum::on_timeout(support::long_time));
    CHECK(chosen == 0);
    CHECK(got == SIGUSR1);
  });
}

TEST_CASE("a signal reaches its channel on a thread without a runtime") {
  signal_set set{SIGUSR1};
  send_to_us(SIGUSR1);
  CHECK(set.chan().recv() == SIGUSR1);
}

TEST_CASE("a signal is heard while the only processor computes") {
  with_runtime(with_procs(1), [] {
    signal_set set{SIGUSR1};
    send_to_us(SIGUSR1);
    const auto end = std::chrono::steady_clock::now() + support::long_time;
    while (set.chan().size() == 0 && std::chrono::steady_clock::now() < end) {
    }
    CHECK(set.chan().size() == 1);
  });
}

TEST_CASE("several sets hear the same signal, and one that ends does not end the others") {
  with_runtime([] {
    signal_set first{SIGUSR1};
    {
      signal_set second{SIGUSR2, SIGUSR1};
      send_to_us(SIGUSR1);
      CHECK(first.chan().recv() == SIGUSR1);
      CHECK(second.chan().recv() == SIGUSR1);
    }
    send_to_us(SIGUSR1);
    CHECK(first.chan().recv() == SIGUSR1);
    CHECK(action_of(SIGUSR2).sa_handler == SIG_DFL);
  });
  CHECK(action_of(SIGUSR1).sa_handler == SIG_DFL);
}

TEST_CASE("a handler of others is called again when the set is gone") {
  struct ::sigaction theirs {};
  theirs.sa_handler = &other_handler;
  theirs.sa_flags = SA_NODEFER;
  ::sigaction(SIGUSR1, &theirs, nullptr);
  heard_by_others = 0;
  {
    signal_set set{SIGUSR1};
    send_to_us(SIGUSR1);
    CHECK(set.chan().recv() == SIGUSR1);
    CHECK(heard_by_others == 0);
  }
  CHECK((action_of(SIGUSR1).sa_flags & SA_NODEFER) != 0);
  ::raise(SIGUSR1);
  CHECK(heard_by_others == 1);
  ::signal(SIGUSR1, SIG_DFL);
}

TEST_CASE("a handler that others install while a set exists stays") {
  {
    signal_set set{SIGUSR1};
    ::signal(SIGUSR1, &other_handler);
  }
  CHECK(action_of(SIGUSR1).sa_handler == &other_handler);
  heard_by_others = 0;
  ::raise(SIGUSR1);
  CHECK(heard_by_others == 1);
  ::signal(SIGUSR1, SIG_DFL);
}

TEST_CASE("a signal that comes often counts at least once, and none is lost for good") {
  with_runtime([] {
    signal_set set{SIGUSR1, SIGUSR2};
    const int n = support::scaled(1000, 100);
    for (int i = 0; i != n; ++i) {
      ::raise(SIGUSR1);  // more than the channel has room for
    }
    ::raise(SIGUSR2);
    std::vector<int> got;
    while (got.empty() || got.back() != SIGUSR2) {
      got.push_back(set.chan().recv().value_or(SIGUSR2));
    }
    CHECK(got.size() >= 2);
    CHECK(got.size() <= static_cast<std::size_t>(n) + 1);
    CHECK(got.front() == SIGUSR1);
  });
}

TEST_CASE("when a set is stopped its channel ends after what had come") {
  with_runtime([] {
    signal_set set{SIGUSR1};
    const auto channel = set.chan();
    send_to_us(SIGUSR1);
    REQUIRE(support::eventually([&] { return channel.size() == 1; }));
    set.stop();
    set.stop();
    CHECK(channel.recv() == SIGUSR1);
    CHECK(!channel.recv());
    CHECK(!set.chan());

    auto waiting = thrum::spawn([] {
      signal_set other{SIGUSR1};
      auto receiver = thrum::spawn([c = other.chan()] { return c.recv().has_value(); });
      thrum::this_goroutine::yield();
      signal_set moved = std::move(other);
      other = signal_set{SIGUSR2};
      moved = std::move(other);
      return receiver.join();
    });
    CHECK(!waiting.join());
  });
}

TEST_CASE("a signal that came before a set is stopped is heard") {
  with_runtime([] {
    for (int n = support::scaled(300, 30); n != 0; --n) {
      signal_set set{SIGUSR1, SIGUSR2};
      const auto channel = set.chan();
      ::raise(SIGUSR2);
      ::raise(SIGUSR1);
      set.stop();
      const int first = channel.recv().value_or(0);
      const int second = channel.recv().value_or(0);
      REQUIRE(first != second);
      REQUIRE(first + second == SIGUSR1 + SIGUSR2);
      REQUIRE(!channel.recv());
    }
  });
}

TEST_CASE("a set that is stopped hears of a signal for which others had left no room") {
  with_runtime([] {
    signal_set set{SIGUSR1, SIGUSR2};
    const auto channel = set.chan();
    for (const std::size_t n : {1U, 2U}) {
      ::raise(SIGUSR1);
      REQUIRE(support::eventually([&] { return channel.size() == n; }));
    }
    ::raise(SIGUSR2);
    set.stop();
    CHECK(channel.recv() == SIGUSR1);
    CHECK(channel.recv() == SIGUSR2);
    CHECK(!channel.recv());
  });
}

TEST_CASE("a signal that came while one set stops is heard by the others") {
  with_runtime([] {
    signal_set stays{SIGUSR1};
    for (int n = support::scaled(300, 30); n != 0; --n) {
      {
        const signal_set goes{SIGUSR1};
        ::raise(SIGUSR1);
      }
      REQUIRE(stays.chan().recv() == SIGUSR1);
    }
  });
}

TEST_CASE("a set hears nothing that came before it existed") {
  with_runtime([] {
    for (int n = support::scaled(300, 30); n != 0; --n) {
      std::optional<signal_set> earlier(std::in_place, std::initializer_list<int>{SIGUSR1});
      ::raise(SIGUSR1);
      if (n % 2 == 0) {
        earlier.reset();
      }
      signal_set later{SIGUSR1, SIGUSR2};
      const auto channel = later.chan();
      ::raise(SIGUSR2);
      REQUIRE(channel.recv() == SIGUSR2);
      later.stop();
      REQUIRE(!channel.recv());
    }
  });
}

TEST_CASE("a stop ends the wait for a signal") {
  CHECK(support::is_unwound_at_stop([] {
    signal_set set{SIGUSR1};
    set.chan().recv();
  }));
  CHECK(action_of(SIGUSR1).sa_handler == SIG_DFL);
}

TEST_CASE("signals that must not be heard are refused, with a reason") {
  CHECK(support::is_usage_error("signal_set: SIGURG is the runtime's own", [] {
    signal_set{SIGUSR1, SIGURG};
  }));
  CHECK(support::is_usage_error("signal_set: ", [] { signal_set{SIGSEGV}; }));
  for (const int number : {SIGKILL, 0, -1, 65}) {
    std::error_code error;
    const signal_set refused({SIGUSR1, number}, error);
    CHECK(error == std::errc::invalid_argument);
    CHECK(!refused.chan());
    try {
      signal_set{SIGUSR1, number};
      FAIL("it was accepted");
    } catch (const std::system_error& thrown) {
      CHECK(std::string(thrown.what())
                .find("signal_set::signal_set: signal " + std::to_string(number)) == 0);
    }
  }
  CHECK(action_of(SIGUSR1).sa_handler == SIG_DFL);
}

TEST_CASE("all sets together cost one thread as long as there is one, and no longer") {
  // By its name: a thread of an earlier test may still be on its way out.
  const auto threads = [] { return support::thread_names().count("thrum/signals"); };
  CHECK(support::eventually([&] { return threads() == 0; }));
  {
    const signal_set first{SIGUSR1};
    const signal_set second{SIGUSR2};
    for (const int number : {SIGUSR1, SIGUSR2}) {
      ::kill(::getpid(), number);
    }
    CHECK(first.chan().recv() == SIGUSR1);
    CHECK(second.chan().recv() == SIGUSR2);  // the thread that delivers has its name by now
    CHECK(threads() == 1);
  }
  CHECK(support::eventually([&] { return threads() == 0; }));
}

TEST_CASE("waiting for a signal alone is no deadlock") {
  if (THRUM_TSAN) {
    return;  // the timer's signal goes to a thread that sleeps
  }
  const auto result = support::run_in_child([] {
    ::_exit(thrum::run([] {
      signal_set set{SIGALRM};
      ::itimerval once{};
      once.it_value.tv_usec = 300'000;
      ::setitimer(ITIMER_REAL, &once, nullptr);
      return set.chan().recv() == SIGALRM ? 7 : 1;
    }));
  });
  CHECK(result.errors.empty());
  CHECK(result.exit_code == 7);
}

TEST_CASE("sets come and go while signals rain") {
  std::atomic<bool> done{false};
  signal_set keeps_it_harmless{SIGUSR1};
  std::thread rain([&] {
    while (!done) {
      send_to_us(SIGUSR1);
      std::this_thread::sleep_for(50us);
    }
  });
  with_runtime([] {
    thrum::wait_group group;
    std::atomic<int> others{0};
    for (int i = 0; i != 4; ++i) {
      group.go([&] {
        for (int n = support::scaled(100, 10); n != 0; --n) {
          signal_set set{SIGUSR1};
          others += set.chan().recv() == SIGUSR1 ? 0 : 1;
        }
      });
    }
    group.wait();
    CHECK(others == 0);
  });
  done = true;
  rain.join();
}
