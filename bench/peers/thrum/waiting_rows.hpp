// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// thrum's rows of contended locks, and of how late sleepers and receivers continue.
#ifndef THRUM_BENCH_PEERS_THRUM_WAITING_ROWS_HPP
#define THRUM_BENCH_PEERS_THRUM_WAITING_ROWS_HPP

#include "../rows.hpp"

#include <thrum.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <shared_mutex>

namespace peers {

inline double shared_mutex_100() {
  return measure(200'000, [] {
    thrum::shared_mutex mutex;
    std::int64_t guarded = 0;
    thrum::wait_group group;
    for (int i = 0; i != 100; ++i) {
      group.go([&] {
        for (int left = 2'000; left != 0; --left) {
          if (left % 100 == 0) {
            const std::lock_guard lock(mutex);
            ++guarded;
          } else {
            const std::shared_lock lock(mutex);
            expect(guarded <= 2'000);
          }
        }
      });
    }
    group.wait();
    expect(guarded == 2'000);
  });
}

inline double semaphore_100() {
  return measure(50'000, [] {
    thrum::counting_semaphore<> four(4);
    thrum::wait_group group;
    for (int i = 0; i != 100; ++i) {
      group.go([&] {
        for (int left = 500; left != 0; --left) {
          four.acquire();
          thrum::this_goroutine::yield();
          four.release();
        }
      });
    }
    group.wait();
  });
}

inline lateness late() {
  lateness all;
  thrum::wait_group group;
  for (std::int64_t pair = 0; pair != late_pairs; ++pair) {
    const thrum::chan<double> channel(1);
    group.go([=, &all] {
      for (std::int64_t round = 0; round != late_rounds; ++round) {
        const std::int64_t ms = short_sleep_of(pair, round);
        const double begin = wall_seconds();
        thrum::sleep_for(std::chrono::milliseconds(ms));
        const double now = wall_seconds();
        all.wakes[static_cast<std::size_t>(pair * late_rounds + round)] =
            (now - begin) * 1e9 - 1e6 * static_cast<double>(ms);
        channel.send(now);
      }
    });
    group.go([=, &all] {
      double sent = 0;
      for (std::int64_t round = 0; round != late_rounds; ++round) {
        channel.recv(sent);
        all.items[static_cast<std::size_t>(pair * late_rounds + round)] =
            (wall_seconds() - sent) * 1e9;
      }
    });
  }
  group.wait();
  return all;
}

template <std::size_t OfThousand>
double sleep_late() {
  return permille(late().wakes, OfThousand);
}

template <std::size_t OfThousand>
double item_late() {
  return permille(late().items, OfThousand);
}

}  // namespace peers

#endif
