// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// go(on_host, f), spawn(on_host, f), options::main_thread.
#include <thrum/on_host.hpp>

#include <thrum/testing/bubble.hpp>

#include <cstdlib>

#include "support/test.hpp"

namespace {

/// Options for a main goroutine on the calling thread.
thrum::options on_main_thread(unsigned procs) {
  thrum::options options = with_procs(procs);
  options.main_thread = true;
  return options;
}

}  // namespace

TEST_CASE("a goroutine on the host gets a stop of its own, as any other that is spawned") {
  thrum::run(on_main_thread(1), [] {
    const auto main_thread = std::this_thread::get_id();
    auto handle = thrum::spawn(thrum::on_host, [&](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        thrum::this_goroutine::yield();
      }
      return std::this_thread::get_id() == main_thread;
    });
    handle.request_stop();
    CHECK(handle.join());
  });
}

TEST_CASE("a goroutine on_host is on the host's thread after each kind of wait") {
  std::atomic<int> elsewhere{0};
  std::atomic<bool> ends{false};
  thrum::mutex m;
  thrum::runtime runtime(with_procs(4));
  runtime.poll();
  const auto host = std::this_thread::get_id();
  const auto look = [&] { elsewhere += std::this_thread::get_id() != host; };
  auto numbers = thrum::make_chan<int>();
  for (int i = 0; i != 4; ++i) {
    runtime.go([&, numbers] {
      for (int k = 0; !ends; ++k) {
        thrum::select(thrum::on_send(numbers, k), thrum::on_timeout(1ms));
        m.lock();
        thrum::this_goroutine::yield();
        m.unlock();
      }
    });
  }
  auto all = runtime.spawn(thrum::on_host, [&, numbers] {
    look();
    for (int i = 0; i != 50; ++i) {
      numbers.recv();
      look();
      thrum::select(thrum::on_recv(numbers, [] {}), thrum::on_timeout(1s));
      look();
      thrum::sleep_for(10us);
      look();
      m.lock();
      look();
      m.unlock();
      thrum::this_goroutine::yield();
      look();
      thrum::spawn([] { thrum::this_goroutine::yield(); }).join();
      look();
      thrum::blocking(look);
      look();
    }
  });
  all.join();
  ends = true;
  CHECK(elsewhere == 0);
}

TEST_CASE("a goroutine on_host reads and writes sockets on the host's thread") {
  std::atomic<int> elsewhere{0};
  thrum::runtime runtime(with_procs(2));
  const auto host = std::this_thread::get_id();
  auto server = thrum::net::listener::listen("127.0.0.1:0");
  const auto where = server.local();
  runtime.go([&server] {
    auto client = server.accept();
    char c;
    for (int i = 0; i != 100; ++i) {
      thrum::sleep_for(10us);
      client.read_full(std::span<char>(&c, 1));
      client.write(std::string_view(&c, 1));
    }
  });
  auto all = runtime.spawn(thrum::on_host, [&] {
    auto to = thrum::net::dial(where);
    char c = 'x';
    for (int i = 0; i != 100; ++i) {
      to.write(std::string_view(&c, 1));
      to.read_full(std::span<char>(&c, 1));
      elsewhere += std::this_thread::get_id() != host;
    }
    return c;
  });
  while (!all.done()) {
    runtime.run_for(10ms);
  }
  CHECK(all.join() == 'x');
  CHECK(elsewhere == 0);
}

TEST_CASE("what a function throws that is called on the host is thrown by join") {
  thrum::runtime runtime(with_procs(1));
  auto called = runtime.spawn(thrum::on_host, []() -> int { throw std::runtime_error("there"); });
  runtime.poll();
  CHECK_THROWS_WITH(called.join(), "there");
}

TEST_CASE("attributes bind a goroutine to the host as on_host does") {
  thrum::runtime runtime(with_procs(1));
  const auto thread = [] { return std::this_thread::get_id(); };
  auto by_member = runtime.spawn({.on_host = true}, thread);
  auto by_name = thrum::spawn({.runtime = &runtime, .on_host = true}, thread);
  auto merged = thrum::spawn(runtime, thrum::on_host, thrum::attributes{.name = "both"}, thread);
  auto inside = runtime.spawn([&] { return thrum::spawn({.on_host = true}, thread).join(); });
  while (!inside.done()) {
    runtime.run_for(1ms);
  }
  CHECK(by_member.join() == thread());
  CHECK(by_name.join() == thread());
  CHECK(merged.join() == thread());
  CHECK(inside.join() == thread());
}

