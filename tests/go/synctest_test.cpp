// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Go's tests and examples of testing/synctest on testing::bubble, re-created from their descriptions.
// Where they differ: a mutex is not durably blocked here either, but a channel that somebody outside
// uses counts as one of the bubble (Go ties each channel to a bubble, and panics); and time stands
// once the first goroutine has returned.

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/scale.hpp"

#include <chrono>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using support::scaled;
using thrum::testing::bubble;
using thrum::testing::deadlock;

TEST_CASE("synctest: RunEmpty: a bubble of nothing ends") {
  bubble([] {});
  CHECK(bubble([] { return 1; }) == 1);
}

TEST_CASE("synctest: Now: time moves by what is slept, in each goroutine alike") {
  bubble([] {
    const auto start = thrum::testing::now();
    CHECK(thrum::testing::now() == start);
    thrum::sleep_for(1s);
    CHECK(thrum::testing::now() - start == 1s);
    thrum::spawn([start] {
      thrum::sleep_for(1s);
      CHECK(thrum::testing::now() - start == 2s);
    }).join();
    CHECK(thrum::testing::now() - start == 2s);
  });
}

TEST_CASE("synctest: SimpleWait: a wait with nobody else returns at once, time after time") {
  bubble([] {
    const auto start = thrum::testing::now();
    thrum::testing::wait();
    thrum::testing::wait();
    CHECK(thrum::testing::now() == start);
  });
}

TEST_CASE("synctest: GoroutineWait: one that has ended need not be waited for") {
  bubble([] {
    bool ended = false;
    thrum::go([&] { ended = true; });
    thrum::testing::wait();
    CHECK(ended);
  });
}

TEST_CASE("synctest: Wait: what is done at a moment is done when wait returns, for each moment") {
  bubble([] {
    int done = 0;
    const thrum::chan<void> steps(0);
    thrum::go([&, steps] {
      for (int i = 0; i != 10; ++i) {
        ++done;
        thrum::sleep_for(1s);
      }
      ++done;
      while (steps.recv()) {
        ++done;
      }
    });
    for (int i = 1; i <= 11; ++i) {
      thrum::testing::wait();
      CHECK(done == i);
      thrum::sleep_for(1s);
    }
    steps.send();
    thrum::testing::wait();
    CHECK(done == 12);
    steps.close();
  });
}

TEST_CASE("synctest: TimerReadBeforeDeadline: a receive that is early gets the due moment") {
  bubble([] {
    const auto start = thrum::testing::now();
    const thrum::timer timer(5s);
    thrum::sleep_for(1s);
    CHECK(timer.chan().recv() == start + 5s);
    CHECK(thrum::testing::now() - start == 5s);
  });
}

TEST_CASE("synctest: TimerReadAfterDeadline: a receive that is late gets the same") {
  bubble([] {
    const auto start = thrum::testing::now();
    const thrum::timer timer(1s);
    thrum::sleep_for(2s);
    CHECK(timer.chan().recv() == start + 1s);
    CHECK(thrum::testing::now() - start == 2s);
  });
}

TEST_CASE("synctest: TimerReset: a timer that is set again fires at the new time each time") {
  bubble([] {
    const auto start = thrum::testing::now();
    const thrum::timer timer(1s);
    CHECK(timer.chan().recv() == start + 1s);
    timer.reset(2s);
    CHECK(timer.chan().recv() == start + 3s);
    timer.reset(3s);
    CHECK(timer.chan().recv() == start + 6s);
  });
}

TEST_CASE("synctest: TimeAfter: functions are called in the order of their times") {
  bubble([] {
    const auto start = thrum::testing::now();
    std::vector<int> order;
    for (const int i : {2, 3, 1}) {
      thrum::after_func(i * 1s, [&, i] {
        CHECK(thrum::testing::now() - start == i * 1s);
        order.push_back(i);
      });
    }
    thrum::sleep_for(10s);
    CHECK(order == std::vector<int>{1, 2, 3});
  });
}

TEST_CASE("synctest: TimerAfterBubbleExit: a timer that outlasts its bubble does not fire") {
  bool fired = false;
  bubble([&] { static_cast<void>(thrum::after_func(1s, [&] { fired = true; })); });
  CHECK_FALSE(fired);
}

