// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How long frames took: kept without allocating, shown as a histogram.
#ifndef THRUM_EXAMPLES_GAME_FRAME_TIMES_HPP
#define THRUM_EXAMPLES_GAME_FRAME_TIMES_HPP

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

class frame_times {
 public:
  using duration = std::chrono::nanoseconds;

  explicit frame_times(std::size_t most) { all_.reserve(most); }

  void add(duration took) {
    if (all_.size() != all_.capacity()) {
      all_.push_back(took);
    }
  }
  std::size_t size() const { return all_.size(); }
  duration most() const {
    return all_.empty() ? duration(0) : *std::max_element(all_.begin(), all_.end());
  }
  std::size_t above(duration limit) const {
    return static_cast<std::size_t>(
        std::count_if(all_.begin(), all_.end(), [=](duration each) { return each > limit; }));
  }

  /// That of a hundred, `percent` were not longer.
  duration percentile(double percent) const {
    if (all_.empty()) {
      return duration(0);
    }
    auto sorted = all_;
    std::sort(sorted.begin(), sorted.end());
    const auto last = static_cast<double>(sorted.size() - 1);
    return sorted[static_cast<std::size_t>(last * percent / 100)];
  }

  /// One line: the percentiles in milliseconds.
  void print_line(const char* name) const {
    std::printf("%-22s p50 %7.3f ms   p99 %7.3f ms   most %7.3f ms\n", name, ms(percentile(50)),
                ms(percentile(99)), ms(most()));
  }

  /// A row for each class of lengths that there was.
  void print_histogram() const {
    constexpr double limits[] = {0.5, 1, 2, 4, 8, 12, 16.7, 33.4, 1e9};
    constexpr double width = 50;
    double from = 0;
    for (const double to : limits) {
      const auto n = std::count_if(all_.begin(), all_.end(), [&](duration each) {
        return ms(each) >= from && ms(each) < to;
      });
      if (n != 0) {
        const double part = static_cast<double>(n) / static_cast<double>(all_.size());
        const std::string bar(static_cast<std::size_t>(part * width) + 1, '#');
        std::printf("  %5.1f ms and more   %7ld %s\n", from, static_cast<long>(n), bar.c_str());
      }
      from = to;
    }
  }

 private:
  static double ms(duration each) {
    return std::chrono::duration<double, std::milli>(each).count();
  }

  std::vector<duration> all_;
};

#endif
