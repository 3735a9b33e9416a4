// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// parked_memory [N [PROCS]]: what N goroutines that are parked on a channel cost, a million if not
// said otherwise. Prints resident memory and page tables for each, as the kernel counts them.

#include <thrum.hpp>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

namespace {

/// A line of /proc/self/status that is given in kB, in bytes.
double status_bytes(const std::string& key) {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;) {
    if (word == key + ":") {
      double kilobytes = 0;
      file >> kilobytes;
      return kilobytes * 1024;
    }
  }
  return 0;
}

int park_all(std::size_t n) {
  const double resident = status_bytes("VmRSS");
  const double tables = status_bytes("VmPTE");
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  thrum::chan<void> gate(0);
  thrum::wait_group group;
  for (std::size_t i = 0; i != n; ++i) {
    group.go([&] { gate.recv(); });
  }
  while (thrum::stats().waiting < n) {
    thrum::sleep_for(std::chrono::milliseconds(10));
  }
  const double each = static_cast<double>(n);
  std::printf("goroutines %zu, parked after %.2f s\n", n, seconds());
  std::printf("resident %.0f B each, page tables %.0f B each\n",
              (status_bytes("VmRSS") - resident) / each, (status_bytes("VmPTE") - tables) / each);
  gate.close();
  group.wait();
  std::printf("all ended after %.2f s\n", seconds());
  return 0;
}

}  // namespace

int main(int count, char** values) {
  const long n = count > 1 ? std::strtol(values[1], nullptr, 10) : 1'000'000;
  const long procs = count > 2 ? std::strtol(values[2], nullptr, 10) : 1;
  if (n < 1 || procs < 1 || count > 3) {
    std::fprintf(stderr, "usage: parked_memory [N [PROCS]]\n");
    return 2;
  }
  thrum::options options = thrum::options::from_environment();
  options.procs = static_cast<unsigned>(procs);
  return thrum::run(options, [&] { return park_all(static_cast<std::size_t>(n)); });
}
