// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// thrum_simulation measure: what this machine takes for what costs something there, a line each.
// thrum_simulation PROCS [COST=VALUE...]: each workload on a simulated machine of so many cores, a line
// each: used is the share of all cores' time that was work, awake the time that threads were awake for
// each ns of work, then what a goroutine waited until it ran (us: median, one in a hundred), threads woken
// and goroutines stolen for each hundred that ran, and how long the work took (ns for each that ran).

#include "small_workloads.hpp"
//
#include "measure.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace {

using simulation::costs;
using simulation::outcome;

bool set(costs& all, std::string_view name, double value) {
  const std::pair<std::string_view, double costs::*> names[] = {
      {"hit", &costs::hit},
      {"locked", &costs::locked},
      {"transfer", &costs::transfer},
      {"sibling", &costs::sibling},
      {"far", &costs::far},
      {"siblings", &costs::siblings},
      {"package", &costs::package},
      {"pause", &costs::pause},
      {"yield", &costs::yield},
      {"wake", &costs::wake},
      {"wake_latency", &costs::wake_latency},
      {"wake_nobody", &costs::wake_nobody},
      {"thread_start", &costs::thread_start},
      {"nap", &costs::nap},
      {"run", &costs::run}};
  for (const auto& [each, member] : names) {
    if (each == name) {
      all.*member = value;
      return true;
    }
  }
  return false;
}

bool complete = true;

void report(const char* name, unsigned procs, const outcome& all) {
  if (all.ran != all.expected) {
    std::fprintf(stderr, "simulation: of %s %llu goroutines ran, and not %llu\n", name,
                 static_cast<unsigned long long>(all.ran),
                 static_cast<unsigned long long>(all.expected));
    complete = false;
  }
  const auto ran = static_cast<double>(all.ran);
  std::printf(
      "%-16s used %5.3f awake %6.2f latency %8.2f late %9.2f wakes %7.2f steals %8.3f each %8.1f\n",
      name, all.used(procs), all.awake / all.work, all.latency / 1e3, all.late / 1e3,
      100 * static_cast<double>(all.wakes) / ran, 100 * static_cast<double>(all.steals) / ran,
      all.elapsed / ran);
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 2 && arguments[1] == std::string("measure")) {
    simulation::measure([](const char* name, double ns) { std::printf("%s=%.1f\n", name, ns); });
    return 0;
  }
  costs all;
  const int procs = count < 2 ? 0 : std::atoi(arguments[1]);
  bool understood = procs > 0 && procs <= 256;
  for (int i = 2; i < count && understood; ++i) {
    const std::string_view each = arguments[i];
    const std::size_t name = each.find('=');
    understood =
        name != each.npos && set(all, each.substr(0, name), std::atof(arguments[i] + name + 1));
  }
  if (!understood) {
    std::fputs(
        "usage: thrum_simulation measure | PROCS [COST=NANOSECONDS...], of at most 256 "
        "processors\n",
        stderr);
    return 2;
  }
  const auto n = static_cast<unsigned>(procs);
  using namespace simulation;
  report("burst of 1 us", n, burst(n, all, 200, 1'000).run());
  report("burst of 10 us", n, burst(n, all, 200, 10'000).run());
  report("burst of 100 us", n, burst(n, all, 40, 100'000).run());
  report("tree of 1 us", n, tree(n, all, 15, 1'000).run());
  report("tree of 10 us", n, tree(n, all, 14, 10'000).run());
  report("requests, 10 %", n, requests(n, all, 0.1, 100'000, 10'000).run());
  report("requests, 50 %", n, requests(n, all, 0.5, 100'000, 40'000).run());
  report("requests, 90 %", n, requests(n, all, 0.9, 100'000, 40'000).run());
  report("pairs, 1 of 4", n, pairs(n, all, n / 4 + 1, 400, 200).run());
  report("pairs, 2 a P", n, pairs(n, all, 2 * n, 100, 200).run());
  // what programs measure that have little to do for many processors
  report("ping-pong", n, pairs(n, all, 1, 200'000, 25).run());
  report("ping-pong, 20 us", n, pairs(n, all, 1, 1'000, 20'000).run());
  report("channel", n, channel(n, all, 1, 400'000, 5, 5).run());
  report("channel, 1 us", n, channel(n, all, 1, 20'000, 1'000, 1'000).run());
  report("channel, 20 us", n, channel(n, all, 1, 1'000, 20'000, 20'000).run());
  report("channel, 4 to 4", n, channel(n, all, 4, 100'000, 5, 5).run());
  report("yield of 1,000", n, yielders(n, all, 1'000, 40).run());
  report("spawn 1,000", n, spawns(n, all, 40, 1'000).run());
  report("fib", n, joined(n, all, 20, joined::shape::fib).run());
  report("tree, joined", n, joined(n, all, 13, joined::shape::tree).run());
  return complete ? 0 : 1;
}
