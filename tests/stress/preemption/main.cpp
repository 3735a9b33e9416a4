// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// thrum_stress_preemption [--seconds S] [--procs P] [--slice-us U]: processors are taken from code
// that knows nothing of the library.
//
// Some thirty goroutines of many kinds loop at once: they compute, allocate, lock, throw, format,
// open files and libraries, sleep, and block without saying so. Hardly any of them enters the
// library, so nearly each change of goroutines is a signal or a retake, at any instruction and
// while any lock of the C and C++ libraries is held. Meanwhile the main goroutine does what
// concerns the whole process: fork, setuid, system. Each round of each worker checks its results.
//
// One combination of processors and time slice takes S seconds, 60 if not given. Without --procs
// there are runs with 1, 2 and 4 processors, without --slice-us with slices of 10,000, 300 and
// 200 us. When one of the workers makes no progress for 2 s, many times as long as all others need
// for a turn each, the program says which kind and aborts; it is more patient where the CPUs have
// others to serve, and n times as patient with THRUM_TEST_SCALE=n. At the end no thread, no descriptor
// or handle and no address space may be left over since a first run of a second.

#include "watchdog.hpp"
#include "yard.hpp"

#include <thrum.hpp>

#include "stress/arguments.hpp"
#include "stress/company.hpp"
#include "stress/host.hpp"
#include "stress/leftovers.hpp"
#include "support/process.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

namespace stress { namespace {

constexpr kind kinds[] = {
    {"busy", 3, 1, &be_busy},
    {"clock", 1, 1, &read_clocks},
    {"malloc", 3, 1, &allocate},
    {"send", 2, 1, &send_blocks},
    {"receive", 2, 1, &receive_blocks},
    {"shelf", 2, 1, &exchange_blocks},
    {"mutex", 4, 1, &visit_accounts},
    {"throw", 2, 1, &throw_far},
    {"throw_yield", 2, 1, &throw_and_yield},
    {"sstream", 1, 1, &format},
    {"files", 1, 1, &write_files},
    {"map", 1, 1, &grow_maps},
    {"regex", 1, 3, &match},
    {"date", 1, 1, &write_dates},
    {"sleep", 3, 1, &sleep_shortly},
    {"storm", 1, 1, &spawn_storms},
    {"dlopen", 2, 1, &load_libraries},
    {"pipe", 2, 1, &read_pipes},
};
constexpr kind main_kind = {"main", 0, 5, nullptr};  // waits for all others at the end

/// The main goroutine: starts all others, disturbs them, and waits for their end.
void supervise(yard& y, steady_clock::time_point end) {
  worker& self = y.workers.front();
  thrum::wait_group group;
  for (worker& w : y.workers) {
    if (&w != &self) {
      group.go([&] {
        w.what.work(y, w);
        w.ended = true;
      });
    }
  }
  for (std::uint64_t turn = 0; steady_clock::now() < end; ++turn) {
    go_on(y, self);
    thrum::sleep_for(milliseconds(10));
    disturb(turn);
  }
  y.over = true;
  group.wait();
  go_on(y, self);
}

void prepare(yard& y) {
  y.workers.emplace_back(main_kind, 0);
  for (const kind& k : kinds) {
    for (unsigned i = 0; i != k.workers; ++i) {
      y.workers.emplace_back(k, static_cast<unsigned>(y.workers.size()));
    }
    if (k.work == &send_blocks) {
      y.senders = static_cast<int>(k.workers);
    }
  }
  for (conduit& c : y.conduits) {
    int ends[2];
    if (!host::open_pipe(ends)) {
      std::fprintf(stderr, "thrum_stress_preemption: no pipe: %s\n", std::strerror(errno));
      std::exit(1);
    }
    c = {ends[0], ends[1]};
  }
  // A library that is not loaded already is better: dlopen has more to do.
  for (const char* const name : host::libraries) {
    if (void* const handle = host::open_library(name)) {
      host::close_library(handle);
      y.library = name;
      break;
    }
  }
  std::tm parts{};
  char text[64] = "";
  host::local_time(moment, parts);
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %Z", &parts);
  y.date = text;
}

/// What is left when all have ended.
void clear_up(yard& y) {
  for (const account& a : y.accounts) {
    expect(a.left == a.right, "an account balances");
  }
  expect(y.accounts[0].left + y.accounts[1].left == y.entries, "no entry into an account is lost");
  for (const block& b : y.shelf) {
    if (b.bytes != nullptr) {
      free_block(b);
    }
  }
  for (const conduit& c : y.conduits) {
    ::close(c.reader);
  }
}

void print(const yard& y, const thrum::stats_snapshot& s, std::uint64_t slice_us, double seconds,
           std::int64_t pause_ms) {
  std::string rounds;
  for (const kind& k : kinds) {
    std::uint64_t sum = 0;
    for (const worker& w : y.workers) {
      sum += &w.what == &k ? w.rounds.load() : 0;
    }
    rounds.append(rounds.empty() ? "" : " ").append(k.name).append(" ").append(std::to_string(sum));
  }
  std::printf(
      "procs %u, slice %ju us, %.1f s: rounds %s; signals %ju, exchanges %ju, retakes %ju, "
      "hand_offs %ju, stopped_without_p %ju, threads %u; longest pause %jd ms, sleep late by "
      "%jd us\n",
      s.procs, std::uintmax_t{slice_us}, seconds, rounds.c_str(), std::uintmax_t{s.signals},
      std::uintmax_t{s.exchanges}, std::uintmax_t{s.retakes}, std::uintmax_t{s.hand_offs},
      std::uintmax_t{s.stopped_without_p}, s.threads, std::intmax_t{pause_ms},
      std::intmax_t{y.latest_us});
  std::fflush(stdout);
}

void run_once(unsigned procs, std::uint64_t slice_us, std::uint64_t seconds, bool with_company,
              bool quiet = false) {
  const auto begin = steady_clock::now();
  yard y;
  prepare(y);
  thrum::options options = thrum::options::from_environment();
  options.procs = procs;
  options.time_slice = microseconds(slice_us);
  options.preempt = thrum::preemption::async;
  thrum::stats_snapshot stats;
  watchdog dog(y.workers, procs, slice_us);
  std::thread feeder([&] { feed(y); });
  thrum::run(options, [&] {
    dog.runtime(thrum::runtime::current());
    {
      std::optional<company> beside;
      if (with_company) {
        beside.emplace();
      }
      supervise(y, begin + std::chrono::seconds(seconds));
    }
    stats = thrum::stats();
    dog.runtime(nullptr);
  });
  y.workers.front().ended = true;
  feeder.join();
  clear_up(y);
  if (quiet) {
    return;
  }
  for (const worker& w : y.workers) {
    expect(w.rounds > 1, "each worker comes round");
  }
  const std::chrono::duration<double> time = steady_clock::now() - begin;
  print(y, stats, slice_us, time.count(), dog.longest_pause());
}

}}  // namespace stress

