// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/sched/core/counters.hpp>

#include <cstdint>

#include "support/catch.hpp"

TEST_CASE("a figure is what was added to it less what was taken") {
  thrum::sched::figure<std::uint32_t> figure;
  CHECK(figure.get() == 0);
  figure.add();
  figure.add(41);
  CHECK(figure.get() == 42);
  figure.take();
  CHECK(figure.get() == 41);
  figure.take(41);
  CHECK(figure.get() == 0);
}

TEST_CASE("a counter counts an event once, whether or not it publishes what led to it") {
  thrum::sched::counter counter;
  counter.add_release();
  CHECK(counter.get() == 1);
  counter.add();
  counter.add_release();
  CHECK(counter.get() == 3);
}

TEST_CASE("a counter goes on beyond 32 bits") {
  thrum::sched::counter counter;
  counter.add(0xFFFF'FFFF);
  counter.add_release();
  CHECK(counter.get() == std::uint64_t{1} << 32);
}
