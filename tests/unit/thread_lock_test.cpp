// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// thread_lock, with Go's tests of LockOSThread: YieldProgress, YieldLocked (the first case), BlockLocked, Nesting,
// Exit.

#include "support/migrate.hpp"
#include "support/test.hpp"

#include <new>

namespace {

std::thread::id this_thread() {
  return thrum::blocking([] { return std::this_thread::get_id(); });
}

}  // namespace

TEST_CASE("a locked goroutine stays on its thread over waits, yields and blocking calls") {
  thrum::run([] {
    std::atomic<int> moved{0};
    thrum::wait_group group;
    for (int i = 0; i != 4; ++i) {
      group.go([&] {
        const thrum::thread_lock lock;
        const auto own = std::this_thread::get_id();
        thrum::chan<int> self(1);
        for (int round = 0; round != 50; ++round) {
          thrum::this_goroutine::yield();
          moved += std::this_thread::get_id() != own;
          thrum::sleep_for(10us);
          moved += std::this_thread::get_id() != own;
          self.send(round);
          self.recv();
          moved += this_thread() != own;
        }
      });
      group.go([] {
        for (int round = 0; round != 200; ++round) {
          thrum::this_goroutine::yield();
        }
      });
    }
    group.wait();
    CHECK(moved == 0);
  });
}

TEST_CASE("no other goroutine runs on a locked thread") {
  thrum::run([] {
    std::atomic<bool> stop{false};
    std::atomic<int> intruders{0};
    thrum::chan<std::thread::id> locked(0);
    thrum::wait_group group;
    group.go([&] {
      const thrum::thread_lock lock;
      locked.send(std::this_thread::get_id());
      while (!stop) {
        thrum::sleep_for(100us);
      }
    });
    const auto theirs = *locked.recv();
    thrum::wait_group others;
    for (int i = 0; i != 8; ++i) {
      others.go([&] {
        for (int round = 0; round != 200; ++round) {
          intruders += std::this_thread::get_id() == theirs;
          thrum::this_goroutine::yield();
        }
      });
    }
    thrum::sleep_for(20ms);
    others.wait();  // from then on the thread is anybody's
    stop = true;
    group.wait();
    CHECK(intruders == 0);
  });
}

TEST_CASE("YieldLockedProgress: a locked goroutine that yields lets others run") {
  thrum::options options;
  options.procs = 1;
  thrum::run(options, [] {
    std::atomic<bool> done{false};
    thrum::wait_group group;
    std::atomic<int> turns{0};
    group.go([&] {
      const thrum::thread_lock lock;
      while (!done) {
        thrum::this_goroutine::yield();
        ++turns;
      }
    });
    group.go([&] {
      while (turns == 0) {
        thrum::this_goroutine::yield();
      }
      done = true;
    });
    group.wait();
    CHECK(turns > 0);
    CHECK(done);
  });
}

TEST_CASE("BlockLocked: a locked sender and a receiver that is not exchange values") {
  thrum::run([] {
    thrum::chan<int> values(0);
    thrum::wait_group group;
    group.go([&] {
      const thrum::thread_lock lock;
      for (int i = 0; i != 10; ++i) {
        values.send(i);
      }
      values.close();
    });
    int expected = 0;
    for (const int value : values) {
      CHECK(value == expected++);
    }
    CHECK(expected == 10);
    group.wait();
  });
}

TEST_CASE("LockOSThreadNesting: the outermost lock counts") {
  thrum::run([] {
    std::atomic<int> moved{0};
    auto locked = thrum::spawn([&] {
      const thrum::thread_lock outer;
      const auto own = std::this_thread::get_id();
      { const thrum::thread_lock inner; }
      for (int i = 0; i != 50; ++i) {
        thrum::this_goroutine::yield();
        moved += std::this_thread::get_id() != own;
      }
    });
    locked.join();
    CHECK(moved == 0);
  });
}

