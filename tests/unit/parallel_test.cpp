// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/parallel.hpp>

#include "support/test.hpp"

#include <numeric>

namespace {

/// How often each of n iterations ran: once, it is hoped.
struct visits {
  explicit visits(std::size_t n) : counts(n) {}

  void operator()(std::size_t i) { ++counts[i]; }
  bool each_once() const {
    std::size_t once = 0;
    for (const auto& each : counts) {
      once += each == 1 ? 1 : 0;
    }
    return once == counts.size();
  }

  std::vector<std::atomic<int>> counts;
};

/// A loop of short iterations: how many slices of time it lasted, and how many goroutines were made.
struct long_loop {
  explicit long_loop(std::chrono::milliseconds slice) {
    thrum::options options = with_procs(1);
    options.time_slice = slice;
    with_runtime(options, [&] {
      const auto before = thrum::stats().created;
      const auto begins = std::chrono::steady_clock::now();
      std::atomic<std::uint64_t> mixed{0};
      thrum::parallel_for(0, 1 << 23, [&](int i) {
        if (std::chrono::steady_clock::now() - begins < 200ms) {
          mixed ^= static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15U;
        }
      });
      slices = (std::chrono::steady_clock::now() - begins) / slice;
      made = static_cast<std::int64_t>(thrum::stats().created - before);
    });
  }

  std::int64_t slices = 0;
  std::int64_t made = 0;
};

}  // namespace

IN_RUNTIME("parallel_for runs each iteration once, whatever the number and the grain") {
  for (const std::size_t n : {0U, 1U, 2U, 3U, 7U, 100U, 1000U}) {
    for (const std::size_t grain :
         {std::size_t{0}, std::size_t{1}, std::size_t{3}, std::size_t{64}, std::size_t{5000}}) {
      visits seen(n);
      thrum::parallel_for(std::size_t{0}, n, seen, grain);
      CHECK(seen.each_once());
    }
  }
}

IN_RUNTIME("parallel_for counts from any integer to any other") {
  std::atomic<int> sum{0};
  thrum::parallel_for(-5, 3, [&](int i) { sum += i; });
  CHECK(sum == -12);
  sum = 0;
  thrum::parallel_for(5, 3, [&](int) { ++sum; });
  CHECK(sum == 0);
  std::atomic<int> count{0};
  thrum::parallel_for(std::numeric_limits<std::int8_t>::min(),
                      std::numeric_limits<std::int8_t>::max(), [&](std::int8_t) { ++count; });
  CHECK(count == 255);
  count = 0;
  thrum::parallel_for(0, std::size_t{10}, [&](std::size_t) { ++count; });
  CHECK(count == 10);
}

IN_RUNTIME("parallel_for reaches the elements of ranges, arrays and pairs of iterators") {
  std::vector<int> values(100, 1);
  thrum::parallel_for(values, [](int& each) { each += 1; });
  thrum::parallel_for(values.begin(), values.end(), [](int& each) { each *= 2; });
  CHECK(values == std::vector<int>(100, 4));
  int array[3] = {1, 2, 3};
  thrum::parallel_for(array, [](int& each) { each = -each; });
  CHECK(array[2] == -3);
  std::vector<std::string> words(5, "a");
  thrum::parallel_for(words, &std::string::clear);
  CHECK(words[4].empty());
}

IN_RUNTIME("parallel_for counts to the ends of the largest integers") {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  std::atomic<int> count{0};
  thrum::parallel_for(most - 3, most, [&](std::int64_t i) { count += i >= most - 3 ? 1 : 100; });
  thrum::parallel_for(least, least + 3, [&](std::int64_t i) { count += i < least + 3 ? 1 : 100; });
  thrum::parallel_for(~std::uint64_t{0} - 3, ~std::uint64_t{0}, [&](std::uint64_t) { ++count; });
  CHECK(count == 9);
}

IN_RUNTIME("a loop of more iterations than there are addresses of 32 bits begins at its beginning",
           with_procs(1)) {
  bool was_first = false;
  const auto loop = [&] {
    thrum::parallel_for(std::int64_t{0}, std::int64_t{1} << 32, [&](std::int64_t i) {
      was_first = i == 0;
      throw std::runtime_error("once");
    });
  };
  CHECK_THROWS_WITH(loop(), "once");
  CHECK(was_first);
}

