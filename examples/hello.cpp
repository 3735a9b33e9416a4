// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// hello: three goroutines send a greeting each, and main prints what arrives.

#include <thrum.hpp>

#include <cstdio>
#include <string>

int main() {
  return thrum::run([] {
    const auto greetings = thrum::make_chan<std::string>();
    for (const std::string name : {"Ada", "Grace", "Barbara"}) {
      thrum::go([greetings, name] { greetings.send("hello from " + name); });
    }
    for (int i = 0; i != 3; ++i) {
      std::puts(greetings.recv()->c_str());
    }
  });
}
