// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/detail/group/each.hpp>

#include <thrum/testing/bubble.hpp>

#include "support/slow_to_go.hpp"
#include "support/test.hpp"

#include <numeric>
#include <sstream>

using support::slow_to_go;
using thrum::task_group;

namespace {

/// 0, 1, ... n - 1.
std::vector<int> first_numbers(int n) {
  std::vector<int> numbers(static_cast<std::size_t>(n));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

/// A stream of words, as a range.
struct words_of_text {
  std::istringstream text;
  std::istream_iterator<std::string> begin() { return std::istream_iterator<std::string>(text); }
  static std::istream_iterator<std::string> end() { return {}; }
};

/// Three of them, made as they are asked for.
struct slow_numbers {
  class iterator {
   public:
    using value_type = slow_to_go;
    using difference_type = std::ptrdiff_t;
    using reference = slow_to_go;
    using pointer = void;
    using iterator_category = std::input_iterator_tag;

    iterator(std::atomic<int>& alive, int at) : alive_(&alive), at_(at) {}
    slow_to_go operator*() const { return slow_to_go(*alive_); }
    iterator& operator++() {
      ++at_;
      return *this;
    }
    void operator++(int) { ++at_; }
    bool operator==(const iterator& other) const { return at_ == other.at_; }

   private:
    std::atomic<int>* alive_;
    int at_;
  };

  std::atomic<int>& alive;

  iterator begin() const { return {alive, 0}; }
  iterator end() const { return {alive, 3}; }
};

}  // namespace

IN_BUBBLE("map returns the results in the order of the range, whatever the order of the ends") {
  const std::vector<int> numbers = first_numbers(20);
  const std::vector<std::string> results = task_group::map(numbers, 0, [](int n) {
    thrum::sleep_for(1s * (20 - n));
    return std::to_string(n);
  });
  REQUIRE(results.size() == 20);
  for (int n : numbers) {
    CHECK(results[static_cast<std::size_t>(n)] == std::to_string(n));
  }
  CHECK(task_group::map(std::vector<int>(), 3, [](int n) { return n; }).empty());
}

IN_RUNTIME("map runs at most as many goroutines at a time as its limit says", with_procs(4)) {
  std::atomic<int> now{0};
  std::atomic<int> excess{0};
  const auto results = task_group::map(first_numbers(50), 3, [&](int n) {
    excess += ++now > 3 ? 1 : 0;
    thrum::this_goroutine::yield();
    --now;
    return n;
  });
  CHECK(excess == 0);
  CHECK(results == first_numbers(50));
}

IN_RUNTIME("map gives references into a range that stands, and moves out of a stream") {
  std::vector<int> numbers = first_numbers(5);
  const auto addresses = task_group::map(numbers, 0, [](int& n) { return &n; });
  for (std::size_t i = 0; i != numbers.size(); ++i) {
    CHECK(addresses[i] == &numbers[i]);
  }
  const auto lengths = task_group::map(words_of_text{std::istringstream("a bb ccc")}, 0,
                                       [](std::string&& word) { return word.size(); });
  CHECK(lengths == std::vector<std::size_t>{1, 2, 3});
  const auto owners = task_group::map(numbers, 2, [](int n) { return std::make_unique<int>(n); });
  CHECK(*owners[4] == 4);
}

IN_RUNTIME("when map returns, the elements that its goroutines were given are destroyed") {
  for (int round = 0; round != 50; ++round) {
    std::atomic<int> alive{0};
    const slow_numbers numbers{alive};
    const auto results = task_group::map(numbers, 0, [](slow_to_go&&) { return 1; });
    REQUIRE(alive == 0);
    CHECK(results.size() == 3);
  }
}

IN_BUBBLE("when a function of map throws, the others are asked to stop and no more are started") {
  std::atomic<int> started{0};
  std::atomic<int> told{0};
  std::string text;
  try {
    task_group::map(first_numbers(10), 2, [&](int n, const std::stop_token& token) {
      ++started;
      if (n == 1) {
        thrum::sleep_for(1s);
        throw std::runtime_error("the second");
      }
      thrum::select(thrum::on_done(token, [&] { ++told; }));
      return n;
    });
  } catch (const std::runtime_error& error) {
    text = error.what();
  }
  CHECK(text == "the second");
  CHECK(started == 2);
  CHECK(told == 1);
}

TEST_CASE("a goroutine of map that ends without a result ends the caller") {
  thrum::runtime runtime;
  auto caller = runtime.spawn([] {
    return task_group::map(first_numbers(3), 0, [](int n) {
      if (n == 1) {
        thrum::this_goroutine::exit();
      }
      return n;
    });
  });
  CHECK(is_usage_error("join_handle::join", [&] { caller.join(); }));
  CHECK(is_usage_error("task_group::map", [&] {
    task_group::map(runtime, first_numbers(1), 0, [](int n) {
      thrum::this_goroutine::exit();
      return n;
    });
  }));
}

TEST_CASE("a stop of the runtime ends map with its goroutines") {
  std::atomic<int> unwound{0};
  with_runtime([&] {
    thrum::go([&] {
      struct at_end_of_map {
        std::atomic<int>& to;
        ~at_end_of_map() { ++to; }
      };
      const at_end_of_map scope{unwound};
      task_group::map(first_numbers(3), 2, [&](int n) {
        const at_end_of_map inner{unwound};
        thrum::sleep_for(1h);
        return n;
      });
    });
    REQUIRE(are_waiting(3));
  });
  CHECK(unwound == 3);
}

TEST_CASE("map and first_success work from a thread on a runtime that is named") {
  thrum::runtime runtime;
  CHECK(task_group::map(runtime, first_numbers(4), 2, [](int n) { return n; }) == first_numbers(4));
  CHECK(task_group::first_success(runtime, first_numbers(1), 0, [](int n) { return n; }) == 0);
}

IN_BUBBLE("first_success returns the first result and asks the others to stop") {
  std::atomic<int> told{0};
  const auto begin = thrum::testing::now();
  const int first =
      task_group::first_success(first_numbers(5), 0, [&](int n, const std::stop_token& token) {
        if (n == 3) {
          thrum::sleep_for(1s);
          return n;
        }
        if (n == 4) {
          throw std::runtime_error("fails earlier");
        }
        thrum::select(thrum::on_timeout(1h), thrum::on_done(token, [&] { ++told; }));
        return n;
      });
  CHECK(first == 3);
  CHECK(told == 3);
  CHECK(thrum::testing::now() - begin == 1s);
}

IN_RUNTIME("first_success with a limit tries one after the other until one succeeds") {
  std::vector<int> tried;
  const int first = task_group::first_success(first_numbers(5), 1, [&](int n) {
    tried.push_back(n);
    if (n < 2) {
      throw std::runtime_error("not this one");
    }
    return n;
  });
  CHECK(first == 2);
  CHECK(tried == std::vector<int>{0, 1, 2});
}

IN_BUBBLE("first_success throws what left the first that failed if all fail") {
  std::string text;
  try {
    task_group::first_success(first_numbers(3), 0, [](int n) -> int {
      thrum::sleep_for(1s * (3 - n));
      throw std::runtime_error(std::to_string(n));
    });
  } catch (const std::runtime_error& error) {
    text = error.what();
  }
  CHECK(text == "2");
  CHECK(is_usage_error("task_group::first_success", [] {
    task_group::first_success(std::vector<int>(), 0, [](int n) { return n; });
  }));
}

IN_RUNTIME("map takes over the elements of a stream that can only be moved") {
  const thrum::chan<std::unique_ptr<int>> stream(3);
  for (int i = 0; i != 3; ++i) {
    stream.send(std::make_unique<int>(i));
  }
  stream.close();
  CHECK(task_group::map(stream, 2, [](std::unique_ptr<int> n) { return *n; }) ==
        std::vector<int>{0, 1, 2});
  std::vector<std::unique_ptr<int>> kept(1);
  kept[0] = std::make_unique<int>(7);
  const auto doubled = task_group::map(
      kept, 0, [](std::unique_ptr<int>& n) { return std::make_unique<int>(2 * *n); });
  CHECK(*doubled.at(0) == 14);
  CHECK(*kept[0] == 7);
}