TEST_CASE(
    "LockOSThreadExit: a locked goroutine that ends by an exception or exit lets go of its "
    "thread") {
  thrum::run([] {
    auto thrower = thrum::spawn([] {
      const thrum::thread_lock lock;
      throw std::runtime_error("over");
    });
    CHECK_THROWS_AS(thrower.join(), std::runtime_error);
    auto quitter = thrum::spawn([] {
      const thrum::thread_lock lock;
      thrum::this_goroutine::yield();
      thrum::this_goroutine::exit();
    });
    while (!quitter.done()) {
      thrum::this_goroutine::yield();
    }
    quitter.detach();
    auto next = thrum::spawn([] { return 7; });
    CHECK(next.join() == 7);
  });
}

// The timer of a wait that ended early keeps its entry, on the processor where the wait began.
TEST_CASE("a locked goroutine wakes in time on whatever processor it waited for longer before") {
  thrum::runtime runtime(support::with_procs(8));
  for (int round = 0; round != 50; ++round) {
    thrum::counting_semaphore<> first_turn(0);
    thrum::counting_semaphore<> other_turn(0);
    std::atomic<bool> ended{false};
    runtime.go([&] {
      static_cast<void>(first_turn.try_acquire_for(1h));
      // Long enough for the others to have gone to sleep until that hour has passed.
      thrum::blocking([] { std::this_thread::sleep_for(2ms); });
      const thrum::thread_lock lock;
      thrum::sleep_for(1ms);
      ended = true;
    });
    auto other = runtime.spawn([&] { other_turn.acquire(); });
    REQUIRE(eventually([&] { return runtime.stats().waiting == 2; }));
    // Released from outside, so that both continue on other processors than before.
    other_turn.release();
    first_turn.release();
    REQUIRE(eventually([&] { return ended.load(); }));
    other.join();
  }
}

TEST_CASE("locked goroutines are unwound when their runtime stops") {
  std::atomic<int> unwound{0};
  {
    std::atomic<int> ready{0};
    thrum::runtime runtime;
    for (int i = 0; i != 3; ++i) {
      runtime.go([&] {
        struct at_end {
          std::atomic<int>& n;
          ~at_end() { ++n; }
        } const scope{unwound};
        const thrum::thread_lock lock;
        ++ready;
        thrum::sleep_for(1h);
      });
    }
    while (ready != 3) {
      std::this_thread::sleep_for(1ms);
    }
  }
  CHECK(unwound == 3);
}

TEST_CASE("on a foreign thread and inside blocking a thread_lock does nothing") {
  const thrum::thread_lock here;
  thrum::run([] {
    thrum::blocking([] { const thrum::thread_lock lock; });
    const support::crowd others;  // a goroutine that had kept its thread could not leave it now
    CHECK(support::migrate());
  });
}

TEST_CASE("a thread ends with the goroutine that has kept its thread_lock, and no other gets it") {
  thread_local int changed = 0;
  std::atomic<int> ended{0};
  thrum::options options = support::with_procs(2);
  options.on_thread_stop = [&](unsigned) { ended += changed; };
  std::atomic<int> met{0};
  thrum::runtime runtime(options);
  for (int i = 0; i != 5; ++i) {
    runtime
        .spawn([] {
          thrum::thread_lock lock;
          changed = 1;
          lock.keep();
        })
        .join();
  }
  CHECK(eventually([&] { return ended == 5; }));
  for (int i = 0; i != 50; ++i) {
    runtime.go([&] { met += changed; });
  }
  CHECK(eventually([&] { return runtime.stats().goroutines == 0; }));
  CHECK(met == 0);
}

TEST_CASE("a goroutine that ends with its thread_lock undestroyed lets others run") {
  alignas(thrum::thread_lock) static unsigned char place[sizeof(thrum::thread_lock)];
  thrum::runtime runtime(support::with_procs(1));
  runtime.spawn([] { ::new (static_cast<void*>(place)) thrum::thread_lock; }).join();
  bool ran = false;
  runtime.spawn([&] { ran = true; }).join();
  CHECK(ran);
}

TEST_CASE("threads that end with their goroutines are replaced where only one is allowed") {
  thrum::options options = support::with_procs(1);
  options.max_threads = 1;
  thrum::runtime runtime(options);
  int ran = 0;
  for (int i = 0; i != 3; ++i) {
    runtime
        .spawn([&] {
          thrum::thread_lock lock;
          lock.keep();
          ++ran;
        })
        .join();
  }
  CHECK(ran == 3);
}
