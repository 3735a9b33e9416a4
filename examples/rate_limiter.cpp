// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// rate_limiter: requests are served at the pace of a ticker, but for a burst of three that may go
// at once. The tokens lie in a buffered channel, to which a goroutine adds one each tick.

#include <thrum.hpp>

#include <chrono>
#include <cstdio>

using namespace std::chrono_literals;

namespace {

constexpr int burst = 3;
constexpr auto interval = 5ms;

/// A channel of tokens, one of which is to be taken before each request.
thrum::recv_chan<void> limiter() {
  const thrum::chan<void> tokens(burst);
  for (int i = 0; i != burst; ++i) {
    tokens.send();
  }
  thrum::go([=] {
    thrum::ticker pace(interval);
    const auto ticks = pace.chan();
    for (;;) {  // until the runtime stops, which ends the wait for the next tick
      ticks.recv();
      tokens.try_send();  // if it is full, the token is dropped: the burst does not grow
    }
  });
  return tokens;
}

}  // namespace

int main() {
  return thrum::run([] {
    const auto begin = std::chrono::steady_clock::now();
    const auto tokens = limiter();
    for (int request = 1; request <= 6; ++request) {
      tokens.recv();
      std::printf("request %d: %s\n", request, request <= burst ? "at once" : "after a tick");
    }
    const bool in_time = std::chrono::steady_clock::now() - begin >= 3 * interval;
    std::printf("%s\n", in_time ? "not faster than allowed" : "too fast");
    return in_time ? 0 : 1;
  });
}
