// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/detail/sched/core/p_table.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

#if !defined(_WIN32)
#include <sys/resource.h>
#include <unistd.h>
#endif

#include "support/catch.hpp"
#include "support/child.hpp"

namespace {

using thrum::sched::p_status;
using thrum::sched::processor;

/// A table with its places.
struct table_of_ps : thrum::sched::p_table {
  table_of_ps() { keep_in(places.data()); }
  ~table_of_ps() { clear(); }
  void set(unsigned i, p_status status) { (*this)[i].status.store(status); }

  std::array<processor*, thrum::sched::p_table::most> places{};
};

}  // namespace

TEST_CASE("new Ps are dead and numbered, and earlier ones keep their place and state") {
  table_of_ps ps;
  CHECK(ps.made() == 0);
  REQUIRE(ps.make(2) == 0);
  CHECK(ps.made() == 2);
  processor* const second = &ps[1];
  ps.set(1, p_status::idle);
  REQUIRE(ps.make(4) == 0);
  REQUIRE(ps.make(3) == 0);
  CHECK(ps.made() == 4);
  CHECK(&ps[1] == second);
  CHECK(ps[1].status == p_status::idle);
  for (std::uint32_t i = 0; i != 4; ++i) {
    CHECK(ps[i].id == i);
    CHECK((ps[i].status == p_status::dead) == (i != 1));
  }
  CHECK(ps.live() == 0);
  CHECK(ps.wanted() == 0);
}

#if !defined(_WIN32)  // there is no limit to set

TEST_CASE("a P for which there is no memory is an error, and is not among those that there are") {
  if (THRUM_ASAN || THRUM_TSAN || std::getenv("THRUM_TEST_EMULATOR") != nullptr) {
    return;  // these do without the limit
  }
  constexpr int as_it_should_be = 7;
  const support::child_result end = support::run_in_child([] {
    table_of_ps ps;
    static_cast<void>(ps.make(1));
    const rlimit nothing_more{0, 0};
    ::setrlimit(RLIMIT_AS, &nothing_more);
    processor* volatile last = nullptr;  // an allocation that nobody sees may be left out
    do {
      last = new (std::nothrow) processor(0);
    } while (last != nullptr);
    if (ps.make(2) == thrum::os::no_memory && ps.made() == 1) {
      ::_exit(as_it_should_be);
    }
  });
  CHECK(end.exit_code == as_it_should_be);
}

#endif

TEST_CASE("a search looks at added Ps at once, and at removed ones until they are forgotten") {
  table_of_ps ps;
  REQUIRE(ps.make(4) == 0);
  ps.want_locked(3);
  CHECK(ps.wanted() == 3);
  CHECK(ps.live() == 3);
  ps.want_locked(1);
  CHECK(ps.wanted() == 1);
  CHECK(ps.live() == 3);
  ps.want_locked(2);
  CHECK(ps.live() == 3);
  ps.want_locked(4);
  CHECK(ps.live() == 4);
}

TEST_CASE("wanting more Ps than were made is refused") {
  CHECK(support::breaks("PS1", [] {
    table_of_ps ps;
    static_cast<void>(ps.make(2));
    ps.want_locked(3);
  }));
}

TEST_CASE("dead Ps at the end are forgotten, down to one that lives, is wanted or has a timer") {
  table_of_ps ps;
  REQUIRE(ps.make(6) == 0);
  ps.want_locked(6);
  ps.set(3, p_status::running);
  ps.want_locked(2);
  ps.forget_dead_locked();
  CHECK(ps.live() == 4);
  ps.set(3, p_status::dead);
  CHECK(ps.live() == 4);
  thrum::sched::basic_timer<thrum::sched::traits> timer;
  ps[3].timers.add(timer, 1);
  ps.forget_dead_locked();
  CHECK(ps.live() == 4);
  REQUIRE(ps[3].timers.remove(timer));
  ps[3].timers.detach(timer);
  ps.forget_dead_locked();
  CHECK(ps.live() == 2);
  CHECK(ps.made() == 6);
}

TEST_CASE("a search for forks ends after the last P on which a goroutine began to fork") {
  table_of_ps ps;
  REQUIRE(ps.make(6) == 0);
  ps.want_locked(6);
  CHECK(ps.forking() == 6);
  thrum::sched::fork_deque<thrum::sched::forked, thrum::sched::traits> deque(ps[3].forks, 18);
  ps[3].forks.add(deque);
  ps.want_locked(2);
  ps.forget_dead_locked();
  CHECK(ps.live() == 2);
  CHECK(ps.forking() == 4);
  CHECK_FALSE(ps.keeps_forkless());
  ps[3].forks.remove(deque);
  CHECK(ps.keeps_forkless());
  ps.forget_forkless_locked();
  CHECK(ps.forking() == 2);
  CHECK_FALSE(ps.keeps_forkless());
  ps.want_locked(5);
  CHECK(ps.forking() == 5);
}

TEST_CASE("live_changes() differs after each change of the number of live Ps, and only then") {
  table_of_ps ps;
  REQUIRE(ps.make(3) == 0);
  const std::uint64_t before = ps.live_changes();
  ps.want_locked(3);
  const std::uint64_t more = ps.live_changes();
  CHECK(more != before);
  ps.want_locked(1);
  CHECK(ps.live_changes() == more);
  ps.forget_dead_locked();
  const std::uint64_t fewer = ps.live_changes();
  CHECK(fewer != more);
  ps.forget_dead_locked();
  ps.want_locked(1);
  CHECK(ps.live_changes() == fewer);
}
