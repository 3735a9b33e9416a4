// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/sync/once.hpp>

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/scale.hpp"
#include "support/waits.hpp"
#include "support/with_runtime.hpp"

#include <atomic>
#include <memory>
#include <stdexcept>

using support::eventually;
using support::scaled;
using support::with_procs;
using support::with_runtime;

TEST_CASE("Once: one of ten goroutines makes the call, and all return after it") {
  with_runtime(with_procs(4), [] {
    for (int round = 0; round != scaled(200); ++round) {
      thrum::once_flag flag;
      int done = 0;
      std::atomic<bool> early{false};
      thrum::wait_group group;
      for (int i = 0; i != 10; ++i) {
        group.go([&] {
          thrum::call_once(flag, [&] {
            thrum::this_goroutine::yield();
            ++done;
          });
          early = early || done != 1;
        });
      }
      group.wait();
      CHECK(done == 1);
      CHECK_FALSE(early);
    }
  });
}

TEST_CASE("call_once hands on its arguments") {
  thrum::once_flag flag;
  int sum = 0;
  thrum::call_once(
      flag, [&](std::unique_ptr<int> a, int b) { sum = *a + b; }, std::make_unique<int>(3), 4);
  CHECK(sum == 7);
}

TEST_CASE("an attempt that throws does not count, and the next caller tries") {
  with_runtime([] {
    thrum::once_flag flag;
    int attempts = 0;
    CHECK_THROWS_AS(thrum::call_once(flag,
                                     [&] {
                                       ++attempts;
                                       throw std::runtime_error("not yet");
                                     }),
                    std::runtime_error);
    thrum::call_once(flag, [&] { ++attempts; });
    thrum::call_once(flag, [&] { ++attempts; });
    CHECK(attempts == 2);
  });
}

TEST_CASE("when an attempt fails, one of its waiters makes the next one") {
  with_runtime([] {
    thrum::once_flag flag;
    const thrum::chan<void> fail(0);
    std::atomic<int> done{0};
    auto first = thrum::spawn([&] {
      thrum::call_once(flag, [&] {
        fail.recv();
        throw std::runtime_error("not yet");
      });
    });
    REQUIRE(eventually([] { return thrum::stats().waiting == 1; }));
    thrum::wait_group group;
    for (int i = 0; i != 3; ++i) {
      group.go([&] { thrum::call_once(flag, [&] { ++done; }); });
    }
    REQUIRE(eventually([] { return thrum::stats().waiting == 4; }));
    CHECK(done == 0);
    fail.send();
    CHECK_THROWS_AS(first.join(), std::runtime_error);
    group.wait();
    CHECK(done == 1);
  });
}

TEST_CASE("an attempt that the stop of its runtime ends does not count") {
  thrum::once_flag flag;
  int done = 0;
  with_runtime([&] {
    thrum::go([&] { thrum::call_once(flag, [] { thrum::chan<int>(0).recv(); }); });
    REQUIRE(eventually([] { return thrum::stats().waiting == 1; }));
  });
  thrum::call_once(flag, [&] { ++done; });
  CHECK(done == 1);
}

TEST_CASE("goroutines and foreign threads share a once_flag") {
  with_runtime([] {
    thrum::once_flag flag;
    std::atomic<int> done{0};
    const auto work = [&] { thrum::call_once(flag, [&] { ++done; }); };
    support::on_goroutines_and_threads(4, work);
    CHECK(done == 1);
  });
}