namespace {

/// As a std::ranges::subrange, which clang 14 does not understand.
struct counted_range {
  std::counted_iterator<std::vector<int>::iterator> first;
  auto begin() const { return first; }
  static std::default_sentinel_t end() { return {}; }
};

}  // namespace

IN_RUNTIME("parallel_for reaches the elements of a range whose end is of another type") {
  std::vector<int> values(10, 1);
  const counted_range all{std::counted_iterator(values.begin(), 10)};
  thrum::parallel_for(all, [](int& each) { ++each; });
  CHECK(thrum::parallel_reduce(all, 0, std::plus<>()) == 20);
}

IN_RUNTIME("this_goroutine::exit in an iteration ends the caller, also if another one has thrown",
           with_procs(1)) {
  bool was_caught = false;
  auto looping = thrum::spawn([&] {
    thrum::latch both(2);
    try {
      thrum::parallel_for(0, 2, [&](int i) {
        both.arrive_and_wait();
        if (i == 1) {
          throw std::runtime_error("one");
        }
        thrum::this_goroutine::yield();
        thrum::this_goroutine::exit();
      });
    } catch (const std::runtime_error&) {
      was_caught = true;
    }
  });
  REQUIRE(eventually_yielding([&] { return looping.done(); }));
  CHECK(!was_caught);
  looping.detach();
}

IN_RUNTIME("an iteration may park, and others run meanwhile") {
  auto values = thrum::make_chan<int>();
  thrum::go([values] {
    for (int i = 0; i != 100; ++i) {
      values.send(i);
    }
  });
  std::atomic<int> sum{0};
  thrum::parallel_for(0, 100, [&](int) { sum += values.recv().value_or(0); });
  CHECK(sum == 4950);
}

TEST_CASE("half of a loop is on offer before its first iteration runs") {
  for (const unsigned procs : {1U, 2U}) {
    with_runtime(with_procs(procs), [] {
      thrum::latch both(2);
      thrum::parallel_for(0, 2, [&](int) { both.arrive_and_wait(); });
      CHECK(both.try_wait());
    });
  }
}

IN_RUNTIME("loops nest") {
  std::atomic<int> count{0};
  thrum::parallel_for(0, 20, [&](int) {
    thrum::parallel_for(0, 20, [&](int) {
      thrum::this_goroutine::yield();
      ++count;
    });
  });
  CHECK(count == 400);
}

IN_RUNTIME("other processors take iterations while one computes", with_procs(2)) {
  std::atomic<int> inside{0};
  thrum::parallel_for(0, 2, [&](int) {
    ++inside;
    while (inside != 2) {
    }
  });
  CHECK(inside == 2);
}

IN_RUNTIME("the first exception leaves a loop when all that had begun have ended") {
  std::atomic<int> running{0};
  std::atomic<int> begun{0};
  const auto loop = [&] {
    thrum::parallel_for(0, 10'000, [&](int i) {
      ++begun;
      ++running;
      thrum::this_goroutine::yield();
      --running;
      if (i % 100 == 7) {
        throw std::runtime_error("seven");
      }
    });
  };
  CHECK_THROWS_WITH(loop(), "seven");
  CHECK(running == 0);
  CHECK(begun < 10'000);
}

TEST_CASE("when the runtime stops, iterations that wait are cancelled and the caller ends") {
  std::atomic<int> waiting{0};
  std::atomic<bool> went_on{false};
  thrum::runtime runtime(with_procs(2));
  runtime.go([&] {
    thrum::parallel_for(0, 8, [&](int) {
      ++waiting;
      thrum::chan<int>().recv();
    });
    went_on = true;
  });
  runtime.block_on([&] { CHECK(eventually_yielding([&] { return waiting >= 2; })); });
  runtime.stop();
  CHECK(runtime.stats().goroutines == 0);
  CHECK(!went_on);
}