TEST_CASE("go(on_host) takes attributes and arguments as go does") {
  std::string name;
  int sum = 0;
  thrum::runtime runtime(with_procs(1));
  runtime.go(thrum::on_host, {.stack_size = 65536, .name = "draws"}, [&] {
    name = thrum::this_goroutine::name();
    thrum::go(
        thrum::on_host, thrum::attributes{.name = "inner"}, [&](int a) { sum += a; }, 1);
    thrum::go(
        thrum::on_host, [&](int a, int b) { sum += a + b; }, 2, 3);
  });
  auto spawned = runtime.spawn(thrum::on_host, thrum::attributes{.name = "spawned"}, [] {
    return thrum::spawn(
               thrum::on_host, {.name = "inner"},
               [](std::string_view outer) {
                 return std::string(outer) + std::string(thrum::this_goroutine::name());
               },
               thrum::this_goroutine::name())
        .join();
  });
  runtime.run_until_idle();
  CHECK(name == "draws");
  CHECK(sum == 6);
  CHECK(spawned.join() == "spawnedinner");
}

TEST_CASE("groups start goroutines on the host") {
  const std::thread::id host = std::this_thread::get_id();
  thrum::run(on_main_thread(1), [&] {
    std::thread::id one;
    std::thread::id other;
    thrum::wait_group group;
    group.go({.on_host = true}, [&] { one = std::this_thread::get_id(); });
    group.wait();
    thrum::task_group tasks;
    tasks.go({.on_host = true}, [&] { other = std::this_thread::get_id(); });
    tasks.wait();
    CHECK(one == host);
    CHECK(other == host);
  });
}

IN_RUNTIME("a group learns of a goroutine that should have run on the host and could not") {
  struct of_a_group : thrum::go_detail::told_of_goroutine {
    explicit of_a_group(int& c) : calls(c) {}
    void operator()(void (*f)()) {
      ++calls;
      f();
    }
    int& calls;
  };
  int calls = 0;
  thrum::wait_group ended;
  ended.go([&] {
    thrum::go_detail::host_call<of_a_group> call{of_a_group(calls), true};
    call([] { std::abort(); });
  });
  ended.wait();
  CHECK(calls == 1);
}

TEST_CASE("a thread_lock in a goroutine on_host leaves it where it is, and lets others run there") {
  bool other_ran = false;
  bool there = true;
  thrum::runtime runtime(with_procs(1));
  const auto host = std::this_thread::get_id();
  runtime.go(thrum::on_host, [&] {
    {
      const thrum::thread_lock lock;
      const thrum::thread_lock again;
      thrum::go(thrum::on_host, [&] { other_ran = true; });
      thrum::this_goroutine::yield();
      there = there && std::this_thread::get_id() == host && other_ran;
    }
    thrum::this_goroutine::yield();
    there = there && std::this_thread::get_id() == host;
  });
  runtime.run_until_idle();
  CHECK(other_ran);
  CHECK(there);
}

TEST_CASE(
    "a goroutine on_host may leave by this_goroutine::exit, also while it has a thread_lock") {
  thrum::runtime runtime(with_procs(1));
  runtime.go(thrum::on_host, [] {
    const thrum::thread_lock lock;
    thrum::this_goroutine::exit();
  });
  runtime.run_until_idle();
  CHECK(runtime.stats().goroutines == 0);
}

TEST_CASE(
    "a function on_host that has not begun is not called when its runtime stops without a host") {
  std::atomic<int> calls{0};
  auto kept = std::make_shared<int>(1);
  thrum::join_handle<int> handle;
  {
    thrum::runtime runtime(with_procs(2));
    handle = runtime.spawn(thrum::on_host, [&calls, kept] { return ++calls; });
    runtime.go(
        thrum::on_host, [&calls, kept](int n) { calls += n; }, 5);
  }
  CHECK(calls == 0);
  CHECK(kept.use_count() == 1);
#if THRUM_EXCEPTIONS
  CHECK_THROWS_AS(handle.join(), thrum::usage_error);
#else
  handle.detach();
#endif
}

TEST_CASE("a goroutine on_host that is woken together with others does not wait behind them") {
  thrum::options options = on_main_thread(1);
  options.preempt = thrum::preemption::none;
  std::atomic<bool> woken{false};
  std::atomic<bool> was_in_time{false};
  thrum::run(options, [&] {
    const thrum::chan<int> closed(0);
    std::atomic<int> waiting{0};
    thrum::wait_group others;
    others.go([&] {
      ++waiting;
      closed.recv();
    });
    others.go([&] {
      while (waiting != 1) {
        thrum::this_goroutine::yield();
      }
      thrum::sleep_for(20ms);  // until the other two have parked
      closed.close();
      const auto end = std::chrono::steady_clock::now() + support::long_time;
      while (!woken && std::chrono::steady_clock::now() < end) {
      }
      was_in_time = woken.load();
    });
    closed.recv();
    woken = true;
    others.wait();
  });
  CHECK(was_in_time);
}

