// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Several threads as hosts of one runtime, and how a runtime with hosts ends.
#include <thrum/runtime.hpp>

#include "support/child.hpp"
#include "support/test.hpp"

namespace {

using clock_of_hosts = std::chrono::steady_clock;

}  // namespace

// ---- several threads ----------------------------------------------------------------------------

TEST_CASE("a host of many runtimes runs what is bound to it in each of them") {
  const int many = 10;
  std::vector<std::unique_ptr<thrum::runtime>> runtimes;
  for (int i = 0; i != many; ++i) {
    runtimes.push_back(std::make_unique<thrum::runtime>(with_procs(1)));
    runtimes.back()->poll();
  }
  int ran = 0;
  for (auto& runtime : runtimes) {
    auto called = runtime->spawn(thrum::on_host, [&] { ++ran; });
    thrum::wait_group group;
    group.go(*runtime, [&] { called.join(); });
    CHECK(group.wait_for(support::long_time));
    runtime->run_until_idle();  // were it not so, it would end like this
  }
  CHECK(ran == many);
}

TEST_CASE("a goroutine on a host may destroy another runtime of which its thread is a host") {
  thrum::runtime first(with_procs(1));
  auto second = std::make_unique<thrum::runtime>(with_procs(1));
  bool unwound = false;
  first.poll();
  second->go(thrum::on_host, [&] {
    struct note_end {
      ~note_end() { to = true; }
      bool& to;
    } const at_end{unwound};
    thrum::chan<int>().recv();
  });
  second->poll();
  first.spawn(thrum::on_host, [&] { second.reset(); }).join();
  CHECK(second == nullptr);
  CHECK(unwound);
}

#if !defined(_WIN32)
TEST_CASE("a thread that waits in a forked process runs no goroutines of the parent") {
  std::atomic<int> ran{0};
  thrum::runtime runtime(with_procs(1));
  runtime.poll();
  runtime.go(thrum::on_host, [&] { ++ran; });
  const auto child = support::run_in_child([&] {
    int value = 0;
    thrum::chan<int>(0).recv_for(value, 20ms);
    std::_Exit(ran == 0 ? 0 : 3);
  });
  CHECK(child.exit_code == 0);
  CHECK(runtime.poll() == 1);
  CHECK(ran == 1);
}
#endif

#if !defined(_WIN32)  // mingw destroys such objects when their memory is gone: docs/platforms.md
TEST_CASE("poll is a usage error in the destructor of a thread_local") {
  struct polls_at_end {
    thrum::runtime* of = nullptr;
    bool* refused = nullptr;
    ~polls_at_end() {
      *refused = is_usage_error("runtime::poll: called by a destructor", [&] { of->poll(); });
    }
  };
  bool refused = false;
  thrum::runtime runtime(with_procs(1));
  std::thread([&] {
    static thread_local polls_at_end last;  // made before the thread is a host, destroyed after
    last.of = &runtime;
    last.refused = &refused;
    runtime.poll();
  }).join();
  CHECK(refused);
}
#endif

TEST_CASE("several threads may be hosts of one runtime at once") {
  std::atomic<int> left{2'000};
  thrum::runtime runtime(with_procs(1));
  std::vector<std::thread> hosts;
  for (int i = 0; i != 4; ++i) {
    hosts.emplace_back([&] {
      while (left > 0) {
        runtime.run_for(1ms);
      }
    });
  }
  for (int i = 0; i != 2'000; ++i) {
    runtime.go([&] {
      thrum::this_goroutine::yield();
      --left;
    });
  }
  for (std::thread& each : hosts) {
    each.join();
  }
  CHECK(left == 0);
}

TEST_CASE("threads that end make room for other hosts") {
  thrum::runtime runtime(with_procs(1));
  for (int i = 0; i != 200; ++i) {  // more than may be hosts at once
    std::thread([&] { runtime.poll(); }).join();
  }
  CHECK(runtime.poll() == 0);
}

TEST_CASE("more than 64 threads at once are not hosts of a runtime") {
  thrum::runtime runtime(with_procs(1));
  std::atomic<int> hosts{0}, refused{0};
  thrum::latch all(70), seen(1);
  std::vector<std::thread> threads;
  for (int i = 0; i != 70; ++i) {
    threads.emplace_back([&] {
      if (is_usage_error("runtime::poll: this runtime has 64 hosts", [&] { runtime.poll(); })) {
        ++refused;
      } else {
        ++hosts;
      }
      all.count_down();
      seen.wait();
    });
  }
  all.wait();
  seen.count_down();
  for (std::thread& each : threads) {
    each.join();
  }
  CHECK(hosts == 64);
  CHECK(refused == 6);
}

// ---- the end ------------------------------------------------------------------------------------

TEST_CASE("a host that stops its runtime runs what is bound to it until that has unwound") {
  bool unwound = false;
  struct note_end {
    ~note_end() { *to = std::this_thread::get_id() == where; }
    bool* to;
    std::thread::id where;
  };
  {
    thrum::runtime runtime(with_procs(1));
    runtime.go(thrum::on_host, [&, where = std::this_thread::get_id()] {
      const note_end at_end{&unwound, where};
      thrum::chan<int>().recv();
    });
    CHECK(runtime.poll() == 1);
    CHECK_FALSE(unwound);
  }
  CHECK(unwound);
}

TEST_CASE("a runtime stops although goroutines that are bound to a host never ran") {
  bool ran = false;
  {
    thrum::runtime runtime(with_procs(1));
    runtime.go(thrum::on_host, [&] { ran = true; });
  }
  CHECK_FALSE(ran);
}

TEST_CASE(
    "a runtime stops though its host's thread has ended, and unwinds the goroutines bound to it") {
  for (const bool is_locked : {false, true}) {
    std::atomic<bool> unwound{false};
    {
      thrum::runtime runtime(with_procs(1));
      std::thread([&] {
        runtime.go(thrum::on_host, [&] {
          struct note_end {
            ~note_end() { to = true; }
            std::atomic<bool>& to;
          } const at_end{unwound};
          std::optional<thrum::thread_lock> lock;
          if (is_locked) {
            lock.emplace();
          }
          thrum::chan<int>().recv();
        });
        runtime.poll();
      }).join();
      CHECK_FALSE(unwound);
    }
    CHECK(unwound);
  }
}

TEST_CASE("run_for ends when another thread stops the runtime, and later calls do nothing") {
  thrum::runtime runtime(with_procs(1));
  std::thread other([&] {
    std::this_thread::sleep_for(5ms);
    runtime.stop();
  });
  const auto begin = clock_of_hosts::now();
  runtime.run_for(support::long_time);
  CHECK(clock_of_hosts::now() - begin < support::long_time);
  other.join();
  CHECK(runtime.poll() == 0);
  CHECK(runtime.run_for(support::long_time) == 0);
  CHECK(runtime.run_until_idle() == 0);
}

TEST_CASE("when the first host's thread has ended, the next that attaches takes its place") {
  thrum::runtime runtime(with_procs(1));
  std::thread::id first;
  std::thread([&] {
    first = std::this_thread::get_id();
    runtime.poll();
  }).join();
  std::thread::id where;
  runtime.go(thrum::on_host, [&] { where = std::this_thread::get_id(); });
  CHECK(runtime.poll() == 1);
  CHECK(where == std::this_thread::get_id());
}
