// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// rate_limiter: requests are served at a rate, but for a burst of three that may go at once. The clock says
// which were served before a first interval had passed.

#include <thrum.hpp>
#include <thrum/time/rate_limiter.hpp>

#include <chrono>
#include <cstdio>

using namespace std::chrono_literals;

int main() {
  return thrum::run([] {
    constexpr int burst = 3;
    constexpr auto interval = 200ms;
    const auto begin = std::chrono::steady_clock::now();
    thrum::rate_limiter limiter(interval, burst);
    const auto ticks = [&] { return (std::chrono::steady_clock::now() - begin) / interval; };
    for (int request = 1; request <= 6; ++request) {
      limiter.wait();
      std::printf("request %d: after %d ticks\n", request, static_cast<int>(ticks()));
    }
  });
}
