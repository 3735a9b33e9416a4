// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/blocking.hpp>

#include "support/process.hpp"
#include "support/test.hpp"

#include <condition_variable>

IN_RUNTIME("blocking returns what the function returns, of whatever kind") {
  CHECK(thrum::blocking([] { return 42; }) == 42);
  CHECK(*thrum::blocking([] { return std::make_unique<int>(7); }) == 7);
  int object = 0;
  CHECK(&thrum::blocking([&]() -> int& { return object; }) == &object);
  thrum::blocking([&] { object = 1; });
  CHECK(object == 1);
  const auto no_capture = +[] { return 3; };
  CHECK(thrum::blocking(no_capture) == 3);
}

IN_RUNTIME("blocking throws what the function throws") {
  CHECK_THROWS_AS(thrum::blocking([] { throw std::runtime_error(""); }), std::runtime_error);
  CHECK_THROWS_AS(thrum::blocking([]() -> int {
                    std::this_thread::sleep_for(std::chrono::microseconds(
                        20'000));  // long enough to have lost the processor
                    throw 7;
                  }),
                  int);
  thrum::this_goroutine::yield();
}

TEST_CASE("blocking on a foreign thread or inside another blocking is a plain call") {
  const long here = support::os_thread();
  CHECK(thrum::blocking([] { return support::os_thread(); }) == here);
  with_runtime([] {
    const auto [outer, inner] = thrum::blocking([] {
      const long thread = support::os_thread();
      return std::pair(thread, thrum::blocking([] { return support::os_thread(); }));
    });
    CHECK(outer == inner);
  });
}

IN_RUNTIME("the only processor goes to others while a function blocks", with_procs(1)) {
  std::atomic<bool> blocks{false};
  std::atomic<bool> ran{false};
  // Not before the function blocks: the caller may be preempted on its way there.
  thrum::go([&] { ran = support::eventually_yielding([&] { return blocks.load(); }); });
  // The function returns only once the other goroutine has run.
  const bool seen = thrum::blocking([&] {
    blocks = true;
    const auto end = std::chrono::steady_clock::now() + support::long_time;
    while (!ran && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    return ran.load();
  });
  CHECK(seen);
  CHECK(thrum::stats().hand_offs >= 1);
}

IN_RUNTIME("goroutines that block each other's threads all get through on one processor",
           with_procs(1)) {
  // A barrier of the standard library: nobody returns before all have come.
  constexpr int n = 20;
  std::mutex mutex;
  std::condition_variable changed;
  int arrived = 0;
  unsigned threads = 0;  // when all have come: later some may have ended
  const thrum::runtime& own = *thrum::runtime::current();
  thrum::wait_group group;
  for (int i = 0; i != n; ++i) {
    group.go([&] {
      thrum::blocking([&] {
        std::unique_lock lock(mutex);
        threads = ++arrived == n ? own.stats().threads : threads;
        changed.notify_all();
        changed.wait(lock, [&] { return arrived == n; });
      });
    });
  }
  CHECK(group.wait_for(support::long_time));
  CHECK(arrived == n);
  CHECK(threads >= n);
}

IN_RUNTIME("short calls in a loop keep their results and their order") {
  std::atomic<int> mistakes{0};
  thrum::wait_group group;
  const int rounds = scaled(20'000);
  for (int g = 0; g != 8; ++g) {
    group.go([&] {
      int count = 0;
      for (int i = 0; i != rounds; ++i) {
        count = thrum::blocking([&] { return count + 1; });
        if (i % 1'000 == 0) {
          thrum::this_goroutine::yield();
        }
      }
      mistakes += count == rounds ? 0 : 1;
    });
  }
  group.wait();
  CHECK(mistakes == 0);
}

IN_RUNTIME("inside blocking a wait blocks the thread, and others serve it", with_procs(1)) {
  thrum::chan<int> c(0);
  thrum::go([c]() mutable { c.send(42); });
  const int received = thrum::blocking([&] {
    const long before = support::os_thread();
    const int value = *c.recv();
    return support::os_thread() == before ? value : -1;
  });
  CHECK(received == 42);
  thrum::mutex mutex;
  mutex.lock();
  thrum::go([&] { mutex.unlock(); });
  thrum::blocking([&] { mutex.lock(); });
  mutex.unlock();
  thrum::blocking([] { thrum::sleep_for(1ms); });
  CHECK(thrum::blocking([&] { return thrum::spawn([] { return 5; }).join(); }) == 5);
}

IN_RUNTIME("timers fire while every goroutine but the sleeper blocks", with_procs(1)) {
  std::atomic<bool> woken{false};
  thrum::go([&] {
    thrum::sleep_for(2ms);
    woken = true;
  });
  thrum::this_goroutine::yield();
  thrum::blocking([&] {
    const auto end = std::chrono::steady_clock::now() + support::long_time;
    while (!woken && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  });
  CHECK(woken);
}

TEST_CASE("a sleeper wakes while the goroutine that had the only descriptor blocks") {
  // Which processor idles with the timer is chance.
  constexpr int rounds = 3;
  for (int i = 0; i != rounds; ++i) {
    std::atomic<bool> woke{false};
    std::atomic<bool> in_time{false};
    thrum::runtime runtime(support::with_procs(2));
    thrum::io::pipe pipe;
    auto all = runtime.spawn([&] {
      auto sleeper = thrum::spawn([&] {
        thrum::sleep_for(300ms);
        woke = true;
      });
      char byte = 0;
      pipe.reader().read(std::span(&byte, 1));
      pipe.reader().close();
      pipe.writer().close();
      thrum::blocking([&] { in_time = support::eventually([&] { return woke.load(); }); });
      sleeper.join();
    });
    std::this_thread::sleep_for(100ms);  // by then a thread waits for both, or this shows nothing
    pipe.writer().write("x");
    all.join();
    REQUIRE(in_time);
  }
}

IN_RUNTIME("a goroutine that comes back from a blocking call gets a processor though all are busy",
           with_procs(2)) {
  std::atomic<bool> stop{false};
  thrum::wait_group hogs;
  for (int i = 0; i != 4; ++i) {
    hogs.go([&] {
      while (!stop) {
        thrum::this_goroutine::preemption_point();
      }
    });
  }
  for (int i = 0; i != 5; ++i) {
    thrum::blocking([] { std::this_thread::sleep_for(std::chrono::microseconds(1'000)); });
    const auto now = thrum::stats();
    CHECK(now.running >= 1);
    CHECK(now.goroutines == 5);  // and the others compute on
  }
  stop = true;
  hogs.wait();
}
