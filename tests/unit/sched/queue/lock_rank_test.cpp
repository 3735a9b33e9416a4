// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The order of the locks. A violation ends the program, so it runs in a child; without THRUM_CHECKS
// the order is not checked.
#include <thrum/detail/sched/queue/lock_rank.hpp>

#include <thrum/detail/sched/queue/lock.hpp>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/child.hpp"

namespace {

using thrum::sched::blocking_lock;
using thrum::sched::count_held_locks;
using thrum::sched::lock_rank;
using thrum::sched::spin_lock;

/// Locks of one rank, in the order of their addresses.
std::unique_ptr<spin_lock[]> row_of_locks(lock_rank rank) {
  return std::unique_ptr<spin_lock[]>(new spin_lock[2]{spin_lock(rank), spin_lock(rank)});
}

template <class Work, class... Words>
void check_refused(Work work, Words... words) {
  const auto end = support::run_in_child(work);
  CHECK(end.signal == (THRUM_CHECKS ? SIGABRT : 0));
  for (const char* const each : {words...}) {
    CHECK((end.errors.find(each) != std::string::npos) == (THRUM_CHECKS == 1));
  }
}

}  // namespace

TEST_CASE("a lock of a lower rank is refused while one of a higher rank is held") {
  check_refused(
      [] {
        spin_lock heap{lock_rank::heap};
        blocking_lock idle{lock_rank::idle};
        heap.lock();
        idle.lock();
      },
      "fatal error: thrum: lock order: the lock of the idle lists (rank 9, at 0x",
      "is taken by a thread that holds the lock of a timer heap (rank 16, at 0x",
      "take them the other way round, or release the second one first",
      "sched/queue/lock_rank.hpp");
}

TEST_CASE("locks of rising ranks are taken, and dropped in any order") {
  spin_lock channel{lock_rank::channel};
  blocking_lock idle{lock_rank::idle};
  spin_lock heap{lock_rank::heap};
  channel.lock();
  idle.lock();
  heap.lock();
  CHECK(count_held_locks() == (THRUM_CHECKS ? 3U : 0U));
  idle.unlock();
  channel.unlock();
  CHECK(count_held_locks() == (THRUM_CHECKS ? 1U : 0U));
  heap.unlock();
  CHECK(count_held_locks() == 0);
}

TEST_CASE("a lock that was dropped forbids no other") {
  spin_lock heap{lock_rank::heap};
  spin_lock channel{lock_rank::channel};
  heap.lock();
  heap.unlock();
  channel.lock();
  heap.lock();
  channel.unlock();
  channel.try_lock();
  heap.unlock();
  channel.unlock();
  CHECK(count_held_locks() == 0);
}

TEST_CASE("locks of one rank: of channels in the order of their addresses, of others only one") {
  const auto channels = row_of_locks(lock_rank::channel);
  channels[0].lock();
  channels[1].lock();
  CHECK(count_held_locks() == (THRUM_CHECKS ? 2U : 0U));
  channels[0].unlock();
  channels[1].unlock();
  const auto objects = row_of_locks(lock_rank::waiters);
  const auto check = [](spin_lock& first, spin_lock& second, const char* one, const char* held) {
    check_refused(
        [&] {
          first.lock();
          second.lock();
        },
        one, held);
  };
  check(channels[1], channels[0], "lock order: the lock of a channel (rank 3",
        "holds the lock of a channel (rank 3");
  check(objects[0], objects[1], "lock order: the lock of an object with waiters",
        "holds the lock of an object with waiters");
}

TEST_CASE("a lock against the order may be tried, and counts for what follows") {
  spin_lock heap{lock_rank::heap};
  spin_lock global{lock_rank::global};
  spin_lock stacks{lock_rank::stacks};
  heap.lock();
  REQUIRE(global.try_lock());
  heap.unlock();
  stacks.lock();
  stacks.unlock();
  global.unlock();
  spin_lock channel{lock_rank::channel};
  check_refused(
      [&] {
        REQUIRE(global.try_lock());
        channel.lock();
      },
      "the lock of a channel", "holds the lock of the global queue");
}

#if THRUM_CHECKS

TEST_CASE("a lock that the thread holds is not taken again") {
  constexpr struct {
    lock_rank rank;
    const char* words;
  } rows[] = {{lock_rank::waiters, "the lock of an object with waiters"},
              {lock_rank::channel, "the lock of a channel"}};  // of which several may be held
  for (const auto& row : rows) {
    check_refused(
        [&] {
          spin_lock lock{row.rank};
          lock.lock();
          lock.lock();
        },
        row.words, "is taken by the thread that holds it");
  }
}

TEST_CASE("a lock is dropped only by the thread that has taken it") {
  check_refused(
      [] {
        spin_lock lock{lock_rank::stacks};
        lock.unlock();
      },
      "the lock of the stacks", "is released by a thread that does not hold it");
}

#else

TEST_CASE("without checks a lock does not store its rank") {
  STATIC_REQUIRE(sizeof(spin_lock) == 2 * sizeof(std::uint32_t));
  STATIC_REQUIRE(sizeof(blocking_lock) == sizeof(std::uint32_t));
}

#endif

TEST_CASE("a thread may hold more locks than the check of their order looks at") {
  constexpr std::size_t many = 100;
  std::vector<std::unique_ptr<spin_lock>> channels;
  for (std::size_t i = 0; i != many; ++i) {
    channels.push_back(std::make_unique<spin_lock>(lock_rank::channel));
  }
  std::sort(channels.begin(), channels.end(),
            [](const auto& a, const auto& b) { return std::less<>()(a.get(), b.get()); });
  for (const auto& each : channels) {
    each->lock();
  }
  CHECK(count_held_locks() == (THRUM_CHECKS ? many : 0U));
  for (const auto& each : channels) {
    each->unlock();
  }
  CHECK(count_held_locks() == 0);
}
