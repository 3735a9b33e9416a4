// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The rows of `./dev bench --peers` by thrum.

#include "../rows.hpp"
#include "system_rows.hpp"
#include "waiting_rows.hpp"

#include <thrum.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

namespace {

using namespace peers;
using items = thrum::chan<std::int64_t>;

double spawn_one() {
  return measure(20'000, [] {
    for (int i = 0; i != 20'000; ++i) {
      thrum::spawn([] {}).join();
    }
  });
}

double spawn_1000() {
  return measure(100'000, [] {
    for (int i = 0; i != 100; ++i) {
      thrum::wait_group group;
      for (int j = 0; j != 1'000; ++j) {
        group.go([] {});
      }
      group.wait();
    }
  });
}

void yield_among(std::int64_t goroutines, std::int64_t rounds) {
  thrum::wait_group group;
  for (std::int64_t i = 0; i != goroutines; ++i) {
    group.go([=] {
      for (std::int64_t round = 0; round != rounds; ++round) {
        thrum::this_goroutine::yield();
      }
    });
  }
  group.wait();
}

double yield_2() {
  return measure(200'000, [] { yield_among(2, 100'000); });
}

double yield_1000() {
  return measure(200'000, [] { yield_among(1'000, 200); });
}

double yield_1000000() {
  return measure_once(8 * million, [] { yield_among(million, 8); });
}

double ping_pong() {
  return measure(50'000, [] {
    const items there(0);
    const items back(0);
    auto partner = thrum::spawn([=] {
      std::int64_t ball = 0;
      while (there.recv(ball) == thrum::recv_status::ok) {
        back.send(ball + 1);
      }
    });
    std::int64_t ball = 0;
    for (int i = 0; i != 50'000; ++i) {
      there.send(ball);
      back.recv(ball);
    }
    there.close();
    partner.join();
    expect(ball == 50'000);
  });
}

template <std::size_t Capacity, int Pairs>
double pass_items() {
  constexpr std::int64_t n = 100'000;
  return measure(n, [] {
    const items channel(Capacity);
    thrum::wait_group group;
    for (int pair = 0; pair != Pairs; ++pair) {
      group.go([=] {
        for (std::int64_t i = 0; i != n / Pairs; ++i) {
          channel.send(i);
        }
      });
      group.go([=] {
        std::int64_t item = 0;
        for (std::int64_t i = 0; i != n / Pairs; ++i) {
          channel.recv(item);
        }
      });
    }
    group.wait();
  });
}

template <std::size_t Capacity>
double select_of_two() {
  constexpr std::int64_t n = 100'000;
  return measure(n, [] {
    const items left(Capacity);
    const items right(Capacity);
    thrum::wait_group group;
    for (const items& channel : {left, right}) {
      group.go([=] {
        for (std::int64_t i = 0; i != n / 2; ++i) {
          channel.send(i);
        }
      });
    }
    std::int64_t sum = 0;
    const auto take = [&](std::optional<std::int64_t> item) { sum += *item; };
    for (std::int64_t i = 0; i != n; ++i) {
      thrum::select(thrum::on_recv(left, take), thrum::on_recv(right, take));
    }
    group.wait();
    expect(sum == n / 2 * (n / 2 - 1));
  });
}

double mutex_one() {
  return measure(million, [] {
    thrum::mutex mutex;
    for (std::int64_t i = 0; i != million; ++i) {
      mutex.lock();
      mutex.unlock();
    }
  });
}

double mutex_100() {
  return measure(200'000, [] {
    thrum::mutex mutex;
    std::int64_t guarded = 0;
    thrum::wait_group group;
    for (int i = 0; i != 100; ++i) {
      group.go([&] {
        for (int left = 2'000; left != 0; --left) {
          const std::lock_guard lock(mutex);
          ++guarded;
        }
      });
    }
    group.wait();
    expect(guarded == 200'000);
  });
}

std::int64_t tree_of(int depth) {
  if (depth == 0) {
    return 1;
  }
  auto left = thrum::spawn(tree_of, depth - 1);
  auto right = thrum::spawn(tree_of, depth - 1);
  return left.join() + right.join() + 1;
}

double tree() {
  return measure(tree_nodes, [] { expect(tree_of(tree_depth) == tree_nodes); });
}

void skynet_actor(const items& up, std::int64_t number, std::int64_t leaves) {
  if (leaves == 1) {
    up.send(number);
    return;
  }
  const items down(0);
  for (std::int64_t child = 0; child != 10; ++child) {
    thrum::go([=] { skynet_actor(down, number + child * (leaves / 10), leaves / 10); });
  }
  std::int64_t sum = 0;
  for (int child = 0; child != 10; ++child) {
    std::int64_t part = 0;
    down.recv(part);
    sum += part;
  }
  up.send(sum);
}