TEST_CASE("outside of a runtime, and inside blocking, a loop runs in order on the calling thread") {
  const auto in_order = [] {
    const std::thread::id self = std::this_thread::get_id();
    std::vector<int> seen;
    thrum::parallel_for(0, 5, [&](int i) {
      if (std::this_thread::get_id() == self) {
        seen.push_back(i);
      }
    });
    return seen == std::vector<int>{0, 1, 2, 3, 4};
  };
  CHECK(in_order());
  CHECK(thrum::parallel_reduce(0, 101, 0, std::plus<>()) == 5050);
  CHECK_THROWS_WITH(thrum::parallel_for(0, 3, [](int) { throw std::runtime_error("one"); }), "one");
  with_runtime([&] { CHECK(thrum::blocking(in_order)); });
}

IN_RUNTIME("parallel_reduce combines neighbours in their order, whatever the grain") {
  std::string letters;
  for (int i = 0; i != 500; ++i) {
    letters += static_cast<char>('a' + i % 26);
  }
  for (const std::size_t grain : {std::size_t{0}, std::size_t{1}, std::size_t{7}}) {
    const std::string joined = thrum::parallel_reduce(
        letters, std::string(">"),
        [](std::string a, const std::string& b) {
          thrum::this_goroutine::yield();
          return std::move(a) + b;
        },
        [](char c) { return std::string(1, c); }, grain);
    CHECK(joined == ">" + letters);
  }
}

IN_RUNTIME("parallel_reduce adds up ranges, iterators and integers") {
  std::vector<int> values(1000);
  std::iota(values.begin(), values.end(), 1);
  CHECK(thrum::parallel_reduce(values, 0, std::plus<>()) == 500'500);
  CHECK(thrum::parallel_reduce(values.begin(), values.end(), std::int64_t{5}, std::plus<>()) ==
        500'505);
  CHECK(thrum::parallel_reduce(0, 10, 0, std::plus<>(), [](int i) { return i * i; }) == 285);
  CHECK(thrum::parallel_reduce(values.begin(), values.begin(), 7, std::plus<>()) == 7);
}

TEST_CASE("parallel_reduce takes results that can only be moved and have no default") {
  struct boxed {
    explicit boxed(int v) : value(std::make_unique<int>(v)) {}
    std::unique_ptr<int> value;
  };
  with_runtime([] {
    const boxed total = thrum::parallel_reduce(
        0, 100, boxed(0),
        [](boxed a, boxed b) {
          thrum::this_goroutine::yield();
          return boxed(*a.value + *b.value);
        },
        [](int i) { return boxed(i); });
    CHECK(*total.value == 4950);
  });
}

IN_RUNTIME("an exception leaves parallel_reduce, of an element and of two parts") {
  const auto of_element = [] {
    return thrum::parallel_reduce(0, 100, 0, std::plus<>(), [](int i) {
      return i == 50 ? throw std::runtime_error("fifty") : i;
    });
  };
  CHECK_THROWS_WITH(of_element(), "fifty");
  const auto of_parts = [] {
    return thrum::parallel_reduce(0, 100, 0,
                                  [](int, int) -> int { throw std::runtime_error("parts"); });
  };
  CHECK_THROWS_WITH(of_parts(), "parts");
}

// A machine that is busy may keep the loop from its CPU for a slice: then it does not seem to get on.
TEST_CASE("a loop that lasts for many time slices makes few goroutines", "[.soak]") {
  const long_loop loop(10ms);
  CHECK(loop.slices >= 20);
  CHECK(loop.made <= 8 + loop.slices / 4);
  const long_loop other(1ms);
  CHECK(other.slices >= 200);
  CHECK(other.made <= 8 + other.slices / 4);
}

// For what other goroutines have forked, and stands behind it.
TEST_CASE("a loop that lasts for hundreds of time slices makes a goroutine now and then") {
  // On a machine that is busy the monitor, which makes it, may get no CPU for one loop.
  CHECK(support::eventually([] {
    const long_loop loop(1ms);
    CHECK(loop.slices >= 200);
    return loop.made >= 1;
  }));
}

IN_RUNTIME("a parallel loop that no processor helps with makes no goroutine",
           with_endless_slices(1)) {
  const auto before = thrum::stats().created;
  CHECK(thrum::parallel_reduce(0, 1000, 0, std::plus<>()) == 499'500);
  CHECK(thrum::stats().created == before);
}
