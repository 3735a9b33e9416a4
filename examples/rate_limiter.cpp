// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// rate_limiter: requests are served at a rate, but for a burst of three that may go at once.

#include <thrum.hpp>

#include <chrono>
#include <cstdio>

using namespace std::chrono_literals;

int main() {
  return thrum::run([] {
    constexpr int burst = 3;
    constexpr auto interval = 5ms;
    const auto begin = std::chrono::steady_clock::now();
    thrum::rate_limiter limiter(interval, burst);
    for (int request = 1; request <= 6; ++request) {
      limiter.wait();
      std::printf("request %d: %s\n", request, request <= burst ? "at once" : "after a tick");
    }
    const bool in_time = std::chrono::steady_clock::now() - begin >= 3 * interval;
    std::printf("%s\n", in_time ? "not faster than allowed" : "too fast");
    return in_time ? 0 : 1;
  });
}
