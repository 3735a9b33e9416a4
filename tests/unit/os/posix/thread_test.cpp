// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// OS threads.
// When the signal that interrupts a thread is sent, where it can carry no value.
// The clock.

#include <thrum/detail/os/clock.hpp>
#include <thrum/detail/os/posix/preempt_signal.hpp>
#include <thrum/detail/os/thread_parts.hpp>

#include "support/child.hpp"
#include "support/test.hpp"

#include <csignal>
#include <ctime>

#include <pthread.h>

using namespace thrum;

namespace {

constexpr std::int64_t one_ms = 1'000'000;

void* note_identity(void* where) {
  *static_cast<std::uint64_t*>(where) = os::thread_id();
  return nullptr;
}

}  // namespace

TEST_CASE("a thread runs its entry with its argument, on a thread of its own") {
  std::uint64_t id = 0;
  os::thread t;
  CHECK_FALSE(t.joinable());
  REQUIRE(os::thread::start(t, note_identity, &id) == 0);
  CHECK(t.joinable());
  t.join();
  CHECK_FALSE(t.joinable());
  CHECK(id != 0);
  CHECK(id != os::thread_id());
  CHECK(os::thread_id() == os::thread_id());
}

TEST_CASE("a moved handle is the one to join") {
  std::uint64_t id = 0;
  os::thread t;
  REQUIRE(os::thread::start(t, note_identity, &id) == 0);
  os::thread moved(std::move(t));
  os::thread assigned;
  assigned = std::move(moved);
  CHECK_FALSE(moved.joinable());
  assigned.join();
  CHECK(id != 0);
}

#if !THRUM_TSAN
TEST_CASE("a handle given up before the join ends the program") {
  const auto end = support::run_in_child([] {
    std::uint64_t id = 0;
    os::thread t;
    if (os::thread::start(t, note_identity, &id) != 0) {
      ::_exit(1);
    }
  });
  CHECK(end.signal == SIGABRT);
  CHECK(end.errors.find("before the thread was joined") != std::string::npos);
}
#endif

TEST_CASE("joining a handle without a thread ends the program") {
  const auto end = support::run_in_child([] { os::thread().join(); });
  CHECK(end.signal == SIGABRT);
}

TEST_CASE("a thread is joined without waiting once it has ended, and not before") {
  os::note end;
  os::thread t;
  REQUIRE(os::thread::start(
              t,
              [](void* argument) -> void* {
                static_cast<os::note*>(argument)->sleep();
                return nullptr;
              },
              &end) == 0);
  CHECK_FALSE(t.try_join());
  CHECK(t.joinable());
  end.wake();
  CHECK(support::eventually([&] { return t.try_join(); }));
  CHECK_FALSE(t.joinable());
  CHECK_FALSE(t.try_join());
}

TEST_CASE("a thread bears its name, cut to fifteen bytes") {
  char before[16] = {};
  char name[16] = {};
  pthread_getname_np(pthread_self(), before, sizeof before);
  os::set_thread_name("thrum-monitor");
  pthread_getname_np(pthread_self(), name, sizeof name);
  CHECK(std::string(name) == "thrum-monitor");
  os::set_thread_name("a name of far more than fifteen bytes");
  pthread_getname_np(pthread_self(), name, sizeof name);
  CHECK(std::string(name) == "a name of far m");
  os::set_thread_name(before);
}

TEST_CASE("a sleep lasts at least as long as asked, and not at all when nothing is asked") {
  const std::int64_t start = os::now();
  os::sleep_ns(3 * one_ms);
  CHECK(os::now() - start >= 3 * one_ms);
  os::sleep_ns(0);
  os::sleep_ns(-1);
  os::yield_thread();
}

TEST_CASE(
    "no second signal without a value is sent while one is on its way, unless that may be lost") {
  thrum::os::preempt_target target;
  CHECK(target.is_to_be_sent());
  CHECK_FALSE(target.is_to_be_sent());
  target.unmarked = false;  // the handler has begun
  CHECK(target.is_to_be_sent());
  int sent = 0;
  for (int i = 0; i != 160; ++i) {
    sent += target.is_to_be_sent() ? 1 : 0;
  }
  CHECK(sent == 20);
}

TEST_CASE("the clock never goes back") {
  std::int64_t last = os::now();
  CHECK(last > 0);
  for (int i = 0; i < 10'000; ++i) {
    const std::int64_t next = os::now();
    REQUIRE(next >= last);
    last = next;
  }
}

TEST_CASE("a deadline lies in the future, or at the end of time instead of beyond it") {
  const std::int64_t before = os::now();
  CHECK(os::deadline_after(1'000'000) >= before + 1'000'000);
  CHECK(os::deadline_after(INT64_MAX) == INT64_MAX);
  const std::int64_t passed = os::deadline_after(-5);
  CHECK(passed >= before);
  CHECK(passed <= os::now());
}

TEST_CASE("nanoseconds split into seconds and the rest") {
  const auto t = os::to_timespec(3'000'000'007);
  CHECK(t.tv_sec == 3);
  CHECK(t.tv_nsec == 7);
}

TEST_CASE("nanoseconds beyond the seconds that a system can count end at its last one") {
  using seconds = decltype(::timespec::tv_sec);
  constexpr std::int64_t last = std::numeric_limits<seconds>::max();
  constexpr std::int64_t all = INT64_MAX / os::nanoseconds_per_second;
  CHECK(os::to_timespec(INT64_MAX).tv_sec == (last < all ? last : all));
}