int main(int count, char** values) {
  std::uint64_t seconds = 60;
  std::uint64_t one_procs = 0;     // 0: 1, 2 and 4
  std::uint64_t one_slice_us = 0;  // 0: 10,000, 300 and 200
  std::uint64_t company = 0;       // 0: none
  if (!stress::parse(count, values,
                     {{"--seconds", seconds},
                      {"--procs", one_procs},
                      {"--slice-us", one_slice_us},
                      {"--company", company}})) {
    std::fprintf(stderr,
                 "usage: thrum_stress_preemption [--seconds S] [--procs P] [--slice-us U] "
                 "[--company 1]\n");
    return 2;
  }
  support::use_one_heap();  // all want the same lock
#if defined(SIGPIPE)
  std::signal(SIGPIPE, SIG_IGN);  // a write to a pipe that nobody reads says so itself
#endif
  std::vector<unsigned> procs = {1, 2, 4};
  if (one_procs != 0) {
    procs = {static_cast<unsigned>(one_procs)};
  }
  std::vector<std::uint64_t> slices = {10'000, 300, 200};
  if (one_slice_us != 0) {
    slices = {one_slice_us};
  }
  stress::run_once(procs.back(), slices.front(), 1, false, true);
  const stress::leftovers left;
  for (const unsigned p : procs) {
    for (const std::uint64_t slice : slices) {
      stress::run_once(p, slice, seconds, company != 0);
    }
  }
  stress::expect(left.none("thrum_stress_preemption"), "nothing is left over");
  if (stress::failures != 0) {
    std::printf("%ju checks FAILED\n", std::uintmax_t{stress::failures});
    return 1;
  }
  std::printf("all results are right, and nobody stood still\n");
  return 0;
}
