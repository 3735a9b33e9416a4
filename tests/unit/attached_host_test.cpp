// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A thread of the program runs goroutines in its main loop: runtime::poll, run_for, run_until_idle.
#include <thrum/runtime.hpp>

#include <thrum/testing/bubble.hpp>

#include "support/hog.hpp"
#include "support/test.hpp"

namespace {

using support::hog_of_a_processor;
using support::wait_until_it_runs;
using clock_of_hosts = std::chrono::steady_clock;

}  // namespace

// ---- what runs, and when it is over -------------------------------------------------------------

TEST_CASE("poll runs a goroutine of each that are ready once, and then returns") {
  std::atomic<bool> ends{false};
  thrum::runtime runtime(with_procs(1));
  std::array<int, 3> turns{};
  for (int& each : turns) {
    runtime.go(thrum::on_host, [&] {
      while (!ends) {
        ++each;
        thrum::this_goroutine::yield();
      }
    });
  }
  CHECK(runtime.poll() == 3);
  CHECK(turns == std::array<int, 3>{1, 1, 1});
  CHECK(runtime.poll() == 3);
  CHECK(turns == std::array<int, 3>{2, 2, 2});
  ends = true;
  CHECK(runtime.poll() == 3);
  CHECK(runtime.poll() == 0);
}

TEST_CASE("poll leaves to the next poll what becomes ready meanwhile") {
  thrum::options options = with_procs(1);
  options.preempt = thrum::preemption::none;  // else what starts the two may need several slices
  thrum::runtime runtime(options);
  int started = 0;
  runtime.go(thrum::on_host, [&] {
    thrum::go(thrum::on_host, [&] { ++started; });
    thrum::go(thrum::on_host, [&] { ++started; });
  });
  CHECK(runtime.poll() == 1);
  CHECK(started == 0);
  CHECK(runtime.poll() == 2);
  CHECK(started == 2);
}

TEST_CASE("poll of an idle runtime does nothing") {
  thrum::runtime runtime(with_procs(2));
  for (int i = 0; i != 100; ++i) {
    CHECK(runtime.poll() == 0);
  }
}

TEST_CASE("run_until_idle runs goroutines, and those that they start, to their end") {
  thrum::runtime runtime(with_procs(1));
  int left = 0;
  runtime.go(thrum::on_host, [&] {
    for (int i = 0; i != 100; ++i) {
      ++left;
      thrum::go(thrum::on_host, [&] {
        thrum::this_goroutine::yield();
        --left;
      });
    }
  });
  CHECK(runtime.run_until_idle() >= 201);  // more where a slice is cut short
  CHECK(left == 0);
}

TEST_CASE("run_for lasts for its duration, and runs what becomes ready meanwhile") {
  thrum::runtime runtime(with_procs(2));
  int ticks = 0;
  runtime.go(thrum::on_host, [&] {
    for (int i = 0; i != 5; ++i) {
      thrum::sleep_for(1ms);
      ++ticks;
    }
  });
  std::size_t slices = 0;
  for (auto time = 20ms; slices == 0; time *= 2) {  // on a busy machine a short one may find none
    const auto begin = clock_of_hosts::now();
    slices = runtime.run_for(time);
    CHECK(clock_of_hosts::now() - begin >= time);
  }
  while (ticks != 5) {
    runtime.run_for(20ms);
  }
}

TEST_CASE("run_for of no time runs nothing") {
  thrum::runtime runtime(with_procs(1));
  bool ran = false;
  runtime.go(thrum::on_host, [&] { ran = true; });
  CHECK(runtime.run_for(0ms) == 0);
  CHECK(runtime.run_for(-1s) == 0);
  CHECK_FALSE(ran);
  CHECK(runtime.poll() == 1);
  CHECK(ran);
}

TEST_CASE("a host that waits for work runs it when every processor of the runtime computes") {
  std::atomic<int> ran{0};
  std::atomic<bool> there{true};
  const auto host = std::this_thread::get_id();
  thrum::runtime runtime(with_procs(1));
  const hog_of_a_processor hog(runtime);
  wait_until_it_runs(hog);
  std::thread other([&] {
    for (int i = 0; i != 20; ++i) {
      std::this_thread::sleep_for(1ms);
      runtime.go([&] {
        ++ran;
        there = there && std::this_thread::get_id() == host;
      });
    }
  });
  while (ran != 20) {
    runtime.run_for(10ms);
  }
  other.join();
  CHECK(ran == 20);
}

TEST_CASE("timers fire on hosts that wait for work when every processor of the runtime computes") {
  thrum::options options = with_procs(1);
  options.preempt = thrum::preemption::none;
  std::atomic<bool> begun{false};
  std::atomic<bool> ends{false};
  thrum::runtime runtime(options);
  runtime.go([&] {
    begun = true;
    while (!ends) {
    }
  });
  CHECK(eventually([&] { return begun.load(); }));
  std::vector<std::thread> hosts;
  for (int i = 0; i != 2; ++i) {
    hosts.emplace_back([&] { runtime.run_for(support::long_time); });
  }
  const auto begin = clock_of_hosts::now();
  for (int i = 0; i != 20; ++i) {
    runtime.spawn([] { thrum::sleep_for(100us); }).join();
  }
  CHECK(clock_of_hosts::now() - begin < support::long_time);
  ends = true;
  runtime.stop();
  for (std::thread& host : hosts) {
    host.join();
  }
}

