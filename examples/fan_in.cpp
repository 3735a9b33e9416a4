// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// fan_in: one loop listens to several sources with select. A source that has ended becomes the nil
// channel, which is never ready; the loop ends with the last one.

#include <thrum.hpp>

#include <chrono>
#include <cstdio>
#include <optional>

using namespace std::chrono_literals;

namespace {

/// A sensor that reports n values.
thrum::recv_chan<double> sensor(double first, double step, int n) {
  const auto out = thrum::make_chan<double>();
  thrum::go([=] {
    for (int i = 0; i != n; ++i) {
      out.send(first + step * i);
    }
    out.close();
  });
  return out;
}

struct summary {
  int n = 0;
  double sum = 0;
};

}  // namespace

int main() {
  return thrum::run([] {
    thrum::recv_chan<double> indoor = sensor(20, 0.25, 5);
    thrum::recv_chan<double> outdoor = sensor(-4, 0.5, 9);
    summary inside;
    summary outside;

    // Adds a value, or strikes out a source that has ended.
    const auto add_to = [](summary& s, thrum::recv_chan<double>& source) {
      return [&](std::optional<double> value) {
        if (value) {
          ++s.n;
          s.sum += *value;
        } else {
          source = {};
        }
      };
    };
    while (indoor || outdoor) {
      thrum::select(thrum::on_recv(indoor, add_to(inside, indoor)),
                    thrum::on_recv(outdoor, add_to(outside, outdoor)),
                    thrum::on_timeout(10s, [] { std::puts("the sensors are silent"); }));
    }
    std::printf("inside:  %d values, %.2f degrees on average\n", inside.n, inside.sum / inside.n);
    std::printf("outside: %d values, %.2f degrees on average\n", outside.n,
                outside.sum / outside.n);
  });
}
