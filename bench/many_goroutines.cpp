// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// many_goroutines ROW N [PROCS [OPERATIONS]]: what an operation costs when N goroutines are alive and take
// turns. Rows: `yield`, and `pairs`, where one sends a value to its partner and yields. In the order
// in which they were made; with `-s` behind the row's name, in random order. Prints the median and the
// least of the rounds in which all of them had begun, in ns, and page tables and memory for each.

#include <thrum.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace {

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

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

struct row {
  std::size_t goroutines;
  std::size_t rounds;
  bool shuffled;
  std::vector<double> turns;  // when each round of the first goroutine began
  std::atomic<std::size_t> begun{0};

  /// Yields until so many have come here.
  void wait_for(std::size_t all) {
    ++begun;
    while (begun != all) {
      thrum::this_goroutine::yield();
    }
  }
};

/// Lets those begin that wait at the gates, when all do.
void open_gates(std::vector<thrum::chan<void>>& gates, bool shuffled, std::size_t waiting) {
  if (shuffled) {
    std::mt19937 random(1);
    std::shuffle(gates.begin(), gates.end(), random);
  }
  while (thrum::stats().waiting < waiting) {
    thrum::sleep_for(std::chrono::milliseconds(10));
  }
  for (const thrum::chan<void>& gate : gates) {
    gate.close();
  }
}

void yields(row& of) {
  std::vector<thrum::chan<void>> gates;
  thrum::wait_group group;
  for (std::size_t i = 0; i != of.goroutines; ++i) {
    gates.emplace_back(0);
    group.go([i, &of, gate = gates.back()] {
      gate.recv();
      of.wait_for(of.goroutines);
      for (std::size_t round = 0; round != of.rounds; ++round) {
        if (i == 0) {
          of.turns.push_back(seconds());
        }
        thrum::this_goroutine::yield();
      }
    });
  }
  open_gates(gates, of.shuffled, of.goroutines);
  group.wait();
}

void pairs(row& of) {
  std::vector<thrum::chan<void>> gates;
  thrum::wait_group group;
  for (std::size_t i = 0; i != of.goroutines / 2; ++i) {
    gates.emplace_back(0);
    const thrum::chan<std::size_t> values(0);
    group.go([i, &of, values, gate = gates.back()] {
      gate.recv();
      of.wait_for(of.goroutines / 2);
      for (std::size_t round = 0; round != of.rounds; ++round) {
        if (i == 0) {
          of.turns.push_back(seconds());
        }
        values.send(round);
        thrum::this_goroutine::yield();
      }
    });
    group.go([&of, values] {
      std::size_t value = 0;
      for (std::size_t round = 0; round != of.rounds; ++round) {
        values.recv(value);
      }
    });
  }
  open_gates(gates, of.shuffled, of.goroutines / 2 * 2);
  group.wait();
}

void report(const row& of, std::string_view name, std::size_t operations) {
  std::vector<double> each;
  for (std::size_t i = 2; i + 2 < of.turns.size(); ++i) {
    each.push_back((of.turns[i + 1] - of.turns[i]) / static_cast<double>(operations) * 1e9);
  }
  std::sort(each.begin(), each.end());
  const double n = static_cast<double>(of.goroutines);
  std::printf(
      "%.*s among %zu: median %.1f ns, least %.1f; page tables %.0f B, resident %.0f B each\n",
      static_cast<int>(name.size()), name.data(), of.goroutines, each[each.size() / 2],
      each.front(), status_bytes("VmPTE") / n, status_bytes("VmRSS") / n);
}

}  // namespace

int main(int count, char** values) {
  const std::string_view name = count > 2 ? values[1] : "";
  const bool is_yield = name == "yield" || name == "yield-s";
  const long n = count > 2 ? std::strtol(values[2], nullptr, 10) : 0;
  const long procs = count > 3 ? std::strtol(values[3], nullptr, 10) : 1;
  const long operations = count > 4 ? std::strtol(values[4], nullptr, 10) : 4'000'000;
  if ((!is_yield && name != "pairs" && name != "pairs-s") || n < 2 || procs < 1 || operations < 1) {
    std::fprintf(stderr,
                 "usage: many_goroutines yield|yield-s|pairs|pairs-s N [PROCS [OPERATIONS]]\n");
    return 2;
  }
  thrum::options options = thrum::options::from_environment();
  options.procs = static_cast<unsigned>(procs);
  return thrum::run(options, [&] {
    const auto goroutines = static_cast<std::size_t>(n);
    row of{goroutines, 6 + static_cast<std::size_t>(operations / n), name.ends_with("-s"), {}, {}};
    is_yield ? yields(of) : pairs(of);
    report(of, name, is_yield ? goroutines : goroutines / 2);
    return 0;
  });
}
