// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/io/signal_set.hpp>

#include "support/process.hpp"
#include "support/signals.hpp"
#include "support/test.hpp"
#include "support/waits.hpp"

#include <csignal>
#include <initializer_list>

using support::first_signal;
using support::second_signal;
using support::send_to_us;
using thrum::io::signal_set;

namespace {

std::atomic<int> heard_by_others{0};
void other_handler(int) { ++heard_by_others; }

}  // namespace

IN_RUNTIME("a signal comes as an element of the channel") {
  signal_set set{first_signal, second_signal};
  send_to_us(first_signal);
  CHECK(set.chan().recv() == first_signal);
  send_to_us(second_signal);
  CHECK(set.chan().recv() == second_signal);
}

IN_RUNTIME("signals are one case of a select") {
  signal_set set{first_signal};
  int got = 0;
  thrum::go([] {
    thrum::sleep_for(1ms);
    send_to_us(first_signal);
  });
  const std::size_t chosen = thrum::select(
      thrum::on_recv(set.chan(), [&](std::optional<int> number) { got = number.value_or(-1); }),
      thrum::on_timeout(support::long_time));
  CHECK(chosen == 0);
  CHECK(got == first_signal);
}

TEST_CASE("a signal reaches its channel on a thread without a runtime") {
  signal_set set{first_signal};
  send_to_us(first_signal);
  CHECK(set.chan().recv() == first_signal);
}

IN_RUNTIME("a signal is heard while the only processor computes", with_procs(1)) {
  signal_set set{first_signal};
  send_to_us(first_signal);
  const auto end = std::chrono::steady_clock::now() + support::long_time;
  while (set.chan().size() == 0 && std::chrono::steady_clock::now() < end) {
  }
  CHECK(set.chan().size() == 1);
}

TEST_CASE("several sets hear the same signal, and one that ends does not end the others") {
  with_runtime([] {
    signal_set first{first_signal};
    {
      signal_set second{second_signal, first_signal};
      send_to_us(first_signal);
      CHECK(first.chan().recv() == first_signal);
      CHECK(second.chan().recv() == first_signal);
    }
    send_to_us(first_signal);
    CHECK(first.chan().recv() == first_signal);
    CHECK(support::handler_of(second_signal) == SIG_DFL);
  });
  CHECK(support::handler_of(first_signal) == SIG_DFL);
}

TEST_CASE("a handler of others is called again when the set is gone") {
  std::signal(first_signal, &other_handler);
  heard_by_others = 0;
  {
    signal_set set{first_signal};
    send_to_us(first_signal);
    CHECK(set.chan().recv() == first_signal);
    CHECK(heard_by_others == 0);
  }
  std::raise(first_signal);
  CHECK(heard_by_others == 1);
  std::signal(first_signal, SIG_DFL);
}

TEST_CASE("a handler that others install while a set exists stays") {
  {
    signal_set set{first_signal};
    std::signal(first_signal, &other_handler);
  }
  CHECK(support::handler_of(first_signal) == &other_handler);
  heard_by_others = 0;
  std::raise(first_signal);
  CHECK(heard_by_others == 1);
  std::signal(first_signal, SIG_DFL);
}

IN_RUNTIME("a signal that comes often counts at least once, and none is lost for good") {
  signal_set set{first_signal, second_signal};
  const int n = support::scaled(1000, 100);
  for (int i = 0; i != n; ++i) {
    std::raise(first_signal);  // more than the channel has room for
  }
  std::raise(second_signal);
  std::vector<int> got;
  while (got.empty() || got.back() != second_signal) {
    got.push_back(set.chan().recv().value_or(second_signal));
  }
  CHECK(got.size() >= 2);
  CHECK(got.size() <= static_cast<std::size_t>(n) + 1);
  CHECK(got.front() == first_signal);
}

IN_RUNTIME("when a set is stopped its channel ends after what had come") {
  signal_set set{first_signal};
  const auto channel = set.chan();
  send_to_us(first_signal);
  REQUIRE(support::eventually([&] { return channel.size() == 1; }));
  set.stop();
  set.stop();
  CHECK(channel.recv() == first_signal);
  CHECK(!channel.recv());
  CHECK(!set.chan());

  auto waiting = thrum::spawn([] {
    signal_set other{first_signal};
    auto receiver = thrum::spawn([c = other.chan()] { return c.recv().has_value(); });
    thrum::this_goroutine::yield();
    signal_set moved = std::move(other);
    other = signal_set{second_signal};
    moved = std::move(other);
    return receiver.join();
  });
  CHECK(!waiting.join());
}

