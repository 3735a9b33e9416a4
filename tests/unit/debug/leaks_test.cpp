// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Goroutines that wait for ever are found, and no others.

#include <thrum/debug/leaks.hpp>

#include "support/program.hpp"
#include "support/test.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using thrum::debug::profile_form;

/// Each goroutine here is left behind, so it starts outside of the frame that looks for leaks.
[[gnu::noinline]] void lose_senders(int n) {
  const thrum::chan<int> c(0);
  for (int i = 0; i != n; ++i) {
    thrum::go({.name = "lost sender"}, [c] { c.send(1); });
  }
}

bool waits(unsigned n) {
  return eventually([n] { return thrum::stats().waiting >= n; });
}

std::string leaks() { return thrum::debug::leak_profile(profile_form::folded); }

bool has(const std::string& text, const std::string& words) {
  return text.find(words) != text.npos;
}

thrum::chan<int>& kept_by_a_global() {
  static thrum::chan<int> kept(0);
  return kept;
}

constexpr bool sees_all = thrum::os::sees_all_memory;

}  // namespace

TEST_CASE("a leak profile has the goroutines whose channel only they can reach") {
  // Words that other tests have left in this process would hide some.
  const support::program_result r = support::run_program("leaks", "THRUM_MAXPROCS=4");
  INFO(r.text);
  CHECK(r.exit_code == 0);
  CHECK(r.says("lost in nothing;"));
  CHECK(r.says("[chan receive (nil chan)] 1"));
  if (sees_all && !support::emulated()) {
    CHECK(r.says("lost sender;"));
    CHECK(r.says("[chan send] "));
    CHECK(r.says("lost select;"));
    CHECK(r.says("lost parent;"));
    CHECK(r.says("lost child;"));
  }
}

TEST_CASE("a leak profile has a goroutine that the goroutine that asks for it has lost") {
  const support::program_result r = support::run_program("one_leak");
  INFO(r.text);
  CHECK(r.exit_code == 0);
  if (sees_all && !support::emulated()) {
    CHECK(r.says("lost sender;"));
  }
}

IN_RUNTIME("a leak profile has no goroutine whose channel something else can reach",
           with_procs(2)) {
  const auto wait_on = [](const thrum::chan<int>& c) {
    thrum::go({.name = "kept"}, [c] { c.recv(); });
  };
  std::vector<std::function<void()>> ends;
  int expected = 0;
  const auto keep = [&](const thrum::chan<int>& c, std::function<void()> end) {
    wait_on(c);
    ends.push_back(std::move(end));
    ++expected;
  };
  // a global, the heap, a closure on the heap, the caller's frame
  keep(kept_by_a_global(), [] { kept_by_a_global().close(); });
  auto on_heap = std::make_unique<thrum::chan<int>>(0);
  keep(*on_heap, [&on_heap] { on_heap->close(); });
  {
    const thrum::chan<int> c(0);
    keep(c, [c] { c.close(); });
  }
  const thrum::chan<int> in_frame(0);
  keep(in_frame, [&in_frame] { in_frame.close(); });
  // an element of another channel
  const thrum::chan<thrum::chan<int>> box(1);
  box.send(thrum::chan<int>(0));
  {
    const thrum::chan<int> c = box.recv().value();
    keep(c, [&box] { box.recv().value().close(); });
    box.send(c);
  }
  // a goroutine that will go on, by a handle and by a reference to the waiter's frame
  thrum::chan<int> go_on(0);
  std::atomic<bool> owner_ended{false};
  {
    const thrum::chan<int> c(0);
    wait_on(c);
    ++expected;
    thrum::go([c, go_on] {
      go_on.recv();
      c.close();
    });
    thrum::go({.name = "kept"}, [go_on, &owner_ended] {
      {
        const thrum::chan<int> own(0);
        thrum::go([&own, go_on] {
          go_on.recv();
          own.close();
        });
        own.recv();
      }
      owner_ended = true;
    });
    ++expected;
  }
  // a thread that is no goroutine's
  std::atomic<bool> ends_thread{false};
  thrum::chan<int> of_thread(0);
  std::thread other([c = of_thread, &ends_thread] {
    while (!ends_thread) {
      std::this_thread::yield();
    }
    c.close();
  });
  wait_on(of_thread);
  ++expected;
  of_thread = {};
  // a deadline, a context
  thrum::go({.name = "kept"}, [] {
    const thrum::chan<int> c(0);
    static_cast<void>(c.recv(1h));
  });
  const thrum::context context = thrum::context().with_cancel();
  thrum::go({.name = "kept"}, [done = context.done()] { done.recv(); });
  expected += 2;
  REQUIRE(waits(static_cast<unsigned>(expected) + 2));
  for (int i = 0; i != 5; ++i) {
    CHECK(leaks() == "");
  }
  go_on.close();
  context.cancel();
  ends_thread = true;
  other.join();
  for (const auto& end : ends) {
    end();
  }
  // The stop of the runtime would end its wait, and with it the channel that is about to be closed.
  CHECK(eventually([&owner_ended] { return owner_ended.load(); }));
}

TEST_CASE("a leak profile outside of a goroutine is refused with a sentence") {
  CHECK_THROWS_AS(thrum::debug::leak_profile(), thrum::usage_error);
}

TEST_CASE("two runtimes may look for leaks at the same time, and find none that is not lost") {
  std::atomic<int> wrong{0};
  const auto look = [&wrong] {
    thrum::run(with_procs(2), [&wrong] {
      const thrum::chan<int> kept(0);
      thrum::go({.name = "kept"}, [kept] { kept.recv(); });
      lose_senders(8);
      static_cast<void>(waits(9));
      for (int i = 0; i != 10; ++i) {
        wrong += has(leaks(), "kept;") ? 1 : 0;
      }
      kept.close();
    });
  };
  std::thread other(look);
  look();
  other.join();
  CHECK(wrong == 0);
}