double skynet() {
  return measure(skynet_actors, [] {
    const items up(0);
    thrum::go([=] { skynet_actor(up, 0, skynet_leaves); });
    std::int64_t sum = 0;
    up.recv(sum);
    expect(sum == skynet_result);
  });
}

double fan_in_64() {
  return measure(128'000, [] {
    const items channel(128);
    thrum::wait_group group;
    for (int i = 0; i != 64; ++i) {
      group.go([=] {
        for (std::int64_t j = 0; j != 2'000; ++j) {
          channel.send(j);
        }
      });
    }
    std::int64_t item = 0;
    for (int i = 0; i != 128'000; ++i) {
      channel.recv(item);
    }
    group.wait();
  });
}

template <std::int64_t N>
double sleepers() {
  return measure_once(
      N * rounds_of_sleep,
      [] {
        thrum::wait_group group;
        for (std::int64_t i = 0; i != N; ++i) {
          group.go([=] {
            for (std::int64_t round = 0; round != rounds_of_sleep; ++round) {
              thrum::sleep_for(std::chrono::milliseconds(sleep_of(i, round)));
            }
          });
        }
        group.wait();
      },
      processor_seconds);
}

double close_1000000() {
  const thrum::chan<void> gate(0);
  thrum::wait_group begun;
  thrum::wait_group group;
  begun.add(static_cast<int>(million));
  for (std::int64_t i = 0; i != million; ++i) {
    group.go([&] {
      begun.done();
      gate.recv();
    });
  }
  begun.wait();
  thrum::sleep_for(std::chrono::milliseconds(100));
  return measure_once(million, [&] {
    gate.close();
    group.wait();
  });
}

std::int64_t fib_of_goroutines(int n) {
  if (n < 2) {
    return n;
  }
  auto left = thrum::spawn(fib_of_goroutines, n - 1);
  const std::int64_t right = fib_of_goroutines(n - 2);
  return left.join() + right;
}

double fib() {
  return measure(forks_of_fib(fib_of), [] { expect(fib_of_goroutines(fib_of) == fib_result); });
}

#if __has_include(<thrum/fork_join.hpp>)
std::int64_t fib_of_forks(int n) {
  if (n < 2) {
    return n;
  }
  const auto [left, right] =
      thrum::fork_join([=] { return fib_of_forks(n - 1); }, [=] { return fib_of_forks(n - 2); });
  return left + right;
}

double fork_join_fib() {
  return measure(forks_of_fib(fib_of), [] { expect(fib_of_forks(fib_of) == fib_result); });
}
#endif

}  // namespace

int main(int argc, char** argv) {
  return main_of(
      argc, argv,
      {
        {"spawn_one", spawn_one}, {"spawn_1000", spawn_1000}, {"yield_2", yield_2},
            {"yield_1000", yield_1000}, {"yield_1000000", yield_1000000}, {"ping_pong", ping_pong},
            {"item_unbuffered", pass_items<0, 1>}, {"item_buffered", pass_items<128, 1>},
            {"four_to_four_unbuffered", pass_items<0, 4>},
            {"four_to_four_buffered", pass_items<128, 4>}, {"select_unbuffered", select_of_two<0>},
            {"select_buffered", select_of_two<128>}, {"mutex_one", mutex_one},
            {"mutex_100", mutex_100}, {"shared_mutex_100", shared_mutex_100},
            {"semaphore_100", semaphore_100}, {"tree", tree}, {"skynet", skynet},
            {"fan_in_64", fan_in_64}, {"sleepers_1000", sleepers<1'000>},
            {"sleepers_100000", sleepers<100'000>}, {"sleep_late_p50", sleep_late<500>},
            {"sleep_late_p99", sleep_late<990>}, {"item_late_p99", item_late<990>},
            {"item_late_p999", item_late<999>}, {"close_1000000", close_1000000}, {"fib", fib},
#if __has_include(<thrum/fork_join.hpp>)
            {"fork_join_fib", fork_join_fib},
#endif
            {"udp", udp}, {"unix", unix_socket}, {"pipe", pipes}, {"file", file}, {"child", child},
            {"timer_reset", timer_reset}, {"process", nothing},
      },
      [](unsigned procs, auto work) {
        thrum::options options;
        options.procs = procs;
        thrum::run(options, work);
      });
}
