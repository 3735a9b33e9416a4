// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Moves the calling goroutine to another OS thread.
#ifndef THRUM_TESTS_SUPPORT_MIGRATE_HPP
#define THRUM_TESTS_SUPPORT_MIGRATE_HPP

#include <thrum.hpp>

#include "support/eventually.hpp"
#include "support/process.hpp"

#include <atomic>
#include <chrono>
#include <thread>

namespace support {

/// Goroutines that keep every processor of the current runtime busy and take part in the queues,
/// for as long as this lives. Where all processors are busy, a goroutine that comes back from a
/// blocking call has lost its own and continues wherever one gets free.
class crowd {
 public:
  explicit crowd(unsigned size = thrum::stats().procs + 1) {
    for (unsigned i = 0; i != size; ++i) {
      members_.go([this] {
        while (!leave_.load()) {
          thrum::this_goroutine::yield();
        }
      });
    }
  }
  ~crowd() {
    leave_ = true;
    members_.wait();
  }
  crowd(const crowd&) = delete;
  crowd& operator=(const crowd&) = delete;

 private:
  std::atomic<bool> leave_{false};
  thrum::wait_group members_;
};

/// Migrations that a test can afford where there may be many more threads than the machine has
/// processors, all of them busy.
inline int affordable_migrations(int n) { return thrum::stats().procs > 8 ? 1 + n / 4 : n; }

/// Continues the calling goroutine on another OS thread; false if that could not be brought about.
/// A crowd must be there. Blocks until the monitor has taken a processor from a blocking call,
/// which mostly is ours.
inline bool migrate() {
  const long before = os_thread();
  const thrum::runtime& own = *thrum::runtime::current();
  return eventually_yielding([&] {
    if (os_thread() == before) {
      thrum::blocking([&] {
        const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
        const auto hand_offs = own.stats().hand_offs;
        while (own.stats().hand_offs == hand_offs && std::chrono::steady_clock::now() < end) {
          std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
      });
    }
    return os_thread() != before;
  });
}

}  // namespace support

#endif
