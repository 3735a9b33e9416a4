// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// thrum_stress [--ops N] [--procs P] [--seconds S] [--seed X] [--company 1]: everything at once, for
// long.
//
// Workers draw their next piece of work at random: channels of all kinds, mutexes, trees and bursts
// of goroutines, yields, sleeps and time-outs, blocking calls. Each piece checks its own result,
// and what all of them have sent, received and counted must agree at the end. Then the runtime is
// stopped over goroutines that are still parked, and nothing may be left: no goroutine, no thread,
// no descriptor or handle, no address space.
//
// One run is N operations, or what S seconds hold; 100,000,000 if neither is given. Without --procs
// there are two runs, with 4 and with 64 processors. The seed is printed and can be given again; it
// decides the work, not the schedule. With --company there is what company.hpp says. When nothing
// moves for 30 s, the program says so and aborts.

#include <thrum.hpp>

#include "stress/arguments.hpp"
#include "stress/company.hpp"
#include "stress/host.hpp"
#include "stress/leftovers.hpp"
#include "support/eventually.hpp"
#include "support/process.hpp"
#include "support/scale.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <unistd.h>

namespace {

using std::chrono::steady_clock;

struct settings {
  std::uint64_t operations = 0;
  std::uint64_t procs = 0;    // 0: 4, then 64
  std::uint64_t seconds = 0;  // 0: no limit
  std::uint64_t seed = 0;     // 0: from the clock
  std::uint64_t company = 0;  // 0: none
};

std::atomic<std::uint64_t> failures{0};

void expect(bool claim, const char* what) {
  if (!claim && failures.fetch_add(1) < 20) {
    std::fprintf(stderr, "thrum_stress: FAILED: %s\n", what);
  }
}

/// Reports and aborts when `progress` stands still.
class watchdog {
 public:
  explicit watchdog(const std::atomic<std::uint64_t>& progress, const thrum::runtime& runtime)
      : thread_([this, &progress, &runtime] { watch(progress, runtime); }) {}
  ~watchdog() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  watchdog(const watchdog&) = delete;
  watchdog& operator=(const watchdog&) = delete;

