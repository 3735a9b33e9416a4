// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Who looks at the poller while what was found there runs. What the monitor does for it is in
// monitor_test.cpp, all of it together in find_work_test.cpp.

#include <thrum/detail/sched/run/leave_poller.hpp>

#include "support/lone_scheduler.hpp"
#include "support/net.hpp"
#include "support/test.hpp"

#if !defined(_WIN32)
#include <unistd.h>
#endif

namespace {

using thrum::sched::goroutine;
using thrum::sched::machine;

/// An M that runs a goroutine of the poller's, beside a P that idles.
struct left_poller {
  support::lone_scheduler scheduler{2};
  machine& m = scheduler.holder_of(0);
  goroutine& g = scheduler.g();

  left_poller() {
    m.g = &g;
    scheduler->poll.end_sleep(thrum::sched::traits::now());
    leave_poller(m, g);
  }
  /// As if it had left so long ago.
  void computes(std::int64_t ns) { m.from_poller.at = thrum::sched::traits::now() - ns; }
};

constexpr std::int64_t a_millisecond = 1'000'000;

/// Whether a goroutine that computes after each of these waits has earned a wake after some of them.
template <class Wait>
bool earns(Wait wait) {
  const auto end = std::chrono::steady_clock::now() + support::long_time;
  while (std::chrono::steady_clock::now() < end && wait()) {
    if (thrum::sched::current_m()->g->wakes_earned != 0) {
      return true;
    }
    const auto until = std::chrono::steady_clock::now() + 300us;
    while (std::chrono::steady_clock::now() < until) {
    }
  }
  return false;
}

}  // namespace

TEST_CASE("a goroutine that computes before it waits for the next event earns wakes by the time") {
  left_poller left;
  left.computes(a_millisecond / 5);
  note_wait_for_event(left.m);
  CHECK(left.g.wakes_earned >= 2);
}

TEST_CASE("a goroutine does not save up more than four wakes") {
  left_poller left;
  for (int i = 0; i != 2; ++i) {
    left.computes(1000 * a_millisecond);
    note_wait_for_event(left.m);
    CHECK(left.g.wakes_earned == 4);
    leave_poller(left.m, left.g);
    left.scheduler.end_search();
  }
}

TEST_CASE("a goroutine that waits for the next event at once earns no wake") {
  left_poller left;
  left.m.from_poller.at = INT64_MAX;  // not so soon on a machine that is busy otherwise
  note_wait_for_event(left.m);
  CHECK(left.g.wakes_earned == 0);
}

TEST_CASE("what a goroutine has earned sends an idle processor to the poller each time it leaves") {
  left_poller left;
  left.g.wakes_earned = 2;
  for (unsigned i = 1; i <= 2; ++i) {
    leave_poller(left.m, left.g);
    CHECK(left.scheduler.started() == i);
    CHECK(left.g.wakes_earned == 2 - i);
    left.scheduler.end_search();
  }
  leave_poller(left.m, left.g);
  CHECK(left.scheduler.started() == 2);
}

TEST_CASE("while no processor idles a goroutine from the poller earns nothing and spends nothing") {
  left_poller left;
  left.scheduler.holder_of(1);
  left.g.wakes_earned = 1;
  leave_poller(left.m, left.g);
  CHECK(left.m.from_poller.g == nullptr);
  CHECK(left.scheduler.started() == 0);
  CHECK(left.g.wakes_earned == 1);
}

TEST_CASE("only the slice in which a goroutine has left the poller earns wakes, and only once") {
  left_poller left;
  left.computes(a_millisecond);
  SECTION("another slice") { begin_slice(*left.m.p); }
  SECTION("another goroutine") { left.m.g = &left.scheduler.g(); }
  SECTION("the second wait in it") {
    left.m.from_poller.at = INT64_MAX;
    note_wait_for_event(left.m);
    left.computes(a_millisecond);
  }
  SECTION("another thread slept in the poller") { left.m.from_poller.at = 0; }
  note_wait_for_event(left.m);
  CHECK(left.m.g->wakes_earned == 0);
}

IN_RUNTIME("goroutines that compute earn wakes whatever they wait for", support::with_procs(2)) {
  thrum::io::pipe events;
  support::conn_pair messages = support::tcp_pair();
  enum { nothing, an_event, a_message, the_end };
  std::atomic<int> wanted = nothing;
  const thrum::runtime& own = *thrum::runtime::current();
  // A thread that is none of ours: a P that writes would find the event.
  std::thread writer([&] {
    for (int next = nothing; next != the_end; next = wanted.exchange(nothing)) {
      std::this_thread::sleep_for(1ms);
      // A goroutine waits for it, beside this one.
      support::eventually([&] { return next == nothing || own.stats().waiting == 2; });
      if (next == an_event) {
        events.writer().write("x");
      } else if (next == a_message) {
        messages.server.write("x");
      }
    }
  });
  char byte = 0;
  const std::span<char> place(&byte, 1);
  const auto read = [&] {
    wanted = an_event;
    return events.reader().read(place) == 1;
  };
  CHECK(thrum::spawn([&] { return earns(read); }).join());
  const auto receive = [&] {
    wanted = a_message;
    return messages.client.read(place) == 1;
  };
  CHECK(thrum::spawn([&] { return earns(receive); }).join());
#if !defined(_WIN32)
  const auto wait_and_read = [&] {
    wanted = an_event;
    thrum::io::wait_readable(events.reader().native_handle());
    return ::read(events.reader().native_handle(), &byte, 1) == 1;
  };
  CHECK(thrum::spawn([&] { return earns(wait_and_read); }).join());
#endif
  wanted = the_end;
  writer.join();
  if (thrum::runtime::current()->poller() == thrum::poller_kind::io_uring) {
    auto file = thrum::io::file::open("/proc/self/exe");
    const auto read_file = [&] { return file.read_at(place, 0) == 1; };
    CHECK(thrum::spawn([&] { return earns(read_file); }).join());
  }
}

TEST_CASE("the first goroutine on a stack has earned nothing by the one before it") {
  CHECK(thrum::run([] {
          bool fresh = true;
          for (int i = 0; i != 100; ++i) {
            thrum::spawn([&] {
              std::uint8_t& earned = thrum::sched::current_m()->g->wakes_earned;
              fresh = fresh && earned == 0;
              earned = 1;
            }).join();
          }
          return fresh ? 0 : 1;
        }) == 0);
}
