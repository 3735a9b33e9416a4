// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The thread that looks whether all workers make progress.
#ifndef THRUM_TESTS_STRESS_PREEMPTION_WATCHDOG_HPP
#define THRUM_TESTS_STRESS_PREEMPTION_WATCHDOG_HPP

#include "yard.hpp"

#include <thrum.hpp>

#include "stress/host.hpp"
#include "support/scale.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include <unistd.h>

namespace stress {

/// Reports and aborts when a worker stands still.
class watchdog {
 public:
  watchdog(const std::deque<worker>& workers, unsigned procs, std::uint64_t slice_us)
      : workers_(workers), procs_(procs), slice_us_(slice_us), thread_([this] { watch(); }) {}
  ~watchdog() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  watchdog(const watchdog&) = delete;
  watchdog& operator=(const watchdog&) = delete;

  /// The runtime whose figures are reported; null before that one ends.
  void runtime(const thrum::runtime* r) {
    const std::lock_guard lock(mutex_);
    runtime_ = r;
  }

  /// The longest pause of any worker, in milliseconds.
  std::int64_t longest_pause() const { return longest_ms_; }

 private:
  struct seen {
    std::uint64_t rounds = ~std::uint64_t{0};
    milliseconds pause{0};
  };

  /// How many threads of all programs want each CPU: everything takes so many times as long.
  static double threads_per_cpu() {
    return std::max(host::runnable_threads() / thrum::default_procs(), 1.0);
  }

  /// A while in which this thread could not run either counts as one look, and no more.
  void watch() {
    constexpr milliseconds between_looks(20);
    std::vector<seen> last(workers_.size());
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, between_looks, [this] { return over_; })) {
      for (const worker& w : workers_) {
        seen& s = last[w.number];
        if (const std::uint64_t rounds = w.rounds; rounds != s.rounds) {
          s = {rounds, milliseconds(0)};
        } else if (!w.ended) {
          s.pause += between_looks;
          if (w.what.patience == 1 && s.pause.count() > longest_ms_) {
            longest_ms_ = s.pause.count();
          }
          const auto patience = w.what.patience * std::chrono::seconds(2) * support::slowness();
          if (s.pause > patience && s.pause > patience * threads_per_cpu()) {
            report(w, last);
          }
        }
      }
    }
  }

  /// Writes at once and takes no lock: what hangs may be malloc or stdio.
  template <class... Args>
  static void say(const char* form, Args... args) {
    char text[512];
    const int n = std::snprintf(text, sizeof text, form, args...);
    if (host::write(STDERR_FILENO, text, std::min(static_cast<std::size_t>(n), sizeof text - 1)) <
        0) {
      return;  // nobody listens
    }
  }

  [[noreturn]] void report(const worker& stuck, const std::vector<seen>& last) const {
    say("thrum_stress_preemption: procs %u, slice %ju us: worker %u (%s) has made no progress for "
        "%jd ms after %ju rounds\n",
        procs_, std::uintmax_t{slice_us_}, stuck.number, stuck.what.name,
        std::intmax_t{last[stuck.number].pause.count()}, std::uintmax_t{stuck.rounds});
    for (const worker& w : workers_) {
      say("  %u %s: %ju rounds, the last one %jd ms ago%s\n", w.number, w.what.name,
          std::uintmax_t{w.rounds}, std::intmax_t{last[w.number].pause.count()},
          w.ended ? ", ended" : "");
    }
    if (runtime_ != nullptr) {
      host::end_in(10);  // the figures need malloc
      const thrum::stats_snapshot s = runtime_->stats();
      say("  %ju goroutines, %ju runnable, %ju running, %ju waiting, %ju in calls; %u of %u procs "
          "idle; %u threads, %u idle, %u spinning; global queue %zu; %ju timers\n",
          std::uintmax_t{s.goroutines}, std::uintmax_t{s.runnable}, std::uintmax_t{s.running},
          std::uintmax_t{s.waiting}, std::uintmax_t{s.in_syscall}, s.idle_procs, s.procs, s.threads,
          s.idle_threads, s.spinning, s.global_queue, std::uintmax_t{s.timers});
      say("  switches %ju, steals %ju, preemptions %ju, signals %ju, exchanges %ju, retakes %ju, "
          "hand_offs %ju, stopped_without_p %ju\n",
          std::uintmax_t{s.switches}, std::uintmax_t{s.steals}, std::uintmax_t{s.preemptions},
          std::uintmax_t{s.signals}, std::uintmax_t{s.exchanges}, std::uintmax_t{s.retakes},
          std::uintmax_t{s.hand_offs}, std::uintmax_t{s.stopped_without_p});
    }
    std::abort();
  }

  const std::deque<worker>& workers_;
  const unsigned procs_;
  const std::uint64_t slice_us_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;  // under mutex_, as the next one
  const thrum::runtime* runtime_ = nullptr;
  std::atomic<std::int64_t> longest_ms_{0};
  std::thread thread_;
};

}  // namespace stress

#endif
