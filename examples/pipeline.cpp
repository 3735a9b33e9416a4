// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// pipeline: numbers flow through stages, a goroutine each, joined by channels. Each stage ends when
// the one before it has closed its channel.

#include <thrum.hpp>

#include <cstdio>
#include <string>

namespace {

/// Sends first, first + 1, ..., last.
thrum::recv_chan<int> count(int first, int last) {
  const auto out = thrum::make_chan<int>();
  thrum::go([=] {
    for (int i = first; i <= last; ++i) {
      out.send(i);
    }
    out.close();
  });
  return out;
}

/// Passes on the numbers for which `keep` returns true.
template <class Keep>
thrum::recv_chan<int> filter(thrum::recv_chan<int> in, Keep keep) {
  const auto out = thrum::make_chan<int>();
  thrum::go([=] {
    for (const int i : in) {
      if (keep(i)) {
        out.send(i);
      }
    }
    out.close();
  });
  return out;
}

/// Turns each number into a line of text.
thrum::recv_chan<std::string> describe(thrum::recv_chan<int> in) {
  const auto out = thrum::make_chan<std::string>(4);  // may be up to 4 lines ahead
  thrum::go([=] {
    for (const int i : in) {
      out.send(std::to_string(i) + " squared is " + std::to_string(i * i));
    }
    out.close();
  });
  return out;
}

}  // namespace

int main() {
  return thrum::run([] {
    const auto odd = filter(count(1, 9), [](int i) { return i % 2 != 0; });
    for (const std::string& line : describe(odd)) {
      std::puts(line.c_str());
    }
  });
}