TEST_CASE("halves of a goroutine on the host with a large stack are run by others") {
  thrum::options options = on_main_thread(2);
  options.stack_size = std::size_t{64} << 10;
  bool both = false;
  thrum::run(options, [&] {
    thrum::chan<int> done(0);
    thrum::go(thrum::on_host, thrum::attributes{.stack_size = std::size_t{1} << 20}, [&] {
      std::atomic<bool> begun{false};
      both = thrum::fork_join(
                 [&] {
                   const auto end = std::chrono::steady_clock::now() + support::long_time;
                   while (!begun && std::chrono::steady_clock::now() < end) {
                     std::this_thread::yield();
                   }
                   return begun.load();
                 },
                 [&] {
                   begun = true;
                   return true;
                 })
                 .first;
      done.close();
    });
    done.recv();
  });
  CHECK(both);
}

TEST_CASE("thousands of goroutines each call a function on the host") {
  int calls = 0;  // only that thread touches it
  thrum::runtime runtime(with_procs(4));
  runtime.poll();
  thrum::wait_group group;
  const int all = support::scaled(5'000, 500);
  for (int i = 0; i != all; ++i) {
    group.go(runtime, [&] { thrum::spawn(thrum::on_host, [&] { ++calls; }).join(); });
  }
  group.wait();
  CHECK(calls == all);
}

TEST_CASE("in a bubble a goroutine on_host is one like others") {
  bool ran = false;
  thrum::testing::bubble([&] {
    thrum::go(thrum::on_host, [&] {
      thrum::sleep_for(1h);
      ran = true;
    });
    thrum::sleep_for(2h);
  });
  CHECK(ran);
}

TEST_CASE("go(on_host) outside of a runtime is a usage error") {
  CHECK(
      is_usage_error("go: called outside of a runtime", [] { thrum::go(thrum::on_host, [] {}); }));
  CHECK(is_usage_error("spawn: called outside of a runtime",
                       [] { static_cast<void>(thrum::spawn(thrum::on_host, [] {})); }));
}

TEST_CASE("go(on_host) on a runtime that is stopped is a usage error") {
  thrum::runtime runtime(with_procs(1));
  runtime.stop();
  CHECK(is_usage_error("runtime::go: the runtime is stopped",
                       [&] { runtime.go(thrum::on_host, [] {}); }));
  CHECK(is_usage_error("runtime::spawn: the runtime is stopped",
                       [&] { static_cast<void>(runtime.spawn(thrum::on_host, [] {})); }));
}

// ---- run() -------------------------------------------------------------------------------------

TEST_CASE("with options::main_thread main and what is on_host run on the thread that calls run") {
  const auto first = std::this_thread::get_id();
  bool there = true;
  const int status = thrum::run(on_main_thread(2), [&] {
    const auto look = [&] { there = there && std::this_thread::get_id() == first; };
    CHECK(thrum::this_goroutine::id() == 1);
    look();
    thrum::sleep_for(1ms);
    look();
    CHECK(thrum::spawn([] {
            return thrum::spawn(thrum::on_host, [] { return std::this_thread::get_id(); }).join();
          }).join() == first);
    look();
    return 5;
  });
  CHECK(status == 5);
  CHECK(there);
}

TEST_CASE("with options::main_thread other goroutines run on other threads only") {
  const auto first = std::this_thread::get_id();
  std::atomic<int> there{0};
  thrum::run(on_main_thread(1), [&] {
    in_goroutines(200, [&](int) {
      there += std::this_thread::get_id() == first;
      thrum::this_goroutine::yield();
      there += std::this_thread::get_id() == first;
    });
  });
  CHECK(there == 0);
}

TEST_CASE("with options::main_thread what main throws leaves run, and goroutines unwind") {
  bool unwound = false;
  CHECK_THROWS_WITH(thrum::run(on_main_thread(1),
                               [&] {
                                 thrum::go(thrum::on_host, [&] {
                                   struct note_end {
                                     ~note_end() { to = true; }
                                     bool& to;
                                   } const at_end{unwound};
                                   thrum::chan<int>().recv();
                                 });
                                 thrum::this_goroutine::yield();
                                 throw std::runtime_error("of main");
                               }),
                    "of main");
  CHECK(unwound);
}

TEST_CASE("run with options::main_thread inside a goroutine is a usage error") {
  thrum::run([] {
    CHECK(is_usage_error("run: options::main_thread: called on a thread that",
                         [] { thrum::run(on_main_thread(1), [] {}); }));
  });
}
