// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A thread that is a host of a runtime, and waits: for work, for a call that blocks, for goroutines.
#include <thrum/runtime.hpp>

#include "support/hog.hpp"
#include "support/test.hpp"

namespace {

using support::hog_of_a_processor;
using support::wait_until_it_runs;
using clock_of_hosts = std::chrono::steady_clock;

}  // namespace

// ---- calls that occupy the thread ---------------------------------------------------------------

TEST_CASE("a blocking call never occupies a host's thread, unless its goroutine is bound to it") {
  std::atomic<int> on_host{0}, done{0};
  thrum::runtime runtime(with_procs(1));
  const hog_of_a_processor hog(runtime);
  wait_until_it_runs(hog);
  const auto host = std::this_thread::get_id();
  for (int i = 0; i != 20; ++i) {
    runtime.go([&] {
      thrum::blocking([&] { on_host += std::this_thread::get_id() == host; });
      ++done;
    });
  }
  while (done != 20) {
    runtime.run_for(10ms);
  }
  CHECK(on_host == 0);
  const bool bound =
      runtime
          .spawn(
              thrum::on_host,
              [&] { return thrum::blocking([&] { return std::this_thread::get_id() == host; }); })
          .join();
  CHECK(bound);
}

TEST_CASE("a thread_lock never takes a host's thread") {
  std::atomic<int> on_host{0}, done{0};
  thrum::runtime runtime(with_procs(1));
  const auto host = std::this_thread::get_id();
  for (int i = 0; i != 20; ++i) {
    runtime.go([&] {
      const thrum::thread_lock lock;
      on_host += std::this_thread::get_id() == host;
      thrum::this_goroutine::yield();
      on_host += std::this_thread::get_id() == host;
      ++done;
    });
  }
  while (done != 20) {
    runtime.run_for(10ms);
  }
  CHECK(on_host == 0);
}

// ---- waiting helps ------------------------------------------------------------------------------

TEST_CASE("a host that waits in wait_group::wait, join, block_on or a channel runs goroutines") {
  thrum::runtime runtime(with_procs(1));
  runtime.poll();
  const hog_of_a_processor hog(runtime);
  wait_until_it_runs(hog);
  const auto host = std::this_thread::get_id();
  thrum::wait_group group;
  bool there = true;
  for (int i = 0; i != 10; ++i) {
    group.go(runtime, [&] {
      thrum::spawn(thrum::on_host, [&] {
        there = there && std::this_thread::get_id() == host;
      }).join();
    });
  }
  group.wait();
  CHECK(there);

  CHECK(runtime.spawn(thrum::on_host, [] { return 7; }).join() == 7);
  CHECK(runtime.block_on([] { return thrum::spawn(thrum::on_host, [] { return 8; }).join(); }) ==
        8);

  auto numbers = thrum::make_chan<int>();
  runtime.go(thrum::on_host, [=] { numbers.send(9); });
  CHECK(numbers.recv() == 9);
  runtime.go(thrum::on_host, [=] { numbers.send(10); });
  int chosen = 0;
  thrum::select(thrum::on_recv(numbers, [&](int n, bool) { chosen = n; }),
                thrum::on_timeout(support::long_time, [] {}));
  CHECK(chosen == 10);
}

TEST_CASE("a host that waits with a deadline is back after it") {
  thrum::runtime runtime(with_procs(1));
  runtime.poll();
  auto never = thrum::make_chan<int>();
  int n = 0;
  const auto begin = clock_of_hosts::now();
  CHECK(never.recv_for(n, 5ms) == thrum::recv_status::timeout);
  CHECK(clock_of_hosts::now() - begin >= 5ms);
}

TEST_CASE("a host of two runtimes runs both while it waits for either") {
  thrum::runtime one(with_procs(1)), other(with_procs(1));
  one.poll();
  other.poll();
  const auto host = std::this_thread::get_id();
  auto turns = thrum::make_chan<int>();
  bool there = true;
  one.go(thrum::on_host, [&, turns] {
    for (int i = 0; i != 50; ++i) {
      turns.send(i);
      there = there && std::this_thread::get_id() == host;
    }
    turns.close();
  });
  const int sum = other
                      .spawn(thrum::on_host,
                             [&, turns] {
                               int all = 0;
                               for (int i : turns) {
                                 all += i;
                                 there = there && std::this_thread::get_id() == host;
                               }
                               return all;
                             })
                      .join();
  CHECK(sum == 1225);
  CHECK(there);
}

TEST_CASE("a thread that waits goes on by itself when the runtime that it helps is destroyed") {
  auto runtime = std::make_unique<thrum::runtime>(with_procs(1));
  runtime->poll();
  thrum::binary_semaphore over(0);
  std::thread other([&] {
    std::this_thread::sleep_for(5ms);
    runtime.reset();
    over.release();
  });
  over.acquire();
  CHECK(runtime == nullptr);
  other.join();
}
