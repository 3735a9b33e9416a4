// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What every poller promises, and what one with descriptors promises besides.

#include <thrum/netpoll/netpoll.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/catch.hpp"
#include "support/descriptors.hpp"
#include "support/process.hpp"

namespace {

using namespace std::chrono_literals;
using thrum::netpoll::sleeper;
using clock_type = std::chrono::steady_clock;

struct seen {
  std::uint64_t tag;
  std::uint32_t events;
};

struct recorder : thrum::netpoll::sink {
  recorder() : thrum::netpoll::sink{&take, nullptr} {}
  std::vector<seen> all;

  static void take(thrum::netpoll::sink& self, std::uint64_t tag, std::uint32_t events) noexcept {
    static_cast<recorder&>(self).all.push_back({tag, events});
  }
  std::uint32_t events_of(std::uint64_t tag) const {
    std::uint32_t sum = 0;
    for (const seen& one : all) {
      sum |= one.tag == tag ? one.events : 0;
    }
    return sum;
  }
};

struct connected_pair {
  connected_pair() { REQUIRE(support::open_socket_pair(fds, support::waits::no)); }
  ~connected_pair() {
    ::close(fds[0]);
    ::close(fds[1]);
  }
  void send(int from, const char* text) const { REQUIRE(::write(fds[from], text, 1) == 1); }
  int fds[2];
};

#if THRUM_OS_LINUX && THRUM_POLLER_KQUEUE
// This is kqueue over libkqueue: its queues are not descriptors that another queue could watch, so
// what is armed is never reported. Nor does it take a second one-shot filter of a descriptor.
using thrum::netpoll::kqueue;
using pollers_with_descriptors = std::tuple<thrum::netpoll::epoll, kqueue>;
using pollers_that_arm = std::tuple<thrum::netpoll::epoll>;
#else
#if THRUM_OS_LINUX
using pollers_with_descriptors = std::tuple<thrum::netpoll::epoll>;
#else
using pollers_with_descriptors = std::tuple<thrum::netpoll::poller>;
#endif
using pollers_that_arm = pollers_with_descriptors;
#endif

/// A tag as the scheduler makes them.
constexpr std::uint64_t tag_of(std::uint32_t number) { return std::uint64_t{number} << 32 | 1; }

/// A poller that has a descriptor sleeps in another place than one that has none.
template <class Poller>
struct with_descriptor {
  with_descriptor() {
    REQUIRE(poller.open() == 0);
    if constexpr (!std::is_same_v<Poller, sleeper>) {
      REQUIRE(poller.add(pair.fds[0], tag_of(7)) == 0);
      recorder first;
      poller.poll(0, first);
    }
  }
  connected_pair pair;
  Poller poller;
};

template <class Poller>
struct without_descriptor {
  without_descriptor() { REQUIRE(poller.open() == 0); }
  Poller poller;
};

}  // namespace

#if THRUM_OS_LINUX && THRUM_POLLER_KQUEUE
#define ALL_POLLERS                                                        \
  without_descriptor<sleeper>, without_descriptor<thrum::netpoll::poller>, \
      with_descriptor<thrum::netpoll::poller>, without_descriptor<kqueue>, with_descriptor<kqueue>
#else
#define ALL_POLLERS                                                        \
  without_descriptor<sleeper>, without_descriptor<thrum::netpoll::poller>, \
      with_descriptor<thrum::netpoll::poller>
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

TEMPLATE_LIST_TEST_CASE("adding the first descriptor ends a poll that sleeps without one",
                        "[poller]", pollers_with_descriptors) {
  without_descriptor<TestType> kept;
  connected_pair pair;
  std::thread other([&] {
    std::this_thread::sleep_for(2ms);
    pair.send(1, "x");
    CHECK(kept.poller.add(pair.fds[0], tag_of(3)) == 0);
  });
  recorder events;
  while (events.events_of(tag_of(3)) == 0) {
    kept.poller.poll(-1, events);
  }
  other.join();
  CHECK((events.events_of(tag_of(3)) & thrum::netpoll::readable) != 0);
  kept.poller.remove(pair.fds[0]);
}

TEMPLATE_LIST_TEST_CASE("a descriptor that is ready when it is added is reported once", "[poller]",
                        pollers_with_descriptors) {
  without_descriptor<TestType> kept;
  connected_pair pair;
  pair.send(1, "x");
  REQUIRE(kept.poller.add(pair.fds[0], tag_of(4)) == 0);
  recorder first;
  kept.poller.poll(0, first);
  CHECK(first.events_of(tag_of(4)) == (thrum::netpoll::readable | thrum::netpoll::writable));
  recorder second;
  kept.poller.poll(0, second);
  CHECK(second.all.empty());
  pair.send(1, "y");
  kept.poller.poll(-1, second);
  CHECK((second.events_of(tag_of(4)) & thrum::netpoll::readable) != 0);
}

TEMPLATE_LIST_TEST_CASE("a close of the peer is reported as unusual, and makes both sides ready",
                        "[poller]", pollers_with_descriptors) {
  with_descriptor<TestType> kept;
  ::shutdown(kept.pair.fds[1], SHUT_RDWR);
  recorder events;
  kept.poller.poll(-1, events);
  CHECK(events.events_of(tag_of(7)) ==
        (thrum::netpoll::readable | thrum::netpoll::writable | thrum::netpoll::unusual));
}

