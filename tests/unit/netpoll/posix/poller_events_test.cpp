// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a poller with descriptors promises of them: here they are what POSIX has, by their numbers.

#include <thrum/detail/netpoll/netpoll.hpp>

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
#include "support/recorder.hpp"

namespace {

using namespace std::chrono_literals;
using support::recorder;
using clock_type = std::chrono::steady_clock;

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
// what is armed is never reported.
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
    REQUIRE(poller.add(pair.fds[0], tag_of(7)) == 0);
    recorder first;
    poller.poll(0, first);
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
                        "[poller]", pollers_that_arm) {
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
