// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What every poller promises of its sleep, with a descriptor and without; posix/poller_events_test.cpp
// has what one with descriptors promises besides.

#include <thrum/detail/netpoll/netpoll.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "support/catch.hpp"
#include "support/recorder.hpp"
#include "support/silent_socket.hpp"

namespace {

using namespace std::chrono_literals;
using support::recorder;
using thrum::netpoll::sleeper;
using clock_type = std::chrono::steady_clock;

struct silent_descriptor {
  silent_descriptor() { REQUIRE(fd != thrum::os::no_handle); }
  ~silent_descriptor() { thrum::os::close(fd); }
  const thrum::os::handle fd = support::open_silent_socket();
};

/// A poller that has a descriptor sleeps in another place than one that has none.
template <class Poller>
struct beside_descriptor {
  beside_descriptor() {
    REQUIRE(poller.open() == 0);
    REQUIRE(poller.add(silent.fd, std::uint64_t{7} << 32 | 1) == 0);
    recorder first;
    poller.poll(0, first);
  }
  silent_descriptor silent;
  Poller poller;
};

template <class Poller>
struct beside_none {
  beside_none() { REQUIRE(poller.open() == 0); }
  Poller poller;
};

}  // namespace

#if THRUM_OS_LINUX && THRUM_POLLER_KQUEUE
#define ALL_POLLERS                                                                   \
  beside_none<sleeper>, beside_none<thrum::netpoll::poller>,                          \
      beside_descriptor<thrum::netpoll::poller>, beside_none<thrum::netpoll::kqueue>, \
      beside_descriptor<thrum::netpoll::kqueue>
#else
#define ALL_POLLERS                                          \
  beside_none<sleeper>, beside_none<thrum::netpoll::poller>, \
      beside_descriptor<thrum::netpoll::poller>
#endif

TEMPLATE_TEST_CASE("a poll that may not wait returns at once", "[poller]", ALL_POLLERS) {
  TestType kept;
  recorder events;
  kept.poller.poll(0, events);
  CHECK(events.all.empty());
}

TEMPLATE_TEST_CASE("a poll with a delay returns when it is over, not before", "[poller]",
                   ALL_POLLERS) {
  TestType kept;
  recorder events;
  for (const auto delay : {std::chrono::nanoseconds(3ms), std::chrono::nanoseconds(300us)}) {
    // A closed ring of io_uring may still interrupt this thread, and end a poll as a signal does.
    constexpr int some = 10;
    bool has_waited = false;
    for (int i = 0; i != some && !has_waited; ++i) {
      const auto start = clock_type::now();
      kept.poller.poll(delay.count(), events);
      has_waited = clock_type::now() - start >= delay;
    }
    CHECK(has_waited);
  }
}

TEMPLATE_TEST_CASE("wake ends a poll that waits for ever", "[poller]", ALL_POLLERS) {
  TestType kept;
  recorder events;
  std::thread waker([&] {
    std::this_thread::sleep_for(2ms);
    kept.poller.wake();
  });
  kept.poller.poll(-1, events);
  waker.join();
  CHECK(events.all.empty());
}

TEMPLATE_TEST_CASE("wakes before a poll end that one and no other", "[poller]", ALL_POLLERS) {
  TestType kept;
  recorder events;
  kept.poller.wake();
  kept.poller.wake();
  kept.poller.poll(-1, events);
  const auto start = clock_type::now();
  const std::int64_t delay = 2'000'000;
  kept.poller.poll(delay, events);
  kept.poller.poll(delay, events);  // one of them may come back early
  CHECK(clock_type::now() - start >= 2ms);
}

TEMPLATE_TEST_CASE("a poll that does not wait leaves a wake to the one that does", "[poller]",
                   ALL_POLLERS) {
  TestType kept;
  recorder events;
  kept.poller.wake();
  kept.poller.poll(0, events);
  kept.poller.poll(-1, events);
  CHECK(events.all.empty());  // and has returned: a wake is no event of a descriptor
}

TEST_CASE("polls that do not wait take no wake away from one that does") {
  beside_descriptor<thrum::netpoll::poller> kept;
  std::atomic<bool> done{false};
  std::thread others([&] {
    recorder events;
    while (!done) {
      kept.poller.poll(0, events);
    }
  });
  for (int i = 0; i != 1000; ++i) {
    std::thread waker;
    if (i % 100 == 0) {
      waker = std::thread([&] { kept.poller.wake(); });
    } else {
      kept.poller.wake();
    }
    recorder events;
    kept.poller.poll(-1, events);
    if (waker.joinable()) {
      waker.join();
    }
  }
  done = true;
  others.join();
  SUCCEED("each has returned");
}

namespace {

struct cannot_be_woken : thrum::netpoll::sleeper {
  void wake(int) noexcept;
};
struct counts_in_int : thrum::netpoll::sleeper {
  int descriptors() const noexcept;
};
struct polls_and_throws : thrum::netpoll::sleeper {
  void poll(std::int64_t, thrum::netpoll::sink&);
};

}  // namespace

TEST_CASE("a poller that does less than its contract asks is refused") {
  STATIC_REQUIRE_FALSE(thrum::netpoll::poller_contract<cannot_be_woken>);
  STATIC_REQUIRE_FALSE(thrum::netpoll::poller_contract<counts_in_int>);
  STATIC_REQUIRE_FALSE(thrum::netpoll::poller_contract<polls_and_throws>);
}