TEMPLATE_LIST_TEST_CASE("a removed descriptor is silent and not counted", "[poller]",
                        pollers_with_descriptors) {
  with_descriptor<TestType> kept;
  CHECK(kept.poller.descriptors() == 1);
  kept.poller.remove(kept.pair.fds[0]);
  CHECK(kept.poller.descriptors() == 0);
  kept.pair.send(1, "x");
  recorder events;
  kept.poller.poll(0, events);
  CHECK(events.all.empty());
}

TEMPLATE_LIST_TEST_CASE("a regular file cannot be added", "[poller]", pollers_with_descriptors) {
  without_descriptor<TestType> kept;
  const int fd = ::open(support::own_program().c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(fd >= 0);
  CHECK(kept.poller.add(fd, (std::uint64_t{1} << 32) | 1) == thrum::os::always_ready);
  CHECK(kept.poller.descriptors() == 0);
  ::close(fd);
}

TEMPLATE_LIST_TEST_CASE("an armed descriptor reports once, until it is armed again", "[poller]",
                        pollers_that_arm) {
  without_descriptor<TestType> kept;
  connected_pair pair;
  REQUIRE(kept.poller.arm_first(pair.fds[0], tag_of(5), thrum::netpoll::readable) == 0);
  recorder none;
  kept.poller.poll(0, none);
  CHECK(none.all.empty());
  pair.send(1, "x");
  recorder once;
  kept.poller.poll(-1, once);
  CHECK(once.events_of(tag_of(5)) == thrum::netpoll::readable);
  kept.poller.poll(0, none);
  CHECK(none.all.empty());
  REQUIRE(kept.poller.arm(pair.fds[0], tag_of(6), thrum::netpoll::readable) == 0);
  recorder again;
  kept.poller.poll(-1, again);
  CHECK(again.events_of(tag_of(6)) == thrum::netpoll::readable);
}

TEMPLATE_LIST_TEST_CASE("a descriptor can be added and armed at the same time", "[poller]",
                        pollers_that_arm) {
  with_descriptor<TestType> kept;
  REQUIRE(kept.poller.arm_first(kept.pair.fds[0], tag_of(8), thrum::netpoll::readable) == 0);
  kept.pair.send(1, "x");
  recorder events;
  while (events.events_of(tag_of(7)) == 0 || events.events_of(tag_of(8)) == 0) {
    kept.poller.poll(-1, events);
  }
  SUCCEED("both were reported");
}

TEMPLATE_LIST_TEST_CASE("a number that belongs to another descriptor by now is no longer armed",
                        "[poller]", pollers_that_arm) {
  without_descriptor<TestType> kept;
  int number = -1;
  {
    connected_pair first;
    number = first.fds[0];
    REQUIRE(kept.poller.arm_first(number, tag_of(5), thrum::netpoll::readable) == 0);
  }
  connected_pair second;
  REQUIRE(second.fds[0] == number);
  CHECK(kept.poller.arm(number, tag_of(6), thrum::netpoll::readable) == thrum::os::not_armed);
  REQUIRE(kept.poller.arm_first(number, tag_of(6), thrum::netpoll::readable) == 0);
  second.send(1, "x");
  recorder events;
  while (events.events_of(tag_of(6)) == 0) {
    kept.poller.poll(-1, events);
  }
  CHECK(events.events_of(tag_of(5)) == 0);
}

// Else a writer would be woken and wait again, over and over, as long as the peer does not read.
TEMPLATE_LIST_TEST_CASE("arming for writing says nothing of a peer that has ended its own stream",
                        "[poller]", pollers_with_descriptors) {
  with_descriptor<TestType> kept;
  REQUIRE(kept.poller.arm_first(kept.pair.fds[0], tag_of(8), thrum::netpoll::writable) == 0);
  recorder before;
  while (before.events_of(tag_of(8)) == 0) {
    kept.poller.poll(-1, before);
  }
  const std::vector<char> much(1 << 16);
  while (::send(kept.pair.fds[0], much.data(), much.size(), MSG_DONTWAIT) > 0) {
  }
  ::shutdown(kept.pair.fds[1], SHUT_WR);
  REQUIRE(kept.poller.arm(kept.pair.fds[0], tag_of(9), thrum::netpoll::writable) == 0);
  recorder events;
  kept.poller.poll(0, events);
  kept.poller.poll(0, events);
  CHECK(events.events_of(tag_of(9)) == 0);
}

TEMPLATE_LIST_TEST_CASE("arming counts as one descriptor, however many are armed", "[poller]",
                        pollers_with_descriptors) {
  without_descriptor<TestType> kept;
  connected_pair pair;
  CHECK(kept.poller.descriptors() == 0);
  const std::uint32_t both = thrum::netpoll::readable | thrum::netpoll::writable;
  CHECK(kept.poller.arm_first(pair.fds[0], tag_of(5), both) == 0);
  CHECK(kept.poller.arm_first(pair.fds[1], tag_of(6), thrum::netpoll::writable) == 0);
  CHECK(kept.poller.descriptors() == 1);
}

TEMPLATE_LIST_TEST_CASE("polls that do not wait take no wake away from one that does", "[poller]",
                        pollers_with_descriptors) {
  with_descriptor<TestType> kept;
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
