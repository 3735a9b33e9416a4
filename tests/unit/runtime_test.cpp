// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/runtime.hpp>

#include "support/environment.hpp"
#include "support/process.hpp"
#include "support/test.hpp"

#include <exception>

#if !defined(_WIN32)
#include <sys/resource.h>
#endif

using support::scoped_environment;

// ---- run ---------------------------------------------------------------------------------------

TEST_CASE("run returns the int of main, or 0") {
  CHECK(thrum::run([] { return 7; }) == 7);
  CHECK(thrum::run([] {}) == 0);
  CHECK(thrum::run(with_procs(2), [] { return thrum::stats().procs; }) == 2);
}

namespace {

constexpr std::size_t usual_stack = std::size_t{256} << 10;

std::size_t stack_bytes_here() {
  return std::size_t{1} << thrum::sched::current_m()->g->size_class;
}

[[gnu::noinline]] void fill_a_large_frame() {
  volatile char large[5 << 20];
  for (std::size_t i = 0; i < sizeof large; i += 4096) {
    large[i] = 1;
  }
}

}  // namespace

TEST_CASE("main has the stack of a thread, unless the options say how large stacks are") {
  thrum::run([] {
    CHECK(stack_bytes_here() == std::size_t{8} << 20);
    fill_a_large_frame();
    thrum::spawn([] { CHECK(stack_bytes_here() == usual_stack); }).join();
  });
  thrum::run(thrum::options{.stack_size = 2 * usual_stack}, [] {
    CHECK(stack_bytes_here() == std::size_t{8} << 20);
    thrum::spawn([] { CHECK(stack_bytes_here() == 2 * usual_stack); }).join();
  });
  thrum::run(thrum::options{.stack_size = usual_stack / 2},
             [] { CHECK(stack_bytes_here() == usual_stack / 2); });
  thrum::run(thrum::options{.stack_size = 64 * usual_stack},
             [] { CHECK(stack_bytes_here() == 64 * usual_stack); });
}

TEST_CASE("an exception that leaves main leaves run, after everything has ended") {
  std::atomic<int> n{0};
  CHECK_THROWS_AS(thrum::run([&] {
                    for (int i = 0; i != 10; ++i) {
                      thrum::go([&] {
                        ++n;
                        try {
                          thrum::sleep_for(1h);
                        } catch (const thrum::goroutine_exit&) {
                          --n;
                          throw;
                        }
                      });
                    }
                    REQUIRE(eventually([&] { return n == 10; }));
                    throw std::runtime_error("main");
                  }),
                  std::runtime_error);
  CHECK(n == 0);
}

TEST_CASE("main is goroutine 1 of a runtime that current() names") {
  CHECK(thrum::runtime::current() == nullptr);
  thrum::run([] {
    CHECK(thrum::this_goroutine::id() == 1);
    CHECK(thrum::runtime::current() != nullptr);
    return 0;
  });
  CHECK(thrum::runtime::current() == nullptr);
}

TEST_CASE("the environment gives the number of processors unless the options do") {
  const scoped_environment procs("THRUM_MAXPROCS", "3");
  CHECK(thrum::options::from_environment().procs == 3);
  CHECK(thrum::run([] { return thrum::stats().procs; }) == 3);
  CHECK(thrum::run(thrum::options{}, [] { return thrum::stats().procs; }) == 3);
  CHECK(thrum::run(thrum::options{.procs = 2}, [] { return thrum::stats().procs; }) == 2);
}

TEST_CASE("what the environment says is ignored where it makes no sense") {
  for (const char* const text : {"", "0", "-1", "many", "3x", "99999999999999999999"}) {
    const scoped_environment procs("THRUM_MAXPROCS", text);
    INFO("THRUM_MAXPROCS=" << text);
    CHECK(static_cast<unsigned>(thrum::run([] { return thrum::stats().procs; })) ==
          thrum::default_procs());
  }
  const scoped_environment debug("THRUM_DEBUG", "schedtrace,scheddetail=,=,,x=1,schedtrace=abc");
  CHECK(thrum::options::from_environment().schedtrace == 0ms);
  CHECK_FALSE(thrum::options::from_environment().scheddetail);
}

TEST_CASE("THRUM_DEBUG sets what its keys name") {
  const scoped_environment debug("THRUM_DEBUG",
                                 "schedtrace=250,unknown=1,,scheddetail=1,x,asyncpreemptoff=1");
  const thrum::options options = thrum::options::from_environment();
  CHECK(options.schedtrace == 250ms);
  CHECK(options.scheddetail);
  CHECK(options.preempt == thrum::preemption::cooperative);
}

TEST_CASE("the default number of processors is at least one and at most the machine's") {
  CHECK(thrum::default_procs() >= 1);
  CHECK(thrum::default_procs() <= std::max(1U, std::thread::hardware_concurrency()));
}

// ---- many runtimes -----------------------------------------------------------------------------

