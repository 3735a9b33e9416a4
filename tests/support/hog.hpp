// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What keeps a processor of a runtime.
#ifndef THRUM_TESTS_SUPPORT_HOG_HPP
#define THRUM_TESTS_SUPPORT_HOG_HPP

#include <thrum.hpp>

#include <atomic>
#include <thread>

namespace support {

/// A goroutine that keeps a processor until it is let go, but gives way when it is asked.
class hog_of_a_processor {
 public:
  explicit hog_of_a_processor(thrum::runtime& runtime) {
    runtime.go([this] {
      runs_ = true;
      while (!ends_) {
        thrum::this_goroutine::preemption_point();
      }
      has_ended_ = true;
    });
  }
  ~hog_of_a_processor() {
    ends_ = true;
    while (!has_ended_) {
      std::this_thread::yield();
    }
  }
  hog_of_a_processor(const hog_of_a_processor&) = delete;
  hog_of_a_processor& operator=(const hog_of_a_processor&) = delete;
  bool runs() const { return runs_; }

 private:
  std::atomic<bool> runs_{false}, ends_{false}, has_ended_{false};
};

/// What the host's thread must wait for while all processors of the runtime compute.
inline void wait_until_it_runs(const hog_of_a_processor& hog) {
  while (!hog.runs()) {
    std::this_thread::yield();
  }
}

}  // namespace support

#endif
