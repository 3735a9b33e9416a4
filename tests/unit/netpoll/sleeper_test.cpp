// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/netpoll/sleeper.hpp>

#include <chrono>
#include <thread>

#include "support/catch.hpp"

using thrum::netpoll::sleeper;

TEST_CASE("a poll that may not wait returns at once", "[sleeper]") {
  sleeper poller;
  REQUIRE(poller.open() == 0);
  REQUIRE(poller.poll(0).size == 0);
  poller.close();
}

TEST_CASE("a poll with a delay returns when it is over, not before", "[sleeper]") {
  sleeper poller;
  const auto start = std::chrono::steady_clock::now();
  poller.poll(3'000'000);
  REQUIRE(std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(3));
}

TEST_CASE("wake ends a poll that waits for ever", "[sleeper]") {
  sleeper poller;
  std::thread waker([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    poller.wake();
  });
  poller.poll(-1);
  waker.join();
  SUCCEED();
}

TEST_CASE("a wake before the poll ends that poll", "[sleeper]") {
  sleeper poller;
  poller.wake();
  poller.wake();
  poller.poll(-1);
  const auto start = std::chrono::steady_clock::now();
  poller.poll(2'000'000);  // the two wakes were one
  REQUIRE(std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(2));
}