TEST_CASE("a runtime may be started and stopped a thousand times without leaving anything") {
  const auto cycle = [] {
    thrum::runtime runtime(with_procs(2));
    thrum::wait_group group;
    runtime.block_on([&] {
      for (int i = 0; i != 10; ++i) {
        group.go([] { thrum::this_goroutine::yield(); });
      }
      thrum::go([] { thrum::sleep_for(1h); });
      group.wait();
    });
  };
  for (int i = 0; i != 50; ++i) {  // what the C library keeps is there now
    cycle();
  }
  const std::size_t threads = support::thread_count();
  const std::size_t mappings = support::mapping_count();
  const std::size_t size = support::address_space_bytes();
  const std::size_t resident = support::resident_bytes();
  for (int i = scaled(1'000, 50); i > 0; --i) {
    cycle();
  }
  CHECK(eventually([&] { return support::thread_count() <= threads; }));
  if (support::memory_is_exact()) {
    CHECK(support::mapping_count() <= mappings + 20);
    // A thousand slabs of stacks would be 64 GiB, a thousand stacks of threads 8.
    CHECK(support::address_space_bytes() <= size + (std::size_t{300} << 20));
    CHECK(support::resident_bytes() <= resident + (std::size_t{8} << 20));
  }
}

TEST_CASE("several runtimes in one process do not disturb each other") {
  constexpr int n = 4;
  std::vector<std::unique_ptr<thrum::runtime>> runtimes;
  for (int i = 0; i != n; ++i) {
    runtimes.push_back(std::make_unique<thrum::runtime>(with_procs(static_cast<unsigned>(i) + 1)));
  }
  std::array<thrum::join_handle<bool>, n> handles;
  for (std::size_t i = 0; i != n; ++i) {
    thrum::runtime* const own = runtimes[i].get();
    handles[i] = own->spawn([own, i] {
      bool ok = true;
      thrum::wait_group group;
      std::atomic<int> ran{0};
      for (int k = 0; k != 500; ++k) {
        group.go([&] {
          thrum::this_goroutine::yield();
          ran += thrum::runtime::current() == own ? 1 : 0;
        });
      }
      group.wait();
      ok = ok && ran == 500 && thrum::stats().procs == i + 1;
      return ok;
    });
  }
  for (auto& handle : handles) {
    CHECK(handle.join());
  }
  runtimes[1].reset();  // the others go on
  CHECK(runtimes[0]->block_on([] { return thrum::spawn([] { return 5; }).join(); }) == 5);
  CHECK(runtimes[3]->block_on([] { return thrum::spawn([] { return 6; }).join(); }) == 6);
}

TEST_CASE("channels, mutexes and groups may be shared between runtimes") {
  thrum::runtime a(with_procs(2));
  thrum::runtime b(with_procs(2));
  const int n = scaled(20'000);
  thrum::chan<int> there(0);
  thrum::chan<int> back(8);
  thrum::mutex mutex;
  int guarded = 0;
  thrum::wait_group group;
  group.add(2);
  a.go([=, &mutex, &guarded, &group]() mutable {
    for (int i = 0; i != n; ++i) {
      there.send(i);
      const std::lock_guard lock(mutex);
      guarded += 1;
    }
    there.close();
    group.done();
  });
  b.go([=, &mutex, &guarded, &group]() mutable {
    for (const int i : there) {
      back.send(i * 2);
      const std::lock_guard lock(mutex);
      guarded += 1;
    }
    back.close();
    group.done();
  });
  std::int64_t sum = 0;
  for (const int i : back) {  // this thread is of neither
    sum += i;
  }
  group.wait();
  CHECK(sum == std::int64_t{n} * (n - 1));
  CHECK(guarded == 2 * n);
}

IN_RUNTIME("a goroutine may own a runtime and block on it") {
  thrum::runtime inner(with_procs(1));
  CHECK(inner.block_on([] { return thrum::spawn([] { return 3; }).join(); }) == 3);
  CHECK(thrum::runtime::current() != &inner);
  thrum::blocking([&] { inner.stop(); });
}

TEST_CASE("block_on gives the result, the reference or the exception to the calling thread") {
  thrum::runtime runtime(support::environment_options());
  CHECK(runtime.block_on([] { return std::string("x"); }) == "x");
  int object = 0;
  CHECK(&runtime.block_on([&]() -> int& { return object; }) == &object);
  CHECK_THROWS_AS(runtime.block_on([] { throw std::out_of_range(""); }), std::out_of_range);
  std::vector<std::thread> threads;
  std::atomic<int> sum{0};
  for (int t = 0; t != 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i != 50; ++i) {
        sum += runtime.block_on([t] { return t; });
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(sum == 50 * 28);
}

// ---- processors --------------------------------------------------------------------------------

TEST_CASE("the number of processors changes while goroutines run, and none is lost") {
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> done{0};
  thrum::runtime runtime(with_procs(2));
  thrum::chan<int> ring(4);
  for (int i = 0; i != 20; ++i) {
    runtime.go([&, ring]() mutable {
      for (std::uint64_t k = 0; !stop; ++k) {
        if (k % 7 == 0) {
          thrum::sleep_for(std::chrono::microseconds(k % 50));
        }
        ring.send(1);
        thrum::go([&] { ++done; });
        thrum::this_goroutine::yield();
        ring.recv();
        if (k % 50 == 0) {
          thrum::blocking([] { std::this_thread::sleep_for(std::chrono::microseconds(50)); });
        }
      }
    });
  }
  for (int round = scaled(20, 3); round > 0; --round) {
    for (const unsigned n : {1U, 8U, 3U, 64U, 2U, 5U}) {
      runtime.procs(n);
      CHECK(runtime.procs() == n);
      const std::uint64_t before = done;
      REQUIRE(eventually([&] { return done > before + 10; }));
    }
  }
  runtime.procs(0);
  CHECK(runtime.procs() == thrum::default_procs());
  stop = true;
  REQUIRE(eventually([&] { return runtime.stats().goroutines == 0; }));
}

TEST_CASE("sleepers of a processor that is taken away still wake") {
  std::atomic<int> woken{0};
  thrum::runtime runtime(with_procs(8));
  for (int i = 0; i != 100; ++i) {
    runtime.go([&, i] {
      thrum::sleep_for(std::chrono::milliseconds(1 + i % 30));
      ++woken;
    });
  }
  REQUIRE(eventually([&] { return runtime.stats().created == 100; }));
  runtime.procs(1);
  CHECK(eventually([&] { return woken == 100; }));
}

TEST_CASE("never more goroutines run at once than there are processors") {
  constexpr unsigned procs = 3;
  thrum::options options = with_procs(procs);
  options.preempt = thrum::preemption::none;  // a preempted goroutine would be counted, too
  with_runtime(options, [] {
    std::atomic<int> running{0};
    std::atomic<int> most{0};
    in_goroutines(50, [&](int) {
      for (int k = 0; k != 20; ++k) {
        const int now = ++running;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        for (int spin = 0; spin != 1'000; ++spin) {
          static_cast<void>(running.load());
        }
        --running;
        thrum::this_goroutine::yield();
      }
    });
    CHECK(most <= static_cast<int>(procs));
  });
}

// ---- threads -----------------------------------------------------------------------------------

#if !defined(_WIN32)  // nobody counts wake-ups
TEST_CASE("an idle runtime leaves the processors alone") {
  thrum::runtime runtime(support::environment_options());
  runtime.block_on([] {
    thrum::wait_group group;
    for (int i = 0; i != 100; ++i) {
      group.go([] { thrum::this_goroutine::yield(); });
    }
    group.wait();
  });
  const auto wakeups = [] {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw;
  };
  // Settles once; then a second without a handful of wake-ups. Others on the machine may disturb
  // one look, not all of them.
  bool is_quiet = false;
  // Sanitizers have threads of their own.
  const auto end =
      std::chrono::steady_clock::now() + (support::memory_is_exact() ? support::long_time : 0s);
  while (!is_quiet && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(200ms);
    const long before = wakeups();
    std::this_thread::sleep_for(1s);
    is_quiet = wakeups() - before < 5 + 1;  // and our own
  }
  CHECK((is_quiet || !support::memory_is_exact()));
}
#endif

TEST_CASE("on_panic gets the exception and the goroutine that it left") {
  std::atomic<thrum::goroutine_id> id{0};
  std::string what;
  std::atomic<int> calls{0};
  thrum::options options = support::environment_options();
  options.on_panic = [&](const std::exception_ptr& error, thrum::goroutine_id g) {
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& e) {
      what = e.what();
    }
    id = g;
    ++calls;
  };
  thrum::goroutine_id expected = 0;
  with_runtime(options, [&] {
    thrum::chan<thrum::goroutine_id> ids(1);
    thrum::go([=]() mutable {
      ids.send(thrum::this_goroutine::id());
      throw std::runtime_error("dropped");
    });
    expected = *ids.recv();
    CHECK(eventually([&] { return calls == 1; }));
  });
  CHECK(id == expected);
  CHECK(what == "dropped");
}

TEST_CASE("an exception that leaves a spawned goroutine is no panic") {
  std::atomic<int> calls{0};
  thrum::options options = support::environment_options();
  options.on_panic = [&](const std::exception_ptr&, thrum::goroutine_id) { ++calls; };
  with_runtime(options, [] {
    CHECK_THROWS_AS(thrum::spawn([] { throw 1; }).join(), int);
    thrum::wait_group group;
    group.go([] { thrum::this_goroutine::exit(); });
    group.wait();
  });
  CHECK(calls == 0);
}

TEST_CASE("time slices without end are slices of a year") {
  thrum::options options = support::with_procs(1);
  options.time_slice = std::chrono::nanoseconds::max();
  options.report_hogs = 1'000;
  options.report_blocked = std::chrono::seconds::max();
  thrum::runtime runtime(options);
  auto first = runtime.spawn([] { return 1; });
  auto second = runtime.spawn([] { return 2; });
  CHECK(first.join() + second.join() == 3);
  CHECK(std::chrono::nanoseconds(runtime.scheduler().config().time_slice_ns) ==
        std::chrono::hours(24 * 365));
}
