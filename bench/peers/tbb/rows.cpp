// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The rows of `./dev bench --peers` by oneTBB: tasks without stacks, which cannot wait for each other but
// in a group, so that only the rows of spawning and of fork-join are left.

#include "../rows.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_invoke.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <cstdint>

namespace {

using namespace peers;

double spawn_one() {
  return measure(20'000, [] {
    for (int i = 0; i != 20'000; ++i) {
      tbb::task_group group;
      group.run([] {});
      group.wait();
    }
  });
}

double spawn_1000() {
  return measure(100'000, [] {
    for (int i = 0; i != 100; ++i) {
      tbb::task_group group;
      for (int j = 0; j != 1'000; ++j) {
        group.run([] {});
      }
      group.wait();
    }
  });
}

std::int64_t tree_of(int depth) {
  if (depth == 0) {
    return 1;
  }
  std::int64_t left = 0;
  std::int64_t right = 0;
  tbb::task_group group;
  group.run([&] { left = tree_of(depth - 1); });
  group.run([&] { right = tree_of(depth - 1); });
  group.wait();
  return left + right + 1;
}

double tree() {
  return measure(tree_nodes, [] { expect(tree_of(tree_depth) == tree_nodes); });
}

std::int64_t fib_of_tasks(int n) {
  if (n < 2) {
    return n;
  }
  std::int64_t left = 0;
  tbb::task_group group;
  group.run([&] { left = fib_of_tasks(n - 1); });
  const std::int64_t right = fib_of_tasks(n - 2);
  group.wait();
  return left + right;
}

double fib() {
  return measure(forks_of_fib(fib_of), [] { expect(fib_of_tasks(fib_of) == fib_result); });
}

std::int64_t fib_of_forks(int n) {
  if (n < 2) {
    return n;
  }
  std::int64_t left = 0;
  std::int64_t right = 0;
  tbb::parallel_invoke([&] { left = fib_of_forks(n - 1); }, [&] { right = fib_of_forks(n - 2); });
  return left + right;
}

double fork_join_fib() {
  return measure(forks_of_fib(fib_of), [] { expect(fib_of_forks(fib_of) == fib_result); });
}

}  // namespace

int main(int argc, char** argv) {
  return main_of(argc, argv,
                 {
                     {"spawn_one", spawn_one},
                     {"spawn_1000", spawn_1000},
                     {"tree", tree},
                     {"fib", fib},
                     {"fork_join_fib", fork_join_fib},
                     {"process", nothing},
                 },
                 [](unsigned procs, auto work) {
                   const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                                   procs);
                   tbb::task_arena arena(static_cast<int>(procs));
                   arena.execute(work);
                 });
}
