// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What kqueue alone promises; what every poller does is in poller_events_test.cpp. A queue of
// libkqueue's is no descriptor that another one could watch: so not on Linux.

#include <thrum/detail/netpoll/netpoll.hpp>

#if THRUM_POLLER_KQUEUE && !THRUM_OS_LINUX

#include "support/catch.hpp"
#include "support/recorder.hpp"

#include <cstdint>

#include <sys/event.h>
#include <unistd.h>

TEST_CASE("a descriptor that can only be read, as a kqueue, is waited for on that side alone") {
  using thrum::netpoll::kqueue;
  constexpr std::uint64_t tag = std::uint64_t{5} << 32 | 1;
  kqueue poller;
  REQUIRE(poller.open() == 0);
  const int inner = ::kqueue();
  REQUIRE(inner >= 0);
  struct ::kevent alarm {};
  EV_SET(&alarm, 1, EVFILT_USER, EV_ADD | EV_CLEAR, 0, 0, nullptr);
  REQUIRE(::kevent(inner, &alarm, 1, nullptr, 0, nullptr) == 0);
  REQUIRE(poller.add(inner, tag) == 0);
  support::recorder none;
  poller.poll(0, none);
  CHECK(none.all.empty());
  for (int i = 0; i != 3; ++i) {
    EV_SET(&alarm, 1, EVFILT_USER, 0, NOTE_TRIGGER, 0, nullptr);
    REQUIRE(::kevent(inner, &alarm, 1, nullptr, 0, nullptr) == 0);
    support::recorder events;
    poller.poll(-1, events);
    CHECK(events.events_of(tag) == thrum::netpoll::readable);
    struct ::kevent found {};
    CHECK(::kevent(inner, nullptr, 0, &found, 1, nullptr) == 1);
  }
  poller.remove(inner);
  ::close(inner);
}

#endif  // THRUM_POLLER_KQUEUE && !THRUM_OS_LINUX
