// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/sync/recursive_mutex.hpp>

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/scale.hpp"
#include "support/waits.hpp"
#include "support/with_runtime.hpp"

#include <chrono>
#include <mutex>

using namespace std::chrono_literals;
using support::is_usage_error;
using support::scaled;
using support::with_procs;
using support::with_runtime;

namespace {

bool others_can_lock(thrum::recursive_mutex& mutex) {
  return thrum::spawn([&] { return std::unique_lock(mutex, std::try_to_lock).owns_lock(); }).join();
}

}  // namespace

TEST_CASE("its owner may lock a recursive_mutex again, and others only after as many unlocks") {
  with_runtime([] {
    thrum::recursive_mutex mutex;
    mutex.lock();
    CHECK(mutex.try_lock());
    CHECK(mutex.try_lock_for(1ms));
    CHECK_FALSE(others_can_lock(mutex));
    mutex.unlock();
    mutex.unlock();
    CHECK_FALSE(others_can_lock(mutex));
    mutex.unlock();
    CHECK(others_can_lock(mutex));
  });
}

TEST_CASE("a goroutine owns its recursive_mutex on whatever thread it goes on") {
  with_runtime(with_procs(4), [] {
    thrum::recursive_mutex mutex;
    const std::lock_guard guard(mutex);
    for (int i = 0; i != 100; ++i) {
      thrum::this_goroutine::yield();
      const std::unique_lock again(mutex, std::try_to_lock);
      REQUIRE(again.owns_lock());
    }
    CHECK_FALSE(others_can_lock(mutex));
  });
}

TEST_CASE("a timed lock of a recursive_mutex gives up in time") {
  with_runtime([] {
    thrum::recursive_mutex mutex;
    mutex.lock();
    thrum::spawn([&] {
      CHECK_FALSE(mutex.try_lock_for(1ms));
      CHECK_FALSE(mutex.try_lock_until(std::chrono::steady_clock::now() + 1ms));
    }).join();
    mutex.unlock();
  });
}

TEST_CASE("goroutines and foreign threads exclude each other by a recursive_mutex") {
  with_runtime(with_procs(4), [] {
    thrum::recursive_mutex mutex;
    int count = 0;
    const auto work = [&] {
      for (int i = 0; i != scaled(1'000); ++i) {
        const std::scoped_lock outer(mutex);
        const std::scoped_lock inner(mutex);
        ++count;
      }
    };
    support::on_goroutines_and_threads(3, work);
    CHECK(count == 6 * scaled(1'000));
  });
}

TEST_CASE("an unlock of a recursive_mutex by anybody else is an error of use") {
  with_runtime([] {
    thrum::recursive_mutex mutex;
    CHECK(is_usage_error("recursive_mutex::unlock", [&] { mutex.unlock(); }));
    const std::lock_guard guard(mutex);
    thrum::spawn([&] {
      CHECK(is_usage_error("recursive_mutex::unlock", [&] { mutex.unlock(); }));
    }).join();
  });
}
