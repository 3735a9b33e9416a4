// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include "support/environment.hpp"
#include "support/test.hpp"
#include "support/watched_errors.hpp"

using thrum::testing::bubble;

namespace {

/// The same promise with one processor and with several.
thrum::options bubble_options(unsigned procs) {
  thrum::options options = support::environment_options();
  options.procs = procs;
  return options;
}

}  // namespace

TEST_CASE("a sleep of a day in a bubble takes a day there and no time here") {
  const auto real = std::chrono::steady_clock::now();
  bubble([] {
    const auto before = thrum::testing::now();
    thrum::sleep_for(24h);
    CHECK(thrum::testing::now() - before == 24h);
  });
  CHECK(std::chrono::steady_clock::now() - real < 1h);
}

TEST_CASE("time in a bubble stands still while a goroutine can run") {
  const unsigned procs = GENERATE(1U, 4U);
  bubble(bubble_options(procs), [] {
    std::atomic<bool> done{false};
    const auto before = thrum::testing::now();
    thrum::go([&] {
      for (int i = 0; i != support::scaled(10'000); ++i) {
        thrum::this_goroutine::yield();
      }
      CHECK(thrum::testing::now() == before);
      done = true;
    });
    thrum::sleep_for(1ns);
    CHECK(done);
    CHECK(thrum::testing::now() - before == 1ns);
  });
}

TEST_CASE("goroutines of a bubble wake in the order of their times, each exactly in time") {
  const unsigned procs = GENERATE(1U, 4U);
  bubble(bubble_options(procs), [] {
    const auto start = thrum::testing::now();
    std::vector<int> order;
    thrum::wait_group group;
    for (int i = 9; i >= 0; --i) {
      group.go([&, i] {
        thrum::sleep_for(std::chrono::hours(i + 1));
        CHECK(thrum::testing::now() - start == std::chrono::hours(i + 1));
        order.push_back(i);
      });
    }
    group.wait();
    CHECK(order == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  });
}

IN_BUBBLE("a receive with a timeout in a bubble ends exactly at it, or before with the element") {
  const thrum::chan<int> ch(0);
  thrum::go([ch] {
    thrum::sleep_for(90min);
    ch.send(7);
  });
  const auto start = thrum::testing::now();
  int got = 0;
  CHECK(ch.recv_for(got, 1h) == thrum::recv_status::timeout);
  CHECK(thrum::testing::now() - start == 1h);
  CHECK(ch.recv_for(got, 1h) == thrum::recv_status::ok);
  CHECK(thrum::testing::now() - start == 90min);
  CHECK(got == 7);
}

IN_BUBBLE("a select with a timeout in a bubble ends exactly at it") {
  const thrum::chan<int> never(0);
  const auto start = thrum::testing::now();
  CHECK(thrum::select(thrum::on_recv(never), thrum::on_timeout(3h)) == 1);
  CHECK(thrum::testing::now() - start == 3h);
}

IN_BUBBLE("a timer's channel can be received from at the very moment at which it is due") {
  const thrum::recv_chan<thrum::time_point> due = thrum::after(1s);
  thrum::sleep_for(1s);
  CHECK(thrum::select(thrum::on_recv(due, [](auto&&) {}), thrum::otherwise([] {})) == 0);
}

TEST_CASE("wait in a bubble returns when every other goroutine is blocked, before time goes on") {
  const unsigned procs = GENERATE(1U, 4U);
  bubble(bubble_options(procs), [] {
    const auto start = thrum::testing::now();
    std::atomic<int> stage{0};
    thrum::go([&] {
      stage = 1;
      thrum::sleep_for(1h);
      stage = 2;
    });
    thrum::testing::wait();
    CHECK(stage == 1);
    thrum::sleep_for(59min);
    thrum::testing::wait();
    CHECK(stage == 1);
    thrum::sleep_for(1min);
    thrum::testing::wait();
    CHECK(stage == 2);
    CHECK(thrum::testing::now() - start == 1h);
  });
}

TEST_CASE("wait outside of a bubble is an error of use") {
  CHECK(support::is_usage_error("testing::wait", [] { thrum::testing::wait(); }));
  support::with_runtime(
      [] { CHECK(support::is_usage_error("testing::wait", [] { thrum::testing::wait(); })); });
}

TEST_CASE("a bubble returns what its first goroutine returns, once all have ended") {
  std::atomic<int> ended{0};
  const int result = bubble([&] {
    for (int i = 0; i != 10; ++i) {
      thrum::go([&] {
        for (int k = 0; k != 100; ++k) {
          thrum::this_goroutine::yield();
        }
        ++ended;
      });
    }
    return 42;
  });
  CHECK(result == 42);
  CHECK(ended == 10);
}

TEST_CASE("what the function of a bubble holds is destroyed in the bubble, as it ends") {
  struct opener {
    thrum::chan<void> gate;
    explicit opener(thrum::chan<void> of) : gate(std::move(of)) {}
    ~opener() {
      thrum::sleep_for(1h);  // of the bubble's time
      gate.close();
    }
  };
  int woken = 0;
  const auto begins = [&](auto held) {
    return [&woken, held = std::move(held)] {
      thrum::go([&woken, gate = held->gate] {
        gate.recv();
        ++woken;
      });
    };
  };
  bubble(begins(std::make_shared<opener>(thrum::make_chan<void>())));
  CHECK(woken == 1);
  CHECK(bubble([f = begins(std::make_shared<opener>(thrum::make_chan<void>()))] {
          return f(), 5;
        }) == 5);
  CHECK(woken == 2);
}

TEST_CASE("an exception that leaves the first goroutine leaves the bubble") {
  CHECK_THROWS_AS(bubble([] {
                    thrum::sleep_for(1h);
                    throw std::out_of_range("too late");
                  }),
                  std::out_of_range);
}

TEST_CASE("a bubble whose goroutines are blocked for good says which, and unwinds them") {
  const unsigned procs = GENERATE(1U, 4U);
  std::atomic<int> unwound{0};
  struct count_at_end {
    std::atomic<int>& to;
    ~count_at_end() { ++to; }
  };
  std::string text;
  try {
    bubble(bubble_options(procs), [&] {
      const thrum::chan<int> nobody(0);
      thrum::go({.name = "reader"}, [&, nobody] {
        const count_at_end guard{unwound};
        nobody.recv();
      });
      thrum::sleep_for(1h);
      const count_at_end guard{unwound};
      nobody.recv();
    });
  } catch (const thrum::testing::deadlock& dead) {
    text = dead.what();
  }
  INFO(text);
  CHECK(text.find("deadlock") != std::string::npos);
  CHECK(text.find("goroutine 1 [chan receive") != std::string::npos);
  CHECK(text.find("\"reader\"") != std::string::npos);
  CHECK(unwound == 2);
}

TEST_CASE("a bubble whose first goroutine has ended while others are blocked is deadlocked") {
  CHECK_THROWS_AS(bubble([] {
                    const thrum::chan<int> nobody(0);
                    thrum::go([nobody] { nobody.recv(); });
                  }),
                  thrum::testing::deadlock);
}

TEST_CASE(
    "time in a bubble stands still after its function returned, and sleeping goroutines are "
    "reported") {
  const unsigned procs = GENERATE(1U, 4U);
  std::string text;
  bool woke = false;
  try {
    bubble(bubble_options(procs), [&] {
      thrum::go({.name = "late"}, [&] {
        thrum::sleep_for(1ns);
        woke = true;
      });
    });
  } catch (const thrum::testing::deadlock& dead) {
    text = dead.what();
  }
  INFO(text);
  CHECK_FALSE(woke);
  CHECK(text.find("has returned") != std::string::npos);
  CHECK(text.find("[sleep") != std::string::npos);
  CHECK(text.find("\"late\"") != std::string::npos);
  CHECK(text.find("(seed ") != std::string::npos);
}

TEST_CASE("a ticker and a timer without a waiter do not hold a bubble that has returned") {
  bool fired = false;
  CHECK(bubble([&] {
          static_cast<void>(thrum::after_func(1h, [&] { fired = true; }));
          const thrum::ticker every(1s);
          return 7;
        }) == 7);
  CHECK_FALSE(fired);
}

TEST_CASE("what left a bubble's function goes before what is still blocked") {
  CHECK_THROWS_AS(bubble([] {
                    thrum::go([] { thrum::sleep_for(1h); });
                    throw std::out_of_range("first");
                  }),
                  std::out_of_range);
}

namespace {

/// The order in which n goroutines wake that have slept until the same moment.
std::vector<int> wake_order(std::uint64_t seed, int n) {
  // A goroutine that is interrupted by real time goes to the end.
  thrum::options options = bubble_options(1);
  options.preempt = thrum::preemption::none;
  return bubble({.runtime = options, .seed = seed}, [n] {
    std::vector<int> order;
    in_goroutines(n, [&order](int i) {
      thrum::sleep_for(1h);
      order.push_back(i);
    });
    return order;
  });
}

}  // namespace

TEST_CASE("goroutines of a bubble that wake together run in an order that the seed decides") {
  for (const int n : {5, 1000}) {  // more than a processor's ring holds
    const std::vector<int> order = wake_order(1, n);
    CHECK(order == wake_order(1, n));
    std::vector<int> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    for (int i = 0; i != n; ++i) {
      CHECK(sorted[static_cast<std::size_t>(i)] == i);
    }
  }
  CHECK(wake_order(1, 1000) != wake_order(2, 1000));
}

TEST_CASE("goroutines of a bubble that no ring has room for wake in a random order, too") {
  const std::vector<int> order = wake_order(1, 1000);
  int neighbours = 0;
  for (std::size_t i = 1; i != order.size(); ++i) {
    neighbours += std::abs(order[i] - order[i - 1]) == 1 ? 1 : 0;
  }
  CHECK(neighbours < 20);  // of 999 pairs, 2 on average
}

TEST_CASE("each order of goroutines of a bubble that wake together comes as often as any other") {
  std::map<std::vector<int>, int> seen;
  const int each = support::scaled(100);
  for (int i = 0; i != 6 * each; ++i) {
    ++seen[wake_order(static_cast<std::uint64_t>(i), 3)];
  }
  CHECK(seen.size() == 6);
  for (const auto& [order, n] : seen) {
    CHECK(n > each / 4);
  }
}

TEST_CASE("what a select chooses in a bubble is what its seed says, and not the same each time") {
  const auto choices = [](std::uint64_t seed) {
    return bubble({.runtime = bubble_options(1), .seed = seed}, [] {
      std::string chosen;
      const thrum::chan<int> a(64);
      const thrum::chan<int> b(64);
      for (int i = 0; i != 64; ++i) {
        a.send(i);
        b.send(i);
      }
      for (int i = 0; i != 64; ++i) {
        chosen += thrum::select(thrum::on_recv(a), thrum::on_recv(b)) == 0 ? 'a' : 'b';
      }
      return chosen;
    });
  };
  CHECK(choices(1) == choices(1));
  CHECK(choices(1) != choices(2));
}

TEST_CASE("a bubble knows its seed: the given one, the environment's, or another one each time") {
  CHECK(bubble({.seed = 42}, [] { return thrum::testing::seed(); }) == 42);
  support::set_environment("THRUM_BUBBLE_SEED", "18446744073709551615");
  CHECK(bubble([] { return thrum::testing::seed(); }) == 18'446'744'073'709'551'615U);
  CHECK(bubble({.seed = 42}, [] { return thrum::testing::seed(); }) == 42);
  support::set_environment("THRUM_BUBBLE_SEED", "12x");
  CHECK(support::is_usage_error("bubble", [] { bubble([] {}); }));
  support::remove_environment("THRUM_BUBBLE_SEED");
  std::set<std::uint64_t> seeds;
  for (int i = 0; i != 10; ++i) {
    seeds.insert(bubble([] { return thrum::testing::seed(); }));
  }
  CHECK(seeds.size() > 5);
  CHECK(support::is_usage_error("testing::seed", [] { thrum::testing::seed(); }));
}

TEST_CASE("an exception that leaves a bubble is preceded by its seed on standard error") {
  support::watched_errors errors;
  CHECK_THROWS(bubble({.seed = 77}, [] { throw std::out_of_range("x"); }));
  CHECK(errors.say("THRUM_BUBBLE_SEED=77\n"));
  errors.take();
  bubble([] {});
  CHECK(errors.take().empty());
}

IN_BUBBLE("time in a bubble waits for a goroutine that waits for a mutex or blocks its thread") {
  const auto start = thrum::testing::now();
  thrum::mutex mutex;
  mutex.lock();
  std::thread outside([&] {
    std::this_thread::sleep_for(20ms);
    mutex.unlock();
  });
  thrum::wait_group group;
  group.go([&] {
    mutex.lock();
    CHECK(thrum::testing::now() == start);
    mutex.unlock();
    thrum::blocking([] { std::this_thread::sleep_for(5ms); });
    CHECK(thrum::testing::now() == start);
  });
  thrum::sleep_for(1h);
  CHECK(thrum::testing::now() - start == 1h);
  group.wait();
  outside.join();
}

IN_BUBBLE("a lock with a deadline times out in a bubble, though its holder sleeps longer") {
  const auto start = thrum::testing::now();
  thrum::mutex mutex;
  thrum::shared_mutex shared;
  thrum::wait_group group;
  group.go([&] {
    const std::lock_guard first(mutex);
    const std::lock_guard second(shared);
    thrum::sleep_for(1h);
  });
  thrum::sleep_for(1s);
  CHECK_FALSE(mutex.try_lock_for(1s));
  CHECK_FALSE(shared.try_lock_for(1s));
  CHECK_FALSE(shared.try_lock_shared_for(1s));
  CHECK_FALSE(mutex.lock(thrum::context::background().with_timeout(1s)));
  CHECK(thrum::testing::now() - start == 5s);
  CHECK(mutex.try_lock_for(2h));
  CHECK(thrum::testing::now() - start == 1h);
  mutex.unlock();
  group.wait();
}

IN_BUBBLE("a sleep inside blocking in a bubble takes real time, and none of the bubble's") {
  const auto start = thrum::testing::now();
  const auto real = std::chrono::steady_clock::now();
  thrum::blocking([] { thrum::sleep_for(5ms); });
  CHECK(std::chrono::steady_clock::now() - real >= 5ms);
  thrum::blocking([] { thrum::sleep_until(thrum::testing::now() + 5ms); });
  CHECK(std::chrono::steady_clock::now() - real >= 10ms);
  CHECK(thrum::testing::now() == start);
  int got = 0;
  const thrum::chan<int> never(0);
  thrum::blocking([&] { CHECK(never.recv_for(got, 1ms) == thrum::recv_status::timeout); });
  thrum::sleep_for(1h);
  CHECK(thrum::testing::now() - start == 1h);
}

TEST_CASE("bubbles run side by side and inside each other, each with its own time") {
  std::atomic<int> right{0};
  support::with_runtime([&] {
    thrum::wait_group group;
    for (int i = 1; i <= 4; ++i) {
      group.go([&, i] {
        bubble([&, i] {
          const auto start = thrum::testing::now();
          thrum::sleep_for(std::chrono::hours(i));
          bubble([] { thrum::sleep_for(1000h); });
          right += thrum::testing::now() - start == std::chrono::hours(i) ? 1 : 0;
        });
      });
    }
    group.wait();
  });
  CHECK(right == 4);
}

TEST_CASE("a hundred goroutines that sleep a hundred times each take no time") {
  const unsigned procs = GENERATE(1U, 4U);
  const std::int64_t total = bubble(bubble_options(procs), [] {
    std::atomic<std::int64_t> sum{0};
    thrum::wait_group group;
    for (int i = 1; i <= 100; ++i) {
      group.go([&, i] {
        for (int k = 0; k != 100; ++k) {
          thrum::sleep_for(std::chrono::seconds(i));
          sum += i;
        }
      });
    }
    group.wait();
    return sum.load();
  });
  CHECK(total == 505'000);
}

IN_BUBBLE("time in a bubble advances while no goroutine waits for its open descriptor") {
  thrum::io::pipe pipe;
  thrum::go([&] { pipe.write("x"); });
  char byte = 0;
  CHECK(pipe.read(std::span(&byte, 1)) == 1);
  const auto before = thrum::testing::now();
  thrum::sleep_for(1h);
  CHECK(thrum::testing::now() - before == 1h);
}

TEST_CASE("time in a bubble goes on for goroutines that are locked to their threads") {
  for (const unsigned procs : {1U, 2U}) {
    thrum::options options;
    options.procs = procs;
    bubble(options, [] {
      const auto before = thrum::testing::now();
      thrum::chan<int> from_other(0);
      thrum::go([&] {
        thrum::sleep_for(24h);
        from_other.send(7);
      });
      const thrum::thread_lock lock;
      for (int i = 0; i != 300; ++i) {
        thrum::sleep_for(1min);
        thrum::testing::wait();
      }
      CHECK(from_other.recv() == 7);
      CHECK(thrum::testing::now() - before == 24h);
    });
  }
}

namespace {

/// How often goroutines that never rest had to yield until one of them read what was written; `most`
/// if none had by then.
int yields_until_read(int most) {
  int yields = 0;
  thrum::options one;
  one.procs = 1;
  bubble(one, [&] {
    thrum::io::pipe pipe;
    bool read = false;
    auto reader = thrum::spawn([&] {
      char byte = 0;
      pipe.read(std::span(&byte, 1));
      read = true;
    });
    auto other = thrum::spawn([&] {
      while (!read) {
        thrum::this_goroutine::yield();
      }
    });
    // Longer than the monitor waits before it polls itself.
    const auto end = std::chrono::steady_clock::now() + 30ms;
    while (std::chrono::steady_clock::now() < end) {
      thrum::this_goroutine::yield();
    }
    pipe.write("x");
    for (; !read && yields != most; ++yields) {
      thrum::this_goroutine::yield();
    }
    reader.join();
    other.join();
  });
  return yields;
}

}  // namespace

TEST_CASE("a bubble whose goroutines never rest looks at descriptors") {
  constexpr int most = 1000;  // the poller is looked at once in 61 turns
  // Once in a while a thread that has just taken the event, and has lost its CPU, is waited for.
  CHECK(support::eventually([] { return yields_until_read(most) != most; }));
}

namespace {

using traits = thrum::sched::traits;
using goroutine = thrum::sched::goroutine;

std::atomic<goroutine*> about_to_be_queued{nullptr};

bool leave_to_outside(thrum::sched::machine&, goroutine& g, void*) noexcept {
  about_to_be_queued = &g;
  return true;
}

}  // namespace

TEST_CASE("a bubble is not dead while a thread outside is about to queue a goroutine") {
  std::thread outside;
  bool went_on = false;
  bubble([&] {
    outside = std::thread([] {
      while (about_to_be_queued.load() == nullptr) {
        std::this_thread::yield();
      }
      goroutine& g = *about_to_be_queued.exchange(nullptr);
      auto& scheduler = *g.scheduler;
      std::this_thread::sleep_for(5ms);  // its processor is idle by now
      g.status = thrum::sched::g_status::runnable;
      scheduler.wake_processor();  // looks in vain, and then whether all is quiet
      std::this_thread::sleep_for(20ms);
      thrum::sched::ready_elsewhere(g);
    });
    thrum::sched::section here;
    thrum::sched::park(here, thrum::sched::wait_reason::io_read, &leave_to_outside, nullptr);
    went_on = true;
  });
  outside.join();
  CHECK(went_on);
}
