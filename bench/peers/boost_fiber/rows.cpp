// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The rows of `./dev bench --peers` by Boost.Fiber: round robin on one thread, its work stealing on more.
// It has no select, and a million of its stacks do not fit: those are no rows. Nor is skynet, of which its
// order of running, breadth first, has a million fibers alive at once, in 9 GB.

#include "../rows.hpp"

#include <boost/fiber/all.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include <malloc.h>

namespace {

using namespace peers;
namespace fibers = boost::fibers;

void join_all(std::vector<fibers::fiber>& all) {
  for (fibers::fiber& each : all) {
    each.join();
  }
  all.clear();
}

double spawn_one() {
  return measure(20'000, [] {
    for (int i = 0; i != 20'000; ++i) {
      fibers::fiber([] {}).join();
    }
  });
}

double spawn_1000() {
  return measure(100'000, [] {
    std::vector<fibers::fiber> all;
    for (int i = 0; i != 100; ++i) {
      for (int j = 0; j != 1'000; ++j) {
        all.emplace_back([] {});
      }
      join_all(all);
    }
  });
}

void yield_among(std::int64_t number, std::int64_t rounds) {
  std::vector<fibers::fiber> all;
  for (std::int64_t i = 0; i != number; ++i) {
    all.emplace_back([=] {
      for (std::int64_t round = 0; round != rounds; ++round) {
        boost::this_fiber::yield();
      }
    });
  }
  join_all(all);
}

double yield_2() {
  return measure(200'000, [] { yield_among(2, 100'000); });
}

double yield_1000() {
  return measure(200'000, [] { yield_among(1'000, 200); });
}

double ping_pong() {
  return measure(50'000, [] {
    fibers::unbuffered_channel<std::int64_t> there;
    fibers::unbuffered_channel<std::int64_t> back;
    fibers::fiber partner([&] {
      std::int64_t ball = 0;
      while (there.pop(ball) == fibers::channel_op_status::success) {
        back.push(ball + 1);
      }
    });
    std::int64_t ball = 0;
    for (int i = 0; i != 50'000; ++i) {
      there.push(ball);
      back.pop(ball);
    }
    there.close();
    partner.join();
    expect(ball == 50'000);
  });
}

template <class Channel, int Pairs>
void pass_items_by(Channel& channel, std::int64_t n) {
  std::vector<fibers::fiber> all;
  for (int pair = 0; pair != Pairs; ++pair) {
    all.emplace_back([&, n] {
      for (std::int64_t i = 0; i != n / Pairs; ++i) {
        channel.push(i);
      }
    });
    all.emplace_back([&, n] {
      std::int64_t item = 0;
      for (std::int64_t i = 0; i != n / Pairs; ++i) {
        channel.pop(item);
      }
    });
  }
  join_all(all);
}

template <int Pairs>
double unbuffered() {
  return measure(100'000, [] {
    fibers::unbuffered_channel<std::int64_t> channel;
    pass_items_by<fibers::unbuffered_channel<std::int64_t>, Pairs>(channel, 100'000);
  });
}

template <int Pairs>
double buffered() {
  return measure(100'000, [] {
    fibers::buffered_channel<std::int64_t> channel(128);
    pass_items_by<fibers::buffered_channel<std::int64_t>, Pairs>(channel, 100'000);
  });
}

double mutex_one() {
  return measure(million, [] {
    fibers::mutex mutex;
    for (std::int64_t i = 0; i != million; ++i) {
      mutex.lock();
      mutex.unlock();
    }
  });
}

double mutex_100() {
  return measure(200'000, [] {
    fibers::mutex mutex;
    std::int64_t guarded = 0;
    std::vector<fibers::fiber> all;
    for (int i = 0; i != 100; ++i) {
      all.emplace_back([&] {
        for (int left = 2'000; left != 0; --left) {
          const std::lock_guard lock(mutex);
          ++guarded;
        }
      });
    }
    join_all(all);
    expect(guarded == 200'000);
  });
}

std::int64_t tree_of(int depth) {
  if (depth == 0) {
    return 1;
  }
  auto left = fibers::async(tree_of, depth - 1);
  auto right = fibers::async(tree_of, depth - 1);
  return left.get() + right.get() + 1;
}

double tree() {
  return measure(tree_nodes, [] { expect(tree_of(tree_depth) == tree_nodes); });
}

double fan_in_64() {
  return measure(128'000, [] {
    fibers::buffered_channel<std::int64_t> channel(128);
    std::vector<fibers::fiber> all;
    for (int i = 0; i != 64; ++i) {
      all.emplace_back([&] {
        for (std::int64_t j = 0; j != 2'000; ++j) {
          channel.push(j);
        }
      });
    }
    std::int64_t item = 0;
    for (int i = 0; i != 128'000; ++i) {
      channel.pop(item);
    }
    join_all(all);
  });
}

double sleepers_1000() {
  return measure_once(
      1'000 * rounds_of_sleep,
      [] {
        std::vector<fibers::fiber> all;
        for (std::int64_t i = 0; i != 1'000; ++i) {
          all.emplace_back([=] {
            for (std::int64_t round = 0; round != rounds_of_sleep; ++round) {
              boost::this_fiber::sleep_for(std::chrono::milliseconds(sleep_of(i, round)));
            }
          });
        }
        join_all(all);
      },
      processor_seconds);
}

std::int64_t fib_of_fibers(int n) {
  if (n < 2) {
    return n;
  }
  auto left = fibers::async(fib_of_fibers, n - 1);
  const std::int64_t right = fib_of_fibers(n - 2);
  return left.get() + right;
}

double fib() {
  return measure(forks_of_fib(fib_of), [] { expect(fib_of_fibers(fib_of) == fib_result); });
}

/// The other threads take part until the work has ended.
void run(unsigned procs, auto work) {
  if (procs == 1) {
    work();
    return;
  }
  fibers::mutex mutex;
  fibers::condition_variable ended;
  bool has_ended = false;
  const auto take_part = [&](auto body) {
    fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(procs, true);
    body();
  };
  std::vector<std::thread> others;
  for (unsigned i = 1; i != procs; ++i) {
    others.emplace_back([&] {
      take_part([&] {
        std::unique_lock lock(mutex);
        ended.wait(lock, [&] { return has_ended; });
      });
    });
  }
  take_part([&] {
    work();
    const std::lock_guard lock(mutex);
    has_ended = true;
    ended.notify_all();
  });
  for (std::thread& other : others) {
    other.join();
  }
}

}  // namespace

int main(int argc, char** argv) {
  // Stacks are malloc's: it keeps those that were freed.
  ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
  ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
  return main_of(argc, argv,
                 {
                     {"spawn_one", spawn_one},
                     {"spawn_1000", spawn_1000},
                     {"yield_2", yield_2},
                     {"yield_1000", yield_1000},
                     {"ping_pong", ping_pong},
                     {"item_unbuffered", unbuffered<1>},
                     {"item_buffered", buffered<1>},
                     {"four_to_four_unbuffered", unbuffered<4>},
                     {"four_to_four_buffered", buffered<4>},
                     {"mutex_one", mutex_one},
                     {"mutex_100", mutex_100},
                     {"tree", tree},
                     {"fan_in_64", fan_in_64},
                     {"sleepers_1000", sleepers_1000},
                     {"fib", fib},
                     {"process", nothing},
                 },
                 [](unsigned procs, auto work) { run(procs, work); });
}
