// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// options::on_host_work: a main loop that waits for other things is told when to poll. The loops here
// have no timeouts: a wake-up that is lost is a test that hangs.
#include <thrum/options.hpp>

#include "support/child.hpp"
#include "support/test.hpp"

#include <condition_variable>

namespace {

/// The main loop of a program that waits until it is told, as a toolkit's does for its events.
class told_loop {
 public:
  void tell() {
    {
      const std::lock_guard guard(mutex_);
      is_told_ = true;
      ++times_;
    }
    changed_.notify_one();
  }
  /// Returns when it was told since the last time.
  void wait() {
    std::unique_lock guard(mutex_);
    changed_.wait(guard, [&] { return is_told_; });
    is_told_ = false;
  }
  int times() {
    const std::lock_guard guard(mutex_);
    return times_;
  }
  thrum::options options(unsigned procs) {
    thrum::options result;
    result.procs = procs;
    result.on_host_work = [this] { tell(); };
    return result;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_told_ = false;
  int times_ = 0;
};

}  // namespace

TEST_CASE("a main loop that polls only when it is notified runs what is started on it") {
  told_loop loop;
  thrum::runtime runtime(loop.options(2));
  bool ends = false;  // of the main thread
  runtime.go([&] {
    int sum = 0;
    for (int i = 0; i != 100; ++i) {
      sum += thrum::spawn(thrum::on_host, [=] { return i; }).join();
    }
    thrum::spawn(thrum::on_host, [&] { ends = sum == 4950; }).join();
  });
  while (!ends) {
    loop.wait();
    runtime.poll();
  }
  CHECK(ends);
}

TEST_CASE("on_host_work is called when a poll leaves goroutines, and when a sleep has passed") {
  for (const bool sleeps : {false, true}) {
    told_loop loop;
    thrum::runtime runtime(loop.options(1));
    const int steps = sleeps ? 5 : 50;
    int turns = 0;
    runtime.go(thrum::on_host, [&] {
      for (; turns != steps; ++turns) {
        sleeps ? thrum::sleep_for(1ms) : thrum::this_goroutine::yield();
      }
    });
    while (turns != steps) {
      loop.wait();
      runtime.poll();
    }
    CHECK(turns == steps);
  }
}

TEST_CASE("a main loop is notified again of what run_for has left, and not of what it has run") {
  told_loop loop;
  thrum::runtime runtime(loop.options(1));
  int turns = 0;
  runtime.go(thrum::on_host, [&] { ++turns; });
  loop.wait();
  runtime.run_for(-1s);  // looks at the clock before anything else
  CHECK(turns == 0);
  loop.wait();
  runtime.run_until_idle();
  CHECK(turns == 1);
  CHECK(loop.times() == 2);
}

TEST_CASE("a main loop is notified once of any number of goroutines, until it polls") {
  told_loop loop;
  thrum::runtime runtime(loop.options(1));
  int runs = 0;
  for (int i = 0; i != 100; ++i) {
    runtime.go(thrum::on_host, [&] { ++runs; });
  }
  loop.wait();
  runtime.poll();
  CHECK(runs == 100);
  CHECK(loop.times() == 1);
  runtime.go(thrum::on_host, [&] { ++runs; });
  loop.wait();
  runtime.poll();
  CHECK(runs == 101);
  CHECK(loop.times() == 2);
}

TEST_CASE("a main loop is not notified of goroutines that need not run on it") {
  told_loop loop;
  thrum::runtime runtime(loop.options(1));
  runtime.poll();  // the thread is a host
  for (int i = 0; i != 100; ++i) {
    runtime.block_on([] { thrum::this_goroutine::yield(); });
  }
  CHECK(loop.times() == 0);
}

TEST_CASE(
    "no notification of a main loop is lost, whichever thread starts goroutines while it polls") {
  told_loop loop;
  const int many = support::emulated() ? 200 : 5'000;
  thrum::runtime runtime(loop.options(2));
  int runs = 0;  // of the main thread
  std::vector<std::thread> threads;
  for (int t = 0; t != 2; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i != many; ++i) {
        runtime.go(thrum::on_host, [&] { ++runs; });
      }
    });
    runtime.go([&] {
      for (int i = 0; i != many; ++i) {
        thrum::go(thrum::on_host, [&] { ++runs; });
      }
    });
  }
  while (runs != 4 * many) {
    loop.wait();
    runtime.poll();
  }
  for (auto& each : threads) {
    each.join();
  }
  CHECK(loop.times() <= 4 * many);
}

TEST_CASE("the main goroutine of a main thread is notified while it waits in a toolkit's loop") {
  told_loop loop;
  thrum::options settings = loop.options(1);
  settings.main_thread = true;
  const int status = thrum::run(std::move(settings), [&] {
    bool ends = false;
    thrum::go([&] {
      for (int i = 0; i != 50; ++i) {
        thrum::spawn(thrum::on_host, [] {}).join();
      }
      thrum::spawn(thrum::on_host, [&] { ends = true; }).join();
    });
    while (!ends) {
      loop.wait();
      thrum::this_goroutine::yield();
    }
    return 7;
  });
  CHECK(status == 7);
}

TEST_CASE(
    "a main loop is notified on a thread without a goroutine, and may take a goroutine's lock") {
  std::mutex of_the_toolkit;
  std::atomic<bool> holds{false};
  std::atomic<int> told{0};
  std::atomic<bool> was_on_a_goroutine{false};
  thrum::options settings;
  settings.procs = 1;
  settings.on_host_work = [&] {
    was_on_a_goroutine = thrum::runtime::current() != nullptr;
    const std::lock_guard guard(of_the_toolkit);
    ++told;
  };
  thrum::runtime runtime(std::move(settings));
  auto holder = runtime.spawn([&] {
    const std::lock_guard guard(of_the_toolkit);
    holds = true;
    thrum::go(thrum::on_host, [] {});
    return told.load();
  });
  CHECK(holder.join() == 0);
  CHECK(eventually([&] { return told != 0; }));
  CHECK_FALSE(was_on_a_goroutine);
  runtime.poll();
}

TEST_CASE("the destructor of a runtime waits until the main loop has been notified") {
  std::atomic<bool> begun{false};
  std::atomic<bool> ended{false};
  thrum::options settings;
  settings.on_host_work = [&] {
    begun = true;
    std::this_thread::sleep_for(5ms);
    ended = true;
  };
  {
    thrum::runtime runtime(std::move(settings));
    runtime.go(thrum::on_host, [] {});
    CHECK(eventually([&] { return begun.load(); }));
    runtime.poll();
  }
  CHECK(ended);
}

TEST_CASE("the function that notifies a main loop must not throw: the program ends") {
  const auto result = support::run_in_child([] {
    thrum::options settings;
    settings.on_host_work = [] { throw std::runtime_error("not here"); };
    thrum::runtime runtime(std::move(settings));
    runtime.go(thrum::on_host, [] {});
    std::this_thread::sleep_for(1h);
  });
  CHECK(result.signal != 0);
}