IN_RUNTIME("a signal that came before a set is stopped is heard") {
  for (int n = support::scaled(300, 30); n != 0; --n) {
    signal_set set{first_signal, second_signal};
    const auto channel = set.chan();
    std::raise(second_signal);
    std::raise(first_signal);
    set.stop();
    const int first = channel.recv().value_or(0);
    const int second = channel.recv().value_or(0);
    REQUIRE(first != second);
    REQUIRE(first + second == first_signal + second_signal);
    REQUIRE(!channel.recv());
  }
}

IN_RUNTIME("a set that is stopped hears of a signal for which others had left no room") {
  signal_set set{first_signal, second_signal};
  const auto channel = set.chan();
  for (const std::size_t n : {1U, 2U}) {
    std::raise(first_signal);
    REQUIRE(support::eventually([&] { return channel.size() == n; }));
  }
  std::raise(second_signal);
  set.stop();
  CHECK(channel.recv() == first_signal);
  CHECK(channel.recv() == second_signal);
  CHECK(!channel.recv());
}

IN_RUNTIME("a signal that came while one set stops is heard by the others") {
  signal_set stays{first_signal};
  for (int n = support::scaled(300, 30); n != 0; --n) {
    {
      const signal_set goes{first_signal};
      std::raise(first_signal);
    }
    REQUIRE(stays.chan().recv() == first_signal);
  }
}

IN_RUNTIME("a set hears nothing that came before it existed") {
  for (int n = support::scaled(300, 30); n != 0; --n) {
    std::optional<signal_set> earlier(std::in_place, std::initializer_list<int>{first_signal});
    std::raise(first_signal);
    if (n % 2 == 0) {
      earlier.reset();
    }
    signal_set later{first_signal, second_signal};
    const auto channel = later.chan();
    std::raise(second_signal);
    REQUIRE(channel.recv() == second_signal);
    later.stop();
    REQUIRE(!channel.recv());
  }
}

TEST_CASE("a stop ends the wait for a signal") {
  CHECK(support::is_unwound_at_stop([] {
    signal_set set{first_signal};
    set.chan().recv();
  }));
  CHECK(support::handler_of(first_signal) == SIG_DFL);
}

TEST_CASE("signals that must not be heard are refused, with a reason") {
  CHECK(support::is_usage_error("signal_set: ", [] { signal_set{SIGSEGV}; }));
  for (const int number : {9, 0, -1, 65}) {
    std::error_code error;
    const signal_set refused({first_signal, number}, error);
    CHECK(error == std::errc::invalid_argument);
    CHECK(!refused.chan());
    try {
      signal_set{first_signal, number};
      FAIL("it was accepted");
    } catch (const std::system_error& thrown) {
      CHECK(std::string(thrown.what())
                .find("signal_set::signal_set: signal " + std::to_string(number)) == 0);
    }
  }
  CHECK(support::handler_of(first_signal) == SIG_DFL);
}

TEST_CASE("all sets together cost one thread as long as there is one, and no longer") {
  // By its name: a thread of an earlier test may still be on its way out.
  const auto threads = [] { return support::thread_names().count("thrum/signals"); };
  CHECK(support::eventually([&] { return threads() == 0; }));
  {
    const signal_set first{first_signal};
    const signal_set second{second_signal};
    for (const int number : {first_signal, second_signal}) {
      send_to_us(number);
    }
    CHECK(first.chan().recv() == first_signal);
    CHECK(second.chan().recv() == second_signal);  // the thread that delivers has its name by now
    CHECK(threads() == 1);
  }
  CHECK(support::eventually([&] { return threads() == 0; }));
}

TEST_CASE("sets come and go while signals rain") {
  std::atomic<bool> done{false};
  signal_set keeps_it_harmless{first_signal};
  std::thread rain([&] {
    while (!done) {
      send_to_us(first_signal);
      std::this_thread::sleep_for(50us);
    }
  });
  with_runtime([] {
    thrum::wait_group group;
    std::atomic<int> others{0};
    for (int i = 0; i != 4; ++i) {
      group.go([&] {
        for (int n = support::scaled(100, 10); n != 0; --n) {
          signal_set set{first_signal};
          others += set.chan().recv() == first_signal ? 0 : 1;
        }
      });
    }
    group.wait();
    CHECK(others == 0);
  });
  done = true;
  rain.join();
}
