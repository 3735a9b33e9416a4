// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the C++ programs of `./dev bench --peers` share. Each is called as PROGRAM ROW PROCS SECONDS, does
// the work of that row on so many processors for at least that long, and prints the row's name and what
// one operation took, in ns. PROGRAM --rows prints the rows that it has. tools/peers.py runs them in
// turns; what the work of a row is stands there.
#ifndef THRUM_BENCH_PEERS_ROWS_HPP
#define THRUM_BENCH_PEERS_ROWS_HPP

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string_view>
#include <vector>

#include <time.h>

namespace peers {

constexpr std::int64_t million = 1'000'000;

/// The third argument.
inline double shortest_seconds = 0.2;

inline double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Of all threads of the process.
inline double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// ns an operation: work() is `batch` of them; called once to warm up, then until the time is over.
template <class Work>
double measure(std::int64_t batch, Work work) {
  work();
  double total = 0;
  std::int64_t operations = 0;
  do {
    const double begin = wall_seconds();
    work();
    total += wall_seconds() - begin;
    operations += batch;
  } while (total < shortest_seconds);
  return total / static_cast<double>(operations) * 1e9;
}

/// The same of work that is long, and cold the first time for everybody: called once.
template <class Work>
double measure_once(std::int64_t batch, Work work, double (*clock)() = wall_seconds) {
  const double begin = clock();
  work();
  return (clock() - begin) / static_cast<double>(batch) * 1e9;
}

/// How often fib(n) has two parts, of which one is spawned.
constexpr std::int64_t forks_of_fib(int n) {
  return n < 2 ? 0 : 1 + forks_of_fib(n - 1) + forks_of_fib(n - 2);
}

constexpr int fib_of = 22;
constexpr std::int64_t fib_result = 17'711;
constexpr int tree_depth = 16;
constexpr std::int64_t tree_nodes = (std::int64_t{1} << (tree_depth + 1)) - 1;
constexpr std::int64_t skynet_leaves = million;
constexpr std::int64_t skynet_actors = 1'111'111;
constexpr std::int64_t skynet_result = skynet_leaves * (skynet_leaves - 1) / 2;

/// A sleeper's round, in milliseconds.
constexpr std::int64_t sleep_of(std::int64_t sleeper, std::int64_t round) {
  return 1 + (sleeper * 7 + round * 31) % 100;
}

constexpr std::int64_t rounds_of_sleep = 5;

/// The rows of lateness have this many pairs of goroutines: one sleeps and then sends, the other receives, in rounds.
constexpr std::int64_t late_pairs = 100;
constexpr std::int64_t late_rounds = 100;

/// How long the sleeper of a pair sleeps in a round, in milliseconds.
constexpr std::int64_t short_sleep_of(std::int64_t sleeper, std::int64_t round) {
  return 1 + (sleeper * 7 + round * 3) % 10;
}

/// How late, in ns, each sleeper woke and each item was received.
struct lateness {
  std::vector<double> wakes = std::vector<double>(late_pairs * late_rounds);
  std::vector<double> items = std::vector<double>(late_pairs * late_rounds);
};

/// The quantile in thousandths: 500 is the median.
inline double permille(std::vector<double> all, std::size_t of_thousand) {
  const auto at = all.begin() + static_cast<std::ptrdiff_t>(all.size() * of_thousand / 1'000);
  std::nth_element(all.begin(), at, all.end());
  return *at;
}

/// A program that lost work must not look fast.
inline void expect(bool condition) {
  if (!condition) {
    std::fprintf(stderr, "wrong result\n");
    std::exit(3);
  }
}

struct row {
  const char* name;
  double (*work)();
};

/// `run(procs, f)` calls f where the peer's calls may be made, and returns when that has ended.
template <class Run>
int main_of(int argc, char** argv, std::initializer_list<row> rows, Run run) {
  if (argc == 2 && std::string_view(argv[1]) == "--rows") {
    for (const row& each : rows) {
      std::puts(each.name);
    }
    return 0;
  }
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s ROW PROCS SECONDS | --rows\n", argv[0]);
    return 2;
  }
  shortest_seconds = std::atof(argv[3]);
  for (const row& each : rows) {
    if (std::string_view(argv[1]) == each.name) {
      run(static_cast<unsigned>(std::atoi(argv[2])), [&] {
        const double ns = each.work();
        std::printf("%s %.2f\n", each.name, ns);
      });
      return 0;
    }
  }
  std::fprintf(stderr, "%s: no row %s\n", argv[0], argv[1]);
  return 2;
}

/// For the row `process`: nothing is done, the caller measures the whole process.
inline double nothing() { return 0; }

}  // namespace peers

#endif