TEST_CASE("synctest: TimerNondeterminism: of two timers that are due together either may win") {
  int first = 0;
  int n = 0;
  const int most = scaled(1'000, 100);
  while (n != most && (n < 2 || first == 0 || first == n)) {
    first += bubble([] {
      bool is_first = false;
      bool is_called = false;
      thrum::go([&] {
        thrum::sleep_for(1s);
        is_first = !is_called;
        is_called = true;
      });
      thrum::go([&] {
        thrum::sleep_for(1s);
        is_called = true;
      });
      thrum::sleep_for(2s);
      return is_first ? 1 : 0;
    });
    ++n;
  }
  CHECK(first != 0);
  CHECK(first != n);
}

TEST_CASE("synctest: DeadlockRoot: the first goroutine waits for what never comes") {
  CHECK_THROWS_AS(bubble([] { thrum::chan<int>(0).recv(); }), deadlock);
  CHECK_THROWS_AS(bubble([] {
                    thrum::wait_group never;
                    never.add();
                    never.wait();
                  }),
                  deadlock);
  CHECK_THROWS_AS(bubble([] { thrum::select(thrum::on_recv(thrum::chan<int>(0))); }), deadlock);
}

TEST_CASE("synctest: DeadlockChild: another goroutine waits for what never comes") {
  CHECK_THROWS_AS(bubble([] { thrum::go([] { thrum::chan<int>(0).recv(); }); }), deadlock);
}

TEST_CASE("synctest: DeadlockTicker: one that receives from a ticker for ever is left behind") {
  CHECK_THROWS_AS(bubble([] {
                    thrum::go([] {
                      const thrum::ticker ticker(1s);
                      while (ticker.chan().recv()) {
                      }
                    });
                  }),
                  deadlock);
}

TEST_CASE("synctest: Cond: a wait for a condition is durable, and is ended by a signal each") {
  bubble([] {
    thrum::mutex lock;
    thrum::condition_variable changed;
    int woken = 0;
    thrum::wait_group group;
    for (int i = 0; i != 3; ++i) {
      group.go([&] {
        std::unique_lock guard(lock);
        changed.wait(guard);
        ++woken;
      });
    }
    thrum::testing::wait();
    CHECK(woken == 0);
    changed.notify_one();
    thrum::testing::wait();
    CHECK(woken == 1);
    changed.notify_all();
    thrum::testing::wait();
    CHECK(woken == 3);
    group.wait();
  });
}

TEST_CASE("synctest: WaitGroup: a wait for a group ends with its last goroutine, at its time") {
  bubble([] {
    const auto start = thrum::testing::now();
    thrum::wait_group group;
    for (int i = 1; i <= 3; ++i) {
      group.go([i] { thrum::sleep_for(i * 1s); });
    }
    group.wait();
    CHECK(thrum::testing::now() - start == 3s);
  });
}

TEST_CASE("synctest: Generator: a generator runs on its caller's time") {
  bubble([] {
    const auto start = thrum::testing::now();
    thrum::generator<int> seconds([](auto& yield) {
      for (int i = 1; i <= 3; ++i) {
        thrum::sleep_for(1s);
        yield(i);
      }
    });
    int seen = 0;
    for (const int second : seconds) {
      ++seen;
      CHECK(thrum::testing::now() - start == second * 1s);
    }
    CHECK(seen == 3);
  });
}

TEST_CASE("synctest: HappensBefore: what is written before a block is seen after wait") {
  bubble([] {
    int plain = 0;
    const thrum::chan<void> never(0);
    thrum::go([&plain, never] {
      plain = 1;
      never.recv();
    });
    thrum::testing::wait();
    CHECK(plain == 1);
    never.close();
  });
}

TEST_CASE("synctest: Panic: an error of the first goroutine is the caller's") {
  CHECK_THROWS_AS(bubble([] {
                    thrum::sleep_for(1h);
                    throw std::out_of_range("x");
                  }),
                  std::out_of_range);
}

TEST_CASE("synctest: Deadline: a context ends at its deadline, and not before") {
  bubble([] {
    const auto c = thrum::context::background().with_timeout(5s);
    thrum::sleep_for(5s - 1ns);
    thrum::testing::wait();
    CHECK_FALSE(c.error());
    thrum::sleep_for(1ns);
    thrum::testing::wait();
    CHECK(c.error() == thrum::errc::deadline_exceeded);
  });
}

TEST_CASE("synctest: ContextAfterFunc: the function is called after the cancel, and only then") {
  bubble([] {
    const auto c = thrum::context::background().with_cancel();
    bool called = false;
    c.after_func([&] { called = true; });
    thrum::testing::wait();
    CHECK_FALSE(called);
    c.cancel();
    thrum::testing::wait();
    CHECK(called);
  });
}

TEST_CASE("synctest: HttpTransport: a client waits for the server's word before it sends all") {
  bubble([] {
    thrum::io::memory_pipe ends;
    auto& server = ends.second;
    bool has_word = false;
    thrum::wait_group group;
    group.go([&client = ends.first, &has_word] {
      client.write("Expect: 100-continue\n");
      std::string word(8, ' ');
      client.read_full(std::span<char>(word));
      has_word = word == "continue";
      client.write("body");
      client.close();
    });
    std::string head(21, ' ');
    server.read_full(std::span<char>(head));
    CHECK(head == "Expect: 100-continue\n");
    thrum::testing::wait();
    CHECK_FALSE(has_word);
    server.write("continue");
    CHECK(server.read_all() == "body");
    CHECK(has_word);
    group.wait();
  });
}