 private:
  void watch(const std::atomic<std::uint64_t>& progress, const thrum::runtime& runtime) {
    std::unique_lock lock(mutex_);
    std::uint64_t seen = progress;
    auto since = steady_clock::now();
    while (!changed_.wait_for(lock, std::chrono::seconds(1), [this] { return over_; })) {
      if (progress != seen) {
        seen = progress;
        since = steady_clock::now();
      } else if (steady_clock::now() - since > std::chrono::seconds(30)) {
        const thrum::stats_snapshot s = runtime.stats();
        std::fprintf(
            stderr,
            "thrum_stress: no progress for 30 s after %ju operations: %ju goroutines, %ju "
            "runnable, %ju running, %ju waiting, %ju in blocking calls; %u of %u procs idle; "
            "%u threads, %u idle, %u spinning; global queue %zu; %ju timers\n",
            std::uintmax_t{seen}, std::uintmax_t{s.goroutines}, std::uintmax_t{s.runnable},
            std::uintmax_t{s.running}, std::uintmax_t{s.waiting}, std::uintmax_t{s.in_syscall},
            s.idle_procs, s.procs, s.threads, s.idle_threads, s.spinning, s.global_queue,
            std::uintmax_t{s.timers});
        std::abort();
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

constexpr std::uint32_t account_count = 8;

/// What a mutex guards: two counts that are equal whenever nobody is inside.
struct account {
  thrum::mutex mutex;
  std::uint64_t left = 0;
  std::uint64_t right = 0;
};

/// What all workers of a run share.
struct shared_state {
  std::atomic<std::uint64_t> progress{0};  // operations done
  std::atomic<std::uint64_t> sent{0};      // sum over the conveyor's senders
  std::atomic<std::uint64_t> received{0};  // sum over its receivers
  std::atomic<std::uint64_t> locked{0};    // entries into accounts
  thrum::chan<std::uint64_t> conveyor{64};
  std::array<account, account_count> accounts;
};

class worker {
 public:
  worker(shared_state& shared, std::uint64_t seed) : shared_(shared), random_(seed) {}

  /// Does pieces of work until `budget` operations are done or the time is over.
  void run(std::uint64_t budget, steady_clock::time_point end) {
    std::uint64_t done = 0;
    while (done < budget && (done == 0 || steady_clock::now() < end)) {
      const std::uint64_t n = piece();
      shared_.progress.fetch_add(n, std::memory_order_relaxed);
      done += n;
    }
    shared_.sent += sent_;
    shared_.locked += locked_;
  }

 private:
  std::uint32_t below(std::uint32_t n) { return random_.below(n); }

  std::uint64_t piece() {
    struct share {
      std::uint32_t of_1000;
      std::uint64_t (worker::*work)();
    };
    constexpr share shares[] = {
        {220, &worker::converse},       {180, &worker::feed_conveyor},
        {160, &worker::visit_accounts}, {100, &worker::grow_tree},
        {50, &worker::burst},           {130, &worker::yield_for_a_while},
        {60, &worker::time_out},        {40, &worker::take_a_nap},
        {55, &worker::block_shortly},   {5, &worker::block_for_long},
    };
    std::uint32_t draw = below(1'000);
    const share* drawn = shares;
    for (; draw >= drawn->of_1000; ++drawn) {
      draw -= drawn->of_1000;
    }
    return (this->*drawn->work)();
  }

  /// A private channel of any capacity to a fresh goroutine and back.
  std::uint64_t converse() {
    const std::uint32_t n = 1 + below(200);
    thrum::chan<std::uint64_t> questions(below(4) == 0 ? below(32) : 0);
    thrum::chan<std::uint64_t> answers(below(2));
    auto partner = thrum::spawn([=]() mutable {
      std::uint64_t sum = 0;
      for (const std::uint64_t question : questions) {
        sum += question;
        if (question % 8 == 0) {
          answers.send(sum);
        }
      }
      answers.close();
      return sum;
    });
    std::uint64_t sum = 0;
    std::uint64_t replies = 0;
    for (std::uint64_t i = 1; i <= n; ++i) {
      questions.send(i);
      sum += i;
      if (i % 8 == 0) {
        expect(answers.recv() == sum, "an answer is that to the question");
        ++replies;
      }
    }
    questions.close();
    expect(!answers.recv(), "a closed channel ends");
    expect(partner.join() == sum, "the sum comes through a private channel");
    return 2 * n + 2 * replies + 3;
  }

  std::uint64_t feed_conveyor() {
    const std::uint32_t n = 1 + below(100);
    for (std::uint32_t i = 0; i != n; ++i) {
      std::uint64_t value = below(1'000);
      sent_ += value;
      if (below(4) != 0 || !shared_.conveyor.try_send(value)) {
        shared_.conveyor.send(value);
      }
    }
    return 2 * n;
  }

  std::uint64_t visit_accounts() {
    account& a = shared_.accounts[below(account_count)];
    const std::uint32_t n = 1 + below(100);
    for (std::uint32_t i = 0; i != n; ++i) {
      if (below(8) != 0 || !a.mutex.try_lock()) {
        a.mutex.lock();
      }
      ++locked_;
      expect(a.left == a.right, "a mutex excludes");
      ++a.left;
      if (below(64) == 0) {
        thrum::this_goroutine::yield();
      }
      ++a.right;
      a.mutex.unlock();
    }
    return n;
  }

  static std::uint64_t leaves(std::uint32_t depth) {
    if (depth == 0) {
      return 1;
    }
    auto left = thrum::spawn(leaves, depth - 1);
    const std::uint64_t right = leaves(depth - 1);
    return left.join() + right;
  }

  std::uint64_t grow_tree() {
    const std::uint32_t depth = 1 + below(6);
    expect(leaves(depth) == 1U << depth, "a tree keeps its leaves");
    return 1U << depth;
  }

  /// More goroutines than a processor's own queue holds, once in a while many more.
  std::uint64_t burst() {
    const std::uint32_t n = below(200) == 0 ? 3'000 : 1 + below(300);
    std::atomic<std::uint32_t> ran{0};
    thrum::wait_group group;
    for (std::uint32_t i = 0; i != n; ++i) {
      group.go([&ran, i] {
        if (i % 4 == 0) {
          thrum::this_goroutine::yield();
        }
        ran.fetch_add(1, std::memory_order_relaxed);
      });
    }
    group.wait();
    expect(ran.load(std::memory_order_relaxed) == n, "all of a burst run before wait returns");
    return n;
  }

  std::uint64_t yield_for_a_while() {
    const std::uint32_t n = 1 + below(200);
    for (std::uint32_t i = 0; i != n; ++i) {
      thrum::this_goroutine::yield();
    }
    return n;
  }

  /// A wait that nobody ends, and one that races with its end.
  std::uint64_t time_out() {
    thrum::chan<int> silent(0);
    int value = 0;
    const std::chrono::microseconds time(below(100));
    expect(silent.recv_for(value, time) == thrum::recv_status::timeout, "silence times out");
    thrum::chan<int> racing(0);
    auto late = thrum::spawn([=]() mutable {
      thrum::sleep_for(time);
      return racing.send_for(1, time);
    });
    const bool received = racing.recv_for(value, time) == thrum::recv_status::ok;
    expect(late.join() == received, "sender and receiver agree on what came of it");
    return 4;
  }

  std::uint64_t take_a_nap() {
    const auto begin = steady_clock::now();
    const std::chrono::microseconds time(below(300));
    thrum::sleep_for(time);
    expect(steady_clock::now() - begin >= time, "a sleep is not too short");
    return 1;
  }

  std::uint64_t block_shortly() {
    const std::uint32_t n = 1 + below(50);
    for (std::uint32_t i = 0; i != n; ++i) {
      expect(thrum::blocking([] { return stress::host::ask_the_system(); }) >= 0,
             "blocking returns the result");
    }
    return n;
  }

  std::uint64_t block_for_long() {
    const std::uint32_t time = below(500);
    thrum::blocking([=] { ::usleep(time); });
    return 1;
  }

  shared_state& shared_;
  thrum::base::random random_;
  std::uint64_t sent_ = 0;
  std::uint64_t locked_ = 0;
};

/// Counts the goroutines that hold one.
class ticket {
 public:
  explicit ticket(std::atomic<int>& held) : held_(held) { ++held_; }
  ~ticket() { --held_; }
  ticket(const ticket&) = delete;
  ticket& operator=(const ticket&) = delete;

 private:
  std::atomic<int>& held_;
};

/// Goroutines that would stay for ever: stopping the runtime must end them.
void leave_some_behind(std::atomic<int>& held) {
  constexpr int n = 300;
  thrum::chan<int> silent(0);
  for (int i = 0; i != n; ++i) {
    thrum::go([&held, silent, i]() mutable {
      const ticket mine(held);
      if (i % 3 == 0) {
        silent.recv();
      } else if (i % 3 == 1) {
        thrum::sleep_for(std::chrono::hours(1));
      } else {
        thrum::chan<int>().send(1);
      }
    });
  }
  expect(support::eventually([&] { return held == n; }), "goroutines that are started run");
}

/// So many workers share so many operations.
void all_workers(shared_state& shared, std::uint64_t seed, std::uint64_t workers,
                 std::uint64_t operations, steady_clock::time_point end) {
  thrum::wait_group group;
  for (std::uint64_t i = 0; i != workers; ++i) {
    group.go(
        [=, &shared] { worker(shared, seed * 1'000'003 + i).run(operations / workers + 1, end); });
  }
  group.wait();
}

void all_work(shared_state& shared, const settings& s, unsigned procs) {
  const auto begin = steady_clock::now();
  const auto end_of_eighths = [&](unsigned n) {
    return s.seconds == 0 ? steady_clock::time_point::max()
                          : begin + n * std::chrono::milliseconds(s.seconds * 1'000 / 8);
  };
  thrum::wait_group receivers;
  for (int i = 0; i != 4; ++i) {
    receivers.go([&] {
      std::uint64_t sum = 0;
      for (const std::uint64_t value : shared.conveyor) {
        sum += value;
      }
      shared.received += sum;
    });
  }
  // Crowded, most wake-ups find every processor busy; with a few workers, processors and threads
  // fall asleep and are woken all the time.
  const std::uint64_t crowd = std::max(procs, 4U) * 8;
  all_workers(shared, s.seed, crowd, s.operations - s.operations / 8, end_of_eighths(7));
  all_workers(shared, s.seed + crowd, std::max(procs / 4, 2U), s.operations / 8, end_of_eighths(8));
  shared.conveyor.close();
  receivers.wait();
  std::uint64_t entries = 0;
  for (const account& a : shared.accounts) {
    expect(a.left == a.right, "an account balances");
    entries += a.left;
  }
  expect(entries == shared.locked, "no entry into an account is lost");
  expect(shared.sent == shared.received, "nothing is lost on the conveyor");
}

/// One runtime, from its start to its end.
void run_once(const settings& s, unsigned procs, bool quiet) {
  const auto begin = steady_clock::now();
  std::atomic<int> held{0};
  thrum::options options = thrum::options::from_environment();
  options.procs = procs;
  shared_state shared;
  thrum::runtime runtime(options);
  const watchdog dog(shared.progress, runtime);
  runtime.block_on([&] {
    {
      std::optional<stress::company> company;
      if (s.company != 0 && !quiet) {
        company.emplace();
      }
      all_work(shared, s, procs);
    }
    leave_some_behind(held);
  });
  const unsigned threads = runtime.stats().threads;
  runtime.stop();
  expect(held == 0, "stop unwinds what is parked");
  const thrum::stats_snapshot stats = runtime.stats();
  expect(stats.created == stats.finished, "every goroutine that was started has ended");
  if (!quiet) {
    const std::chrono::duration<double> time = steady_clock::now() - begin;
    std::printf("procs %u: %ju operations in %.1f s, seed %ju\n", procs,
                std::uintmax_t{shared.progress}, time.count(), std::uintmax_t{s.seed});
    std::printf(
        "  goroutines %ju, switches %ju, steals %ju, preemptions %ju, hand-offs %ju, "
        "timers %ju, threads %u\n",
        std::uintmax_t{stats.created}, std::uintmax_t{stats.switches}, std::uintmax_t{stats.steals},
        std::uintmax_t{stats.preemptions}, std::uintmax_t{stats.hand_offs},
        std::uintmax_t{stats.timers_fired}, threads);
    std::fflush(stdout);
  }
}

/// A run, and a look at what it has left to the process.
void run_and_look(const settings& s, unsigned procs) {
  settings warm_up = s;
  warm_up.operations = std::min<std::uint64_t>(s.operations, 200'000);
  run_once(warm_up, procs, true);
  const stress::leftovers left;
  run_once(s, procs, false);
  expect(left.none("thrum_stress"), "nothing is left over");
}

}  // namespace

int main(int count, char** values) {
  settings s;
  if (!stress::parse(count, values,
                     {{"--ops", s.operations},
                      {"--procs", s.procs},
                      {"--seconds", s.seconds},
                      {"--seed", s.seed},
                      {"--company", s.company}})) {
    std::fprintf(stderr,
                 "usage: thrum_stress [--ops N] [--procs P] [--seconds S] [--seed X] "
                 "[--company 1]\n");
    return 2;
  }
  if (s.operations == 0) {
    s.operations = s.seconds == 0 ? 100'000'000 : std::uint64_t{1} << 60;
  }
  if (s.seed == 0) {
    const auto now = steady_clock::now().time_since_epoch().count();
    s.seed = static_cast<std::uint64_t>(now) % 1'000'000'007;
  }
  support::use_one_heap();  // else each thread may leave an arena behind
  std::vector<unsigned> runs = {4, 64};
  if (s.procs != 0) {
    runs = {static_cast<unsigned>(s.procs)};
  }
  for (const unsigned procs : runs) {
    run_and_look(s, procs);
  }
  if (failures != 0) {
    std::printf("%ju checks FAILED, seed %ju\n", std::uintmax_t{failures}, std::uintmax_t{s.seed});
    return 1;
  }
  std::printf("nothing lost, nothing left over\n");
  return 0;
}
