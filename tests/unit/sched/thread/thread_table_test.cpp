// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/detail/sched/thread/thread_table.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>

#include "support/bare_scheduler.hpp"
#include "support/catch.hpp"
#include "support/child.hpp"

namespace {

using thrum::sched::goroutine;
using thrum::sched::machine;
using thrum::sched::processor;

/// A table with room for three Ms, and what makes them.
class table_of_ms : public thrum::sched::m_table {
 public:
  table_of_ms() { keep_in(reinterpret_cast<machine*>(places_for_them_)); }
  ~table_of_ms() { clear(); }

  machine* take(unsigned most = 3) {
    return take_locked(most, [this](void* place, unsigned number) {
      ++calls;
      return ::new (place) machine(*owner_, owner_->upcalls(), number, number);
    });
  }

  int calls = 0;

 private:
  support::bare_scheduler owner_{1};  // never opened
  alignas(machine) std::byte places_for_them_[3 * sizeof(machine)];
};

}  // namespace

TEST_CASE("Ms are made until there are as many as there may be") {
  table_of_ms ms;
  CHECK(ms.made() == 0);
  machine* const first = ms.take(2);
  REQUIRE(first != nullptr);
  CHECK(ms.made() == 1);
  machine* const second = ms.take(2);
  REQUIRE(second != nullptr);
  CHECK(&ms[0] == first);
  CHECK(&ms[1] == second);
  CHECK(second->id == 1);
  CHECK(ms.take(2) == nullptr);
  CHECK(ms.calls == 2);
  CHECK(ms.made() == 2);
}

TEST_CASE("a vacant M is taken before another is made, also if there may be no more") {
  table_of_ms ms;
  machine* const first = ms.take(2);
  machine* const second = ms.take(2);
  ms.vacate_locked(*first);
  ms.vacate_locked(*second);
  CHECK(ms.take(2) == second);
  CHECK(ms.take(2) == first);
  CHECK(ms.take(2) == nullptr);
  CHECK(ms.calls == 2);
}

TEST_CASE("an M has a thread from when it is taken until it is vacant") {
  table_of_ms ms;
  machine* const first = ms.take();
  ms.take();
  CHECK(ms.with_thread() == 2);
  ms.vacate_locked(*first);
  CHECK(ms.with_thread() == 1);
  CHECK(ms.made() == 2);
  ms.take();
  CHECK(ms.with_thread() == 2);
}

TEST_CASE("MT2: it is known whether any P waits for a thread that is being made") {
  table_of_ms ms;
  machine* const first = ms.take();
  machine* const second = ms.take();
  CHECK_FALSE(ms.is_awaited_locked());
  ms.begin_locked(*first);
  ms.begin_locked(*second);
  CHECK(first->awaited);
  ms.end_locked();
  CHECK(ms.is_awaited_locked());
  ms.end_locked();
  CHECK_FALSE(ms.is_awaited_locked());
}

TEST_CASE("no P waits for an M that has become vacant") {
  table_of_ms ms;
  machine* const m = ms.take();
  ms.begin_locked(*m);
  ms.vacate_locked(*m);
  CHECK_FALSE(m->awaited);
}

TEST_CASE("MT3: a second spare is not made while one is on its way") {
  table_of_ms ms;
  CHECK(ms.claim_spare_locked());
  CHECK_FALSE(ms.claim_spare_locked());
  ms.end_spare_locked();
  CHECK(ms.claim_spare_locked());
}

TEST_CASE("each P that is held back is released once") {
  table_of_ms ms;
  processor first(0);
  processor second(1);
  CHECK_FALSE(ms.holds_back());
  CHECK(ms.release_locked() == nullptr);
  ms.hold_back_locked(first);
  ms.hold_back_locked(second);
  CHECK(ms.holds_back());
  CHECK(ms.release_locked() == &second);
  CHECK(ms.holds_back());
  CHECK(ms.release_locked() == &first);
  CHECK_FALSE(ms.holds_back());
  CHECK(ms.release_locked() == nullptr);
}

TEST_CASE("MT4: a P that still has goroutines is not held back") {
  CHECK(support::breaks("MT4", [] {
    thrum::sched::m_table ms;
    processor p(0);
    goroutine g;
    static_cast<void>(p.queue.exchange_runnext(&g));
    ms.hold_back_locked(p);
  }));
}