TEST_CASE("what a host leaves in its queue is run by others") {
  std::atomic<int> ran{0};
  thrum::runtime runtime(with_procs(2));
  runtime.go(thrum::on_host, [&] {
    for (int i = 0; i != 100; ++i) {
      thrum::go([&] { ++ran; });
    }
  });
  CHECK(runtime.poll() >= 1);
  CHECK(eventually([&] { return ran == 100; }));  // this thread polls no more
}

TEST_CASE("a sleep that began on a host's thread ends though the host has gone") {
  thrum::runtime runtime(with_procs(1));
  auto slept = std::make_shared<std::atomic<bool>>(false);
  runtime.go(thrum::on_host, [slept] {
    thrum::go([slept] {
      thrum::sleep_for(1ms);
      *slept = true;
    });
  });
  runtime.poll();
  runtime.poll();
  CHECK(eventually([&] { return slept->load(); }));
}

TEST_CASE("what stands behind a loop on the host's thread is run by others") {
  std::atomic<bool> ran{false};
  thrum::runtime runtime(with_procs(1));
  runtime.go(thrum::on_host, [&] {
    thrum::go([&] { ran = true; });
    while (!ran) {  // calls nothing
    }
  });
  runtime.run_until_idle();
  CHECK(ran);
}

TEST_CASE("a timer of a goroutine on the host's thread fires while a loop keeps that thread") {
  std::atomic<bool> fired{false};
  thrum::runtime runtime(with_procs(1));
  runtime.go(thrum::on_host, [&] {
    auto timer = thrum::after_func(1ms, [&] { fired = true; });
    while (!fired) {  // calls nothing
    }
  });
  runtime.run_until_idle();
  CHECK(fired);
}

TEST_CASE("a goroutine that computes and asks gives the host its thread back") {
  std::atomic<bool> ends{false};
  thrum::runtime runtime(with_procs(1));
  runtime.go(thrum::on_host, [&] {
    while (!ends) {
      thrum::this_goroutine::preemption_point();
    }
  });
  CHECK(runtime.poll() == 1);
  std::size_t slices = 0;
  for (auto time = 1ms; slices == 0; time *= 2) {  // on a busy machine a short one may find none
    slices = runtime.run_for(time);
  }
  ends = true;
  CHECK(runtime.run_until_idle() >= 1);
}

TEST_CASE("goroutines of a host and of other threads share channels") {
  auto there = thrum::make_chan<int>();
  auto back = thrum::make_chan<int>();
  thrum::runtime runtime(with_procs(2));
  runtime.go([&] {
    for (int i : there) {
      back.send(i + 1);
    }
    back.close();
  });
  int sum = 0;
  auto asked = runtime.spawn(thrum::on_host, [&] {
    for (int i = 0; i != 1'000; ++i) {
      there.send(i);
      sum += *back.recv() - i;
    }
    there.close();
  });
  while (!asked.done()) {
    runtime.run_for(10ms);
  }
  CHECK(sum == 1'000);
}

// ---- errors -------------------------------------------------------------------------------------

TEST_CASE("poll and its like are usage errors inside goroutines and in a bubble") {
  thrum::runtime runtime(with_procs(1)), other(with_procs(1));
  runtime.block_on([&] {
    CHECK(is_usage_error("runtime::poll: called on a thread that", [&] { runtime.poll(); }));
    CHECK(is_usage_error("runtime::run_for: called on", [&] { other.run_for(1ms); }));
    CHECK(is_usage_error("runtime::run_until_idle: called on",
                         [&] { thrum::blocking([&] { runtime.run_until_idle(); }); }));
  });
  thrum::testing::bubble([] {
    thrum::runtime* const inner = thrum::runtime::current();
    std::string message;
    thrum::blocking([&] {
      std::thread([&] { message = support::usage_message([&] { inner->poll(); }); }).join();
    });
    CHECK(message.rfind("runtime::poll: the runtime of a testing::bubble", 0) == 0);
  });
}

// ---- what is the thread's own -------------------------------------------------------------------

TEST_CASE("a host finds its errno, and the exception that it handles, as it left them") {
  thrum::runtime runtime(with_procs(1));
  runtime.go(thrum::on_host, [] {
    errno = ERANGE;
    try {
      throw std::runtime_error("of the goroutine");
    } catch (const std::runtime_error&) {
      thrum::this_goroutine::yield();
    }
  });
  errno = EDOM;
  try {
    throw std::logic_error("of the host");
  } catch (const std::logic_error&) {
    CHECK(runtime.poll() == 1);
    CHECK(errno == EDOM);
    try {
      throw;
    } catch (const std::logic_error& error) {
      CHECK(std::string(error.what()) == "of the host");
    }
    CHECK(runtime.poll() == 1);
  }
}

TEST_CASE("between its calls a host is a thread like others") {
  thrum::runtime runtime(with_procs(1));
  runtime.poll();
  CHECK(thrum::runtime::current() == nullptr);
  CHECK(thrum::this_goroutine::id() == 0);
  CHECK(is_usage_error("go: called outside", [] { thrum::go([] {}); }));
}

TEST_CASE("the figures of a runtime have what its hosts did") {
  thrum::runtime runtime(with_procs(2));
  for (int i = 0; i != 10; ++i) {
    runtime.go(thrum::on_host, [] {});
  }
  CHECK(runtime.run_until_idle() == 10);
  const auto seen = runtime.stats();
  CHECK(seen.created == 10);
  CHECK(seen.finished == 10);
  CHECK(seen.procs == 2);
  CHECK(seen.local_queues.size() == 2);
}
