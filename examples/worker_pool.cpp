// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// worker_pool: four workers take jobs from one channel and put results into another. Which worker
// gets which job is left to the scheduler; the results are put in order afterwards.

#include <thrum.hpp>

#include <cstdio>
#include <map>

namespace {

struct job {
  int id;
  unsigned long number;
};

struct result {
  int id;
  int steps;
};

/// How many steps of Collatz lead from a number to 1.
int collatz(unsigned long n) {
  int steps = 0;
  for (; n != 1; ++steps) {
    n = n % 2 == 0 ? n / 2 : 3 * n + 1;
  }
  return steps;
}

}  // namespace

int main() {
  return thrum::run([] {
    constexpr int workers = 4;
    const auto jobs = thrum::make_chan<job>();
    const auto results = thrum::make_chan<result>(workers);

    thrum::wait_group group;
    for (int w = 0; w != workers; ++w) {
      group.go([=] {
        for (const job& j : jobs) {
          results.send({j.id, collatz(j.number)});
        }
      });
    }
    thrum::go([=] {
      int id = 0;
      for (const unsigned long number : {6UL, 27UL, 97UL, 871UL, 6'171UL, 77'031UL}) {
        jobs.send({id++, number});
      }
      jobs.close();
    });
    thrum::go([&group, results] {
      group.wait();  // all jobs are done
      results.close();
    });

    std::map<int, int> steps;
    for (const result& r : results) {
      steps[r.id] = r.steps;
    }
    for (const auto& [id, n] : steps) {
      std::printf("job %d: %d steps\n", id, n);
    }
  });
}
