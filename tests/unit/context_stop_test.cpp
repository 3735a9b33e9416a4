// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Contexts and std::stop_token: what is told when, and what may be destroyed meanwhile.

#include <thrum/context.hpp>

#include "support/migrate.hpp"
#include "support/process.hpp"
#include "support/stop_source.hpp"
#include "support/test.hpp"

using thrum::context;

namespace {

/// Gives the caller occasions to go on upon another thread, in a crowd: blocks until the monitor
/// has taken its processor, several times. True: it has changed threads.
bool is_moved_by_waits() {
  const long own = support::os_thread();
  bool moved = false;
  for (int i = 0; i != 5; ++i) {
    thrum::blocking([] { std::this_thread::sleep_for(5ms); });
    moved = moved || support::os_thread() != own;
  }
  return moved;
}

}  // namespace

TEST_CASE("a context that follows a stop_token may be dropped while the stop is requested") {
  // The two threads meet at each step, and reach for the context after a different delay each time.
  // On a machine that is busy otherwise each yield may take milliseconds.
  const int most = scaled(20'000);
  const auto until = std::chrono::steady_clock::now() + 10s;
  std::atomic<std::stop_source*> asked{nullptr};
  std::atomic<bool> over{false};
  int requests = 0;
  std::thread requester([&] {
    while (!over) {
      if (std::stop_source* const source = asked.load()) {
        requests += source->request_stop() ? 1 : 0;
        asked = nullptr;
      } else {
        std::this_thread::yield();
      }
    }
  });
  int rounds = 0;
  for (; rounds != most && std::chrono::steady_clock::now() < until; ++rounds) {
    std::stop_source source = support::new_source();
    {
      const context follows = context::background().with_stop_token(source.get_token());
      asked = &source;
      for (std::atomic<int> delay{rounds % 200}; delay != 0; --delay) {
      }
    }
    while (asked.load() != nullptr) {
      std::this_thread::yield();
    }
  }
  over = true;
  requester.join();
  CHECK(requests == rounds);
}

TEST_CASE("a callback that cancels its context once more finds all below it done") {
  const context parent = context::background().with_cancel();
  const context child = parent.with_cancel();
  bool child_was_done = false;
  const std::stop_callback callback(parent.stop_token(), [&] {
    parent.cancel();
    child_was_done = child.cancelled();
  });
  parent.cancel();
  CHECK(child_was_done);
}

IN_RUNTIME("a callback of a context may join a goroutine that waits for a child to be done") {
  const context parent = context::background().with_cancel();
  const context child = parent.with_cancel();
  auto worker = thrum::spawn([child] { child.done().recv(); });
  bool ended = false;
  const std::stop_callback callback(parent.stop_token(),
                                    [&] { ended = worker.wait_for(support::long_time); });
  parent.cancel();
  CHECK(ended);
}

IN_RUNTIME("of several cancels of one context each returns when all below it is done",
           support::with_procs(4)) {
  constexpr std::size_t width = 300;
  for (int round = 0; round != scaled(200); ++round) {
    const context root = context::background().with_cancel();
    const context middle = root.with_cancel();
    std::vector<context> leaves;
    for (std::size_t i = 0; i != width; ++i) {
      leaves.push_back(middle.with_cancel());
    }
    std::atomic<int> early{0};
    thrum::wait_group group;
    for (const context& cancelled : {root, middle, root, middle}) {
      group.go([&, cancelled] {
        cancelled.cancel();
        early += leaves.back().done().is_closed() ? 0 : 1;
      });
    }
    group.wait();
    REQUIRE(early == 0);
  }
}

IN_RUNTIME("a goroutine that destroys a stop_callback waits until its call has ended",
           support::with_procs(1)) {
  const context c = context::background().with_cancel();
  std::atomic<bool> began{false};
  std::atomic<bool> ended{false};
  auto owner = thrum::spawn([&] {
    const auto wait = [&] {
      began = true;
      thrum::sleep_for(20ms);
      ended = true;
    };
    std::optional<std::stop_callback<decltype(wait)>> callback;
    callback.emplace(c.stop_token(), wait);
    const bool called = support::eventually([&] { return began.load(); });
    thrum::blocking([&] { callback.reset(); });
    return called && ended;
  });
  thrum::this_goroutine::yield();
  c.cancel();
  CHECK(owner.join());
}

IN_RUNTIME("a cancel goes on on the same thread after each callback that has waited",
           support::with_procs(4)) {
  const support::crowd others;
  std::stop_source source = support::new_source();
  const context follows = context::background().with_stop_token(source.get_token());
  const context below = follows.with_cancel();
  int moved = 0;
  const auto wait = [&moved] { moved += is_moved_by_waits() ? 1 : 0; };
  const std::stop_callback first(follows.stop_token(), wait);
  const std::stop_callback second(below.stop_token(), wait);
  source.request_stop();
  const context cancelled = context::background().with_cancel();
  const std::stop_callback third(cancelled.stop_token(), wait);
  cancelled.cancel();
  CHECK(moved == 0);
}

IN_RUNTIME("the last handle of a context may go while a callback of its token waits",
           support::with_procs(4)) {
  const support::crowd others;
  for (int round = 0; round != scaled(5); ++round) {
    std::stop_source source = support::new_source();
    context follows = context::background().with_stop_token(source.get_token());
    std::atomic<bool> began{false};
    std::atomic<bool> dropped{false};
    const std::stop_callback wait(follows.stop_token(), [&] {
      began = true;
      support::eventually([&] { return dropped.load(); });
      is_moved_by_waits();
    });
    auto requester = thrum::spawn([&source] { source.request_stop(); });
    REQUIRE(support::eventually([&] { return began.load(); }));
    follows = context::background();
    dropped = true;
    REQUIRE(requester.wait_for(support::long_time));
    requester.join();
  }
}

IN_RUNTIME(
    "the stop_token of a context that is done is requested, also if first asked for meanwhile",
    support::with_procs(4)) {
  std::atomic<int> late{0};
  for (int round = 0; round != scaled(500); ++round) {
    const context c = context::background().with_cancel();
    thrum::wait_group group;
    for (int i = 0; i != 3; ++i) {
      group.go([&late, c, i] {
        if (i == 0) {
          c.cancel();
        }
        const std::stop_token token = c.stop_token();
        late += i == 0 && !token.stop_requested() ? 1 : 0;
      });
    }
    group.wait();
  }
  CHECK(late == 0);
}

TEST_CASE("a thread that asks for a token while another cancels calls no callbacks") {
  int early = 0;
  int in_asker = 0;
  for (int round = 0; round != 50; ++round) {
    const context parent = context::background().with_cancel();
    std::vector<context> children;
    for (int i = 0; i != 200; ++i) {
      children.push_back(parent.with_cancel());
    }
    const std::stop_token token = parent.stop_token();
    std::atomic<bool> asks{false};
    std::atomic<std::thread::id> asker;
    std::thread other([&] {
      asker = std::this_thread::get_id();
      asks = true;
      while (!parent.stop_token().stop_requested()) {
      }
    });
    while (!asks) {
      std::this_thread::yield();
    }
    const std::stop_callback callback(token, [&] {
      early += !children.back().done().is_closed();
      in_asker += std::this_thread::get_id() == asker.load();
    });
    parent.cancel();
    other.join();
  }
  CHECK(early == 0);
  CHECK(in_asker == 0);
}

TEST_CASE("a context whose deadline is watched for its token goes with the runtime that watches") {
  std::weak_ptr<int> value;
  with_runtime([&] {
    auto held = std::make_shared<int>(1);
    value = held;
    const context c =
        context::background().with_value(std::move(held)).with_timeout(std::chrono::hours(1));
    CHECK_FALSE(c.stop_token().stop_requested());
  });
  CHECK(value.expired());
}

IN_RUNTIME("the owner of a context may go as soon as it is done") {
  const thrum::chan<void> ended(1);
  const int rounds = scaled(2'000);
  int requested = 0;
  int refused = 0;
  for (int i = 0; i != rounds; ++i) {
    {
      const context c = context::background().with_cancel();
      thrum::go([&c, ended] {
        c.cancel();
        ended.send();
      });
      refused += c.done().recv() ? 0 : 1;  // closed, not sent to
      requested += c.error() ? 1 : 0;
    }
    ended.recv();
  }
  CHECK(refused == rounds);
  CHECK(requested == rounds);
}
