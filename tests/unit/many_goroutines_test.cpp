// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include "support/process.hpp"
#include "support/test.hpp"

using support::live_goroutines;

namespace {

/// Parks n goroutines on a channel, calls `look` while they are, and lets them go.
template <class Look>
void park_at_once(int n, Look look) {
  thrum::chan<int> gate(0);
  std::atomic<int> passed{0};
  thrum::wait_group group;
  for (int i = 0; i != n; ++i) {
    group.go([&] {
      if (!gate.recv()) {
        ++passed;
      }
    });
  }
  REQUIRE(eventually([&] { return thrum::stats().waiting >= static_cast<std::uint64_t>(n); }));
  look();
  gate.close();
  group.wait();
  CHECK(passed == n);
}

}  // namespace

IN_RUNTIME("100,000 goroutines are parked at once and all come back") {
  const int n = live_goroutines(100'000);
  const std::size_t resident = support::resident_bytes();
  park_at_once(n, [&] {
    CHECK(thrum::stats().goroutines == static_cast<std::uint64_t>(n) + 1);
    if (support::memory_is_exact()) {
      const std::size_t each = (support::resident_bytes() - resident) / static_cast<std::size_t>(n);
      INFO("bytes for each " << each);
      // Without optimisation the frames of two pages.
      CHECK(each < (support::optimised ? 6'000 : 10'000));
    }
  });
}

IN_RUNTIME("later goroutines use the memory of those that have ended") {
  const int n = live_goroutines(20'000);
  park_at_once(n, [] {});
  const std::size_t reserved = thrum::stats().stack_bytes;
  for (int round = 0; round != 3; ++round) {
    park_at_once(n, [] {});
  }
  // Each processor may keep some dead goroutines to itself, and memory comes by the slab.
  using traits = thrum::sched::traits;
  const auto kept = thrum::stats().procs * traits::free_goroutines_per_p;
  CHECK(thrum::stats().stack_bytes <=
        reserved + kept * thrum::options().stack_size + thrum::sched::stack_pool::slab_bytes);
}

IN_RUNTIME("many goroutines queue for one mutex and each gets it once") {
  const int n = live_goroutines(20'000);
  thrum::mutex mutex;
  int guarded = 0;
  thrum::wait_group group;
  mutex.lock();
  for (int i = 0; i != n; ++i) {
    group.go([&] {
      mutex.lock();
      ++guarded;
      mutex.unlock();
    });
  }
  REQUIRE(eventually([&] { return thrum::stats().waiting >= static_cast<std::uint64_t>(n); }));
  mutex.unlock();
  group.wait();
  CHECK(guarded == n);
}

IN_RUNTIME("many handles are joined in the order of their making") {
  const int n = live_goroutines(20'000);
  std::vector<thrum::join_handle<int>> handles;
  handles.reserve(static_cast<std::size_t>(n));
  for (int i = 0; i != n; ++i) {
    handles.push_back(thrum::spawn([i] {
      thrum::this_goroutine::yield();
      return i;
    }));
  }
  int mistakes = 0;
  for (int i = 0; i != n; ++i) {
    mistakes += handles[static_cast<std::size_t>(i)].join() == i ? 0 : 1;
  }
  CHECK(mistakes == 0);
}

TEST_CASE("stop ends 100,000 parked goroutines") {
  const int n = live_goroutines(100'000);
  thrum::runtime runtime(support::environment_options());
  runtime.block_on([&] {
    for (int i = 0; i != n; ++i) {
      thrum::go([] { thrum::chan<int>().recv(); });
    }
  });
  REQUIRE(eventually([&] { return runtime.stats().waiting == static_cast<std::uint64_t>(n); }));
  runtime.stop();
  CHECK(runtime.stats().goroutines == 0);
}
