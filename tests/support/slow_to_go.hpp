// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A function object that takes its time to be destroyed.
#ifndef THRUM_TESTS_SUPPORT_SLOW_TO_GO_HPP
#define THRUM_TESTS_SUPPORT_SLOW_TO_GO_HPP

#include <thrum.hpp>

#include <atomic>
#include <utility>

namespace support {

/// Counted until it is destroyed. Also a function that does nothing.
class slow_to_go {
 public:
  explicit slow_to_go(std::atomic<int>& alive) : alive_(&alive) { ++alive; }
  slow_to_go(slow_to_go&& other) noexcept : alive_(std::exchange(other.alive_, nullptr)) {}
  slow_to_go& operator=(slow_to_go&&) = delete;
  ~slow_to_go() {
    if (alive_ != nullptr) {
      for (int i = 0; i != 100; ++i) {
        thrum::this_goroutine::yield();
      }
      --*alive_;
    }
  }
  void operator()() const {}

 private:
  std::atomic<int>* alive_;
};

}  // namespace support

#endif
