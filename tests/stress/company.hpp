// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What goes on beside a stress run in a process that is being looked at: dumps of all goroutines,
// ten times a second; a profiler's signal a thousand times a second, to each thread in turn whether
// it runs or sleeps (by CPU time a kernel gives no more than its ticks); goroutines that throw; and
// a number of processors that changes.
#ifndef THRUM_TESTS_STRESS_COMPANY_HPP
#define THRUM_TESTS_STRESS_COMPANY_HPP

#include <thrum.hpp>

#include "support/profiler.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

namespace stress {

/// Disturbs the runtime whose goroutine constructs it, until it is destroyed. Ends the process with
/// a message if one of its parts never got a turn, or saw what cannot be.
class company {
 public:
  company()
      : runtime_(*thrum::runtime::current()),
        procs_(runtime_.procs()),
        nowhere_(std::fopen(thrum::os::null_device, "w"), &std::fclose) {
    if (nowhere_ == nullptr) {
      fail("the null device does not open");
    }
    group_.go([this] { dump(); });
    group_.go([this] { change_procs(); });
    for (int i = 0; i != 2; ++i) {
      group_.go([this] { throw_and_catch(); });
    }
    profiler_ = std::thread([this] { profile(); });
  }

  ~company() {
    over_ = true;
    group_.wait();
    thrum::blocking([this] { profiler_.join(); });
    runtime_.procs(procs_);
    if (dumps_ == 0 || changes_ == 0 || caught_ == 0) {
      fail("a part of the company never ran");
    }
    std::printf("  beside it: %ju dumps, %ju samples, %ju exceptions, %ju changes of procs\n",
                std::uintmax_t{dumps_}, std::uintmax_t{samples().exchange(0)},
                std::uintmax_t{caught_}, std::uintmax_t{changes_});
  }

  company(const company&) = delete;
  company& operator=(const company&) = delete;

 private:
  static std::atomic<std::uint64_t>& samples() {
    static constinit std::atomic<std::uint64_t> count{0};
    return count;
  }

  [[noreturn]] static void fail(const char* what) {
    std::fprintf(stderr, "stress: FAILED: %s\n", what);
    std::abort();
  }

  void dump() {
    while (!over_) {
      thrum::dump_goroutines(nowhere_.get());
      ++dumps_;
      thrum::sleep_for(std::chrono::milliseconds(100));
    }
  }

  void change_procs() {
    thrum::base::random random(procs_);
    while (!over_) {
      runtime_.procs(1 + random.below(std::max(procs_, 2U) * 2));
      ++changes_;
      thrum::sleep_for(std::chrono::milliseconds(20));
    }
  }

  [[gnu::noinline]] static void descend(int depth, int& ended) {
    struct counter {
      int& count;
      ~counter() { ++count; }
    } const here{ended};
    if (depth == 1) {
      throw std::runtime_error(std::to_string(depth));
    }
    descend(depth - 1, ended);
    ++ended;  // never: it would also keep this from being a tail call
  }

  void throw_and_catch() {
    constexpr int frames = 12;
    while (!over_) {
      for (int i = 0; i != 50; ++i) {
        int ended = 0;
        try {
          descend(frames, ended);
        } catch (const std::runtime_error& error) {
          if (error.what() != std::string("1") || ended != frames) {
            fail("an exception has lost its text, or a frame was not unwound once");
          }
          ++caught_;
        }
      }
      thrum::sleep_for(std::chrono::milliseconds(1));
    }
  }

  void profile() {
    support::profile(over_, [] { samples().fetch_add(1, std::memory_order_relaxed); });
  }

  thrum::runtime& runtime_;
  const unsigned procs_;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> nowhere_;
  std::atomic<bool> over_{false};
  std::atomic<std::uint64_t> dumps_{0};
  std::atomic<std::uint64_t> changes_{0};
  std::atomic<std::uint64_t> caught_{0};
  thrum::wait_group group_;
  std::thread profiler_;
};

}  // namespace stress

#endif
