// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/detail/sched/run/goroutine_exit.hpp>

#include "support/test.hpp"

namespace {

/// A destructor that waits for a value, as one that says goodbye to a partner does.
struct waits_at_end {
  const thrum::chan<int>& from;
  std::atomic<int>& got;
  ~waits_at_end() {
    const thrum::uncancellable until_it_has_come;
    got += from.recv().value_or(-1);
  }
};

}  // namespace

TEST_CASE("a wait in an uncancellable scope goes on though the runtime stops") {
  const auto goodbye = thrum::make_chan<int>();
  std::atomic<int> got{0};
  std::atomic<bool> went_on{false};
  thrum::runtime runtime(support::environment_options());
  runtime.go([&] {
    { const waits_at_end scope{goodbye, got}; }
    thrum::sleep_for(std::chrono::hours(1));  // now it is cancelled
    went_on = true;
  });
  REQUIRE(support::eventually([&] { return runtime.stats().waiting == 1; }));
  std::thread stopper([&] { runtime.stop(); });
  CHECK(support::eventually([&] { return runtime.stop_token().stop_requested(); }));
  goodbye.send(7);
  stopper.join();
  CHECK(got == 7);
  CHECK_FALSE(went_on);
}

TEST_CASE("uncancellable scopes nest, to any depth") {
  struct nest {
    static int wait(const thrum::chan<int>& from, int depth) {
      const thrum::uncancellable scope;
      return depth == 0 ? from.recv().value_or(-1) : wait(from, depth - 1);
    }
  };
  const auto goodbye = thrum::make_chan<int>();
  std::atomic<int> got{0};
  std::atomic<bool> cancelled{false};
  thrum::runtime runtime(support::environment_options());
  runtime.go([&] {
    {
      const thrum::uncancellable outer;
      { const thrum::uncancellable inner; }
      got += goodbye.recv().value_or(-1);
    }
    got += nest::wait(goodbye, 300);
    try {
      goodbye.recv();
    } catch (const thrum::goroutine_exit&) {
      cancelled = true;
      throw;
    }
  });
  REQUIRE(support::eventually([&] { return runtime.stats().waiting == 1; }));
  std::thread stopper([&] { runtime.stop(); });
  CHECK(support::eventually([&] { return runtime.stop_token().stop_requested(); }));
  goodbye.send(1);
  goodbye.send(2);
  stopper.join();
  CHECK(got == 3);
  CHECK(cancelled);
}

TEST_CASE("on a foreign thread uncancellable changes nothing") {
  const thrum::uncancellable scope;
  const auto one = thrum::make_chan<int>(1);
  one.send(1);
  CHECK(one.recv() == 1);
}
