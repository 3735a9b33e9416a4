// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The same loop on plain threads with one queue, on which the main thread helps while it waits, as
// job systems of games do; a thread of its own for the files. For comparison.
#ifndef THRUM_EXAMPLES_GAME_ON_THREADS_HPP
#define THRUM_EXAMPLES_GAME_ON_THREADS_HPP

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <fstream>
#include <functional>
#include <future>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

class on_threads {
 public:
  using clock = std::chrono::steady_clock;

  explicit on_threads(unsigned procs) {
    for (unsigned i = 1; i < procs || i == 1; ++i) {
      workers_.emplace_back([this] { work(); });
    }
  }
  ~on_threads() { stop(); }
  on_threads(const on_threads&) = delete;
  on_threads& operator=(const on_threads&) = delete;

  void begin_frame() {
    std::vector<std::function<void()>> calls;
    {
      const std::lock_guard guard(mutex_);
      calls.swap(for_main_);
    }
    for (auto& call : calls) {
      call();
    }
  }

  template <class F>
  void run_jobs(std::size_t jobs, F f) {
    std::atomic<std::size_t> left{jobs};
    for (std::size_t i = 0; i != jobs; ++i) {
      add([&left, f, i] {
        f(i);
        --left;
      });
    }
    while (left != 0) {
      if (!run_one()) {
        std::this_thread::yield();
      }
    }
  }

  template <class T, class F>
  void for_all(std::span<T> range, F f) {
    const std::size_t pieces = 4 * (workers_.size() + 1);
    const std::size_t length = (range.size() + pieces - 1) / pieces;
    run_jobs(pieces, [=](std::size_t i) {
      const std::size_t from = std::min(i * length, range.size());
      for (T& each : range.subspan(from, std::min(length, range.size() - from))) {
        f(each);
      }
    });
  }

  template <class Load>
  void load_in_background(std::string path, Load load) {
    loader_ = std::thread([this, path = std::move(path), load = std::move(load)] {
      std::ifstream file(path, std::ios::binary);
      for (; file.is_open() && !stops_; std::this_thread::sleep_for(std::chrono::milliseconds(2))) {
        std::byte piece[std::size_t{16} << 10];
        file.read(reinterpret_cast<char*>(piece), sizeof piece);
        const auto n = static_cast<std::size_t>(file.gcount());
        if (n == 0) {
          file.clear();
          file.seekg(0);
          continue;
        }
        load(std::span<const std::byte>(piece, n));
      }
    });
  }

  template <class F>
  void call_on_main(F f) {
    std::promise<void> done;
    {
      const std::lock_guard guard(mutex_);
      if (stops_) {
        return;
      }
      for_main_.emplace_back([&] {
        f();
        done.set_value();
      });
    }
    done.get_future().wait();
  }

  void rest_until(clock::time_point when) { std::this_thread::sleep_until(when); }

  void stop() {
    {
      const std::lock_guard guard(mutex_);
      stops_ = true;
    }
    some_.notify_all();
    begin_frame();  // nobody waits for us
    if (loader_.joinable()) {
      loader_.join();
    }
    for (std::thread& each : workers_) {
      if (each.joinable()) {
        each.join();
      }
    }
  }

 private:
  void add(std::function<void()> job) {
    {
      const std::lock_guard guard(mutex_);
      jobs_.push_back(std::move(job));
    }
    some_.notify_one();
  }
  bool run_one() {
    std::function<void()> job;
    {
      const std::lock_guard guard(mutex_);
      if (jobs_.empty()) {
        return false;
      }
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job();
    return true;
  }
  void work() {
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        some_.wait(lock, [this] { return stops_ || !jobs_.empty(); });
        if (stops_ && jobs_.empty()) {
          return;
        }
      }
      run_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable some_;
  std::deque<std::function<void()>> jobs_;
  std::vector<std::function<void()>> for_main_;
  std::atomic<bool> stops_{false};
  std::vector<std::thread> workers_;
  std::thread loader_;
};

#endif
