// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Sleeping on a word, and the note.
#include <thrum/detail/os/thread_parts.hpp>

#include "support/child.hpp"
#include "support/test.hpp"

#if !defined(_WIN32)
#include "support/put_back_action.hpp"

#include <csignal>

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>
#endif

using namespace thrum;

namespace {
constexpr std::int64_t ms = 1'000'000;
}

TEST_CASE("a futex wait returns at once if the word has changed, else times out and says so") {
  std::atomic<std::uint32_t> word{1};
  CHECK(os::futex_wait(word, 0, -1));
  const std::int64_t start = os::now();
  CHECK_FALSE(os::futex_wait(word, 1, 5 * ms));
  CHECK(os::now() - start >= 5 * ms);
}

TEST_CASE("a futex wake ends a wait") {
  std::atomic<std::uint32_t> word{0};
  std::uint32_t seen = 0;
  std::thread waiter([&] {
    while (word.load() == 0) {
      os::futex_wait(word, 0, -1);
    }
    seen = word.load();
  });
  word.store(1);
  os::futex_wake(word, 1);
  waiter.join();
  CHECK(seen == 1);
}

TEST_CASE("a futex wake ends at most as many waits as it was given, and none of another word") {
  std::atomic<std::uint32_t> word{0}, other{0};
  std::atomic<int> asleep{0}, awake{0};
  const auto wait_on = [&](std::atomic<std::uint32_t>& on) {
    ++asleep;
    while (on.load() == 0) {
      os::futex_wait(on, 0, -1);
      ++awake;
    }
  };
  std::vector<std::thread> waiters;
  waiters.reserve(4);
  for (int i = 0; i != 3; ++i) {
    waiters.emplace_back([&] { wait_on(word); });
  }
  waiters.emplace_back([&] { wait_on(other); });
  // One of three wakes, sees that nothing has changed, and sleeps again.
  CHECK(support::eventually([&] {
    if (asleep == 4) {
      os::futex_wake(word, 1);
    }
    return awake != 0;
  }));
  word.store(1);
  os::futex_wake(word, 3);
  for (int i = 0; i != 3; ++i) {
    waiters[static_cast<std::size_t>(i)].join();
  }
  CHECK(other.load() == 0);
  other.store(1);
  os::futex_wake(other, 1);
  waiters.back().join();
}

TEST_CASE("sleepers on many words are each woken by their own") {
  constexpr std::size_t many = 150;
  std::vector<os::note> notes(many);
  std::atomic<std::size_t> awake{0};
  std::vector<std::thread> sleepers;
  sleepers.reserve(many);
  for (os::note& each : notes) {
    sleepers.emplace_back([&] {
      each.sleep();
      ++awake;
    });
  }
  for (std::size_t i = 0; i != many; ++i) {
    CHECK(awake == i);
    notes[i].wake();
    sleepers[i].join();
  }
}

// ThreadSanitizer holds signals back from a thread that sleeps in a call that it does not know, and its
// own locks are not for a child of many threads. Windows has neither.
#if !THRUM_TSAN && !defined(_WIN32)
TEST_CASE("a handler that interrupts a sleep, or the way to it, wakes the sleeper") {
  static os::note* woken_by_handler = nullptr;
  struct sigaction action {};
  action.sa_handler = [](int) { woken_by_handler->wake(); };
  struct sigaction before {};
  sigaction(SIGUSR1, &action, &before);
  for (int round = 0; round != 200; ++round) {
    os::note n;
    woken_by_handler = &n;
    std::thread sleeper([&] { n.sleep(); });
    pthread_kill(sleeper.native_handle(), SIGUSR1);
    sleeper.join();
    CHECK(n.is_set());
  }
  support::put_back_action(SIGUSR1, before);
}

TEST_CASE("in the child of a fork a note works, whichever threads slept and woke at that moment") {
  std::atomic<bool> stop{false};
  std::vector<os::note> notes(4);
  std::vector<std::thread> busy;
  busy.reserve(notes.size());
  for (os::note& each : notes) {
    busy.emplace_back([&] {
      while (!stop) {
        each.sleep_for(1000);
        each.wake();
        each.clear_while_woken();
      }
    });
  }
  for (int round = 0; round != 5; ++round) {
    const auto end = support::run_in_child([] {
      os::note n;
      os::note never;
      const bool timed_out = !never.sleep_for(1000);
      n.wake();
      n.sleep();
      ::_exit(timed_out ? 7 : 1);
    });
    CHECK(end.exit_code == 7);
  }
  stop = true;
  for (std::thread& each : busy) {
    each.join();
  }
}
#endif

TEST_CASE("a wake before the sleep is not lost, and a cleared note sleeps until the next wake") {
  os::note n;
  CHECK_FALSE(n.is_set());
  n.wake();
  n.wake();
  CHECK(n.is_set());
  n.sleep();
  CHECK(n.sleep_for(0));
  CHECK(n.sleep_for(-1));
  CHECK(n.sleep_for(1000 * ms));
  n.clear();
  CHECK_FALSE(n.is_set());
  CHECK_FALSE(n.sleep_for(1 * ms));
  n.wake();
  n.sleep();
  CHECK(n.is_set());
}

