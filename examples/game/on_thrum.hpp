// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A game's loop on a runtime of thrum: the main thread is its host.
#ifndef THRUM_EXAMPLES_GAME_ON_THRUM_HPP
#define THRUM_EXAMPLES_GAME_ON_THRUM_HPP

#include <thrum.hpp>

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <system_error>
#include <utility>

class on_thrum {
 public:
  using clock = std::chrono::steady_clock;

  /// The main thread helps, with a processor of its own: one less is enough for the others.
  explicit on_thrum(unsigned procs) : runtime_({.procs = procs > 1 ? procs - 1 : 1}) {
    runtime_.poll();
  }

  /// What others want of the main thread.
  void begin_frame() { runtime_.poll(); }

  /// Calls f(i) for each job, each by itself, and waits.
  template <class F>
  void run_jobs(std::size_t jobs, F f) {
    runtime_.block_on([&] {
      thrum::wait_group group;
      for (std::size_t i = 0; i != jobs; ++i) {
        group.go(f, i);
      }
      group.wait();
    });
  }

  /// Calls f(each) for all of a range, in pieces, and waits.
  template <class T, class F>
  void for_all(std::span<T> range, F f) {
    runtime_.block_on([&] { thrum::parallel_for(range, f); });
  }

  /// Calls `load(file)` again and again until stop(), in the background: frames come first.
  template <class Load>
  void load_in_background(std::string path, Load load) {
    const thrum::attributes loader{.name = "loader", .priority = thrum::priority::background};
    runtime_.go(loader, [this, path = std::move(path), load = std::move(load)] {
      std::error_code error;
      for (auto file = thrum::io::file::open(path, thrum::io::open_mode::read, error);
           !error && !stop_.stop_requested(); thrum::sleep_for(std::chrono::milliseconds(2))) {
        std::byte piece[std::size_t{16} << 10];
        const std::size_t n = file.read(std::span(piece), error);
        if (n == 0) {
          file = thrum::io::file::open(path, thrum::io::open_mode::read, error);
          continue;
        }
        load(std::span<const std::byte>(piece, n));
      }
    });
  }

  /// Calls f() on the main thread and waits: in what runs in the background.
  template <class F>
  void call_on_main(F f) {
    thrum::spawn(thrum::on_host, std::move(f)).join();
  }

  /// The rest of the frame is for goroutines.
  void rest_until(clock::time_point when) { runtime_.run_for(when - clock::now()); }

  void stop() {
    stop_.request_stop();
    runtime_.stop();
  }

 private:
  std::stop_source stop_;
  thrum::runtime runtime_;
};

#endif