TEST_CASE(
    "a sleep with a limit lasts at least that long without a wake-up, and a later one is woken") {
  os::note n;
  const std::int64_t start = os::now();
  CHECK_FALSE(n.sleep_for(10 * ms));
  CHECK(os::now() - start >= 10 * ms);
  CHECK_FALSE(n.sleep_for(0));
  CHECK_FALSE(n.sleep_for(-1));
  std::thread sleeper([&] { n.sleep(); });
  n.wake();
  sleeper.join();
  CHECK(n.is_set());
}

TEST_CASE("a wake ends the sleep of every thread") {
  os::note n;
  std::atomic<int> awake{0};
  std::vector<std::thread> sleepers;
  sleepers.reserve(4);
  for (int i = 0; i < 4; ++i) {
    sleepers.emplace_back([&] {
      n.sleep();
      ++awake;
    });
  }
  os::futex_wait(*std::make_unique<std::atomic<std::uint32_t>>(0), 0, 2 * ms);
  CHECK(awake == 0);
  n.wake();
  for (std::thread& t : sleepers) {
    t.join();
  }
  CHECK(awake == 4);
}

TEST_CASE("what was written before the wake is seen after the sleep, ten thousand times") {
  os::note ping, pong;
  int value = 0;
  std::thread other([&] {
    for (int i = 0; i < 10'000; ++i) {
      ping.sleep();
      ping.clear();
      ++value;
      pong.wake();
    }
  });
  int wrong = 0;
  for (int i = 0; i < 10'000; ++i) {
    ++value;
    ping.wake();
    pong.sleep();
    pong.clear();
    wrong += value != 2 * (i + 1);
  }
  other.join();
  CHECK(wrong == 0);
}

TEST_CASE("a nudge ends one sleep, before it or during it, and is no event") {
  using wakening = os::note::wakening;
  os::note n;
  n.nudge();
  n.nudge();
  CHECK(n.sleep_or_nudge(-1) == wakening::nudge);
  CHECK_FALSE(n.is_set());
  CHECK(n.sleep_or_nudge(1'000) == wakening::timeout);
  std::thread nudges([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    n.nudge();
  });
  CHECK(n.sleep_or_nudge(-1) == wakening::nudge);
  nudges.join();
}

#if defined(RUSAGE_THREAD)
TEST_CASE("a nudge that was not seen does not keep a later sleep busy") {
  // How often this thread has left its CPU by itself: a sleep that is kept busy never does.
  const auto sleeps = [] {
    rusage use{};
    ::getrusage(RUSAGE_THREAD, &use);
    return use.ru_nvcsw;
  };
  os::note n;
  // A thread that is off its CPU for all of the time does not begin to sleep: then the next time.
  CHECK(support::eventually([&] {
    n.nudge();
    const auto before = sleeps();
    CHECK_FALSE(n.sleep_for(20 * ms));
    return sleeps() != before;
  }));
  std::thread wakes([&] { n.wake(); });
  n.sleep();
  CHECK(n.is_set());
  wakes.join();
}
#endif

TEST_CASE("an event is not lost among nudges, nor taken for one", "[once]") {
  using wakening = os::note::wakening;
  for (int round = 0; round != 500; ++round) {
    os::note n;
    std::atomic<bool> has_ended{false};
    std::thread nudges([&] {
      while (!has_ended) {
        n.nudge();
      }
    });
    std::thread wakes([&] { n.wake(); });
    while (n.sleep_or_nudge(-1) != wakening::event) {
    }
    CHECK(n.is_set());
    n.nudge();
    CHECK(n.sleep_or_nudge(-1) == wakening::event);
    has_ended = true;
    nudges.join();
    wakes.join();
  }
}

TEST_CASE("a sleeper may destroy the note as soon as it wakes") {
  int unset = 0;
  for (int i = 0; i < 2000; ++i) {
    auto n = std::make_unique<os::note>();
    os::note* const raw = n.get();
    std::thread waker([raw] { raw->wake(); });
    n->sleep();
    unset += n->is_set() ? 0 : 1;
    n.reset();
    waker.join();
  }
  CHECK(unset == 0);
}

#if !defined(_WIN32)
TEST_CASE("signals neither end a sleep nor shorten one with a limit") {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  struct sigaction before {};
  sigaction(SIGUSR1, &action, &before);
  os::note n;
  std::atomic<bool> timed_out{false};
  const std::int64_t start = os::now();
  std::thread sleeper([&] { timed_out.store(!n.sleep_for(50 * ms)); });
  for (int i = 0; i < 20; ++i) {
    pthread_kill(sleeper.native_handle(), SIGUSR1);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  sleeper.join();
  CHECK(timed_out.load());
  CHECK(os::now() - start >= 50 * ms);
  support::put_back_action(SIGUSR1, before);
}
#endif
