// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// counts [ROW...]: instructions and locked instructions of the hot paths, for one operation, on one
// processor. A line each: name, instructions, locked ones. tools/counts.py builds it, and compares.
//
// Each row runs in a process of its own: it does everything once to warm up (stacks, waiters, blocks of
// memory), and then once more between two marks.

#include "single_step.hpp"

#include <thrum.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string_view>

#include <sched.h>
#include <unistd.h>

namespace {

using counts::mark;

/// Calls `work` once for nothing and once for the count.
template <class Work>
void twice(Work work) {
  work();
  mark();
  work();
  mark();
}

/// Takes n items for nothing, n that are counted, and leaves n to the sender: neither a start nor an
/// end is counted.
template <class Take>
void middle_of_three(int n, Take take) {
  for (int i = 0; i != 3 * n; ++i) {
    if (i == n || i == 2 * n) {
      mark();
    }
    take();
  }
}

void spawn_and_join(int n) {
  twice([=] {
    for (int i = 0; i != n; ++i) {
      thrum::spawn([] {}).join();
    }
  });
}

void go_one_at_a_time(int n) {
  twice([=] {
    for (int i = 0; i != n; ++i) {
      thrum::wait_group group;
      group.go([] {});
      group.wait();
    }
  });
}

void go_1000_at_a_time(int n) {
  twice([=] {
    for (int i = 0; i != n; i += 1000) {
      thrum::wait_group group;
      for (int j = 0; j != 1000; ++j) {
        group.go([] {});
      }
      group.wait();
    }
  });
}

/// Two goroutines, so each of the counted one's calls is two switches.
void yield(int n) {
  bool stop = false;
  auto partner = thrum::spawn([&] {
    while (!stop) {
      thrum::this_goroutine::yield();
    }
  });
  middle_of_three(n / 2, [] { thrum::this_goroutine::yield(); });
  stop = true;
  partner.join();
}

void ping_pong(int n) {
  const thrum::chan<std::int64_t> there(0);
  const thrum::chan<std::int64_t> back(0);
  auto partner = thrum::spawn([=] {
    std::int64_t ball = 0;
    while (there.recv(ball) == thrum::recv_status::ok) {
      back.send(ball + 1);
    }
  });
  std::int64_t ball = 0;
  middle_of_three(n, [&] {
    there.send(ball);
    back.recv(ball);
  });
  there.close();
  partner.join();
}

void items(int n, std::size_t capacity) {
  const thrum::chan<std::int64_t> items(capacity);
  auto producer = thrum::spawn([=] {
    for (int i = 0; i != 3 * n; ++i) {
      items.send(i);
    }
  });
  std::int64_t item = 0;
  middle_of_three(n, [&] { items.recv(item); });
  producer.join();
}

/// select's choices by chance: the same in each run.
void draw_the_same() {
  thrum::sched::section here;
  here.m()->random = thrum::base::random(1);
}

void select_of_two(int n, std::size_t capacity) {
  draw_the_same();
  const thrum::chan<std::int64_t> left(capacity);
  const thrum::chan<std::int64_t> right(capacity);
  for (const auto& items : {left, right}) {
    // Which of them is asked is a matter of chance: they send until main ends.
    thrum::go([=] {
      for (std::int64_t i = 0;; ++i) {
        items.send(i);
      }
    });
  }
  std::int64_t sum = 0;
  const auto take = [&](std::optional<std::int64_t> item) { sum += *item; };
  middle_of_three(n,
                  [&] { thrum::select(thrum::on_recv(left, take), thrum::on_recv(right, take)); });
}

void mutex(int n) {
  thrum::mutex mutex;
  twice([&] {
    for (int i = 0; i != n; ++i) {
      mutex.lock();
      mutex.unlock();
    }
  });
}

struct row {
  const char* name;
  int operations;
  void (*work)(int n);
};

constexpr row rows[] = {
    {"spawn_and_join", 64, spawn_and_join},
    {"go_one_at_a_time", 64, go_one_at_a_time},
    {"go_1000_at_a_time", 1000, go_1000_at_a_time},
    {"yield", 256, yield},
    {"ping_pong", 64, ping_pong},
    {"item_unbuffered", 128, [](int n) { items(n, 0); }},
    {"item_buffered_128", 256, [](int n) { items(n, 128); }},
    {"select_of_two_unbuffered", 128, [](int n) { select_of_two(n, 0); }},
    {"select_of_two_buffered_128", 512, [](int n) { select_of_two(n, 128); }},
    {"mutex_lock_and_unlock", 64, mutex},
};

constexpr const char* traced = "--traced=";

int run_traced(std::string_view name) {
  for (const row& each : rows) {
    if (name == each.name) {
      thrum::options options;
      options.procs = 1;
      options.preempt = thrum::preemption::cooperative;
      return thrum::run(options, [&] { each.work(each.operations); });
    }
  }
  return 2;
}

void count(const char* program, const row& row) {
  char argument[64];
  std::snprintf(argument, sizeof argument, "%s%s", traced, row.name);
  const counts::totals taken = counts::tracer(program, argument).count();
  std::printf("%-28s %9.1f %7.2f\n", row.name,
              static_cast<double>(taken.instructions) / row.operations,
              static_cast<double>(taken.locked) / row.operations);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]).starts_with(traced)) {
    return run_traced(std::string_view(argv[1]).substr(std::string_view(traced).size()));
  }
  // The tracer and the traced take turns.
  cpu_set_t here;
  CPU_ZERO(&here);
  CPU_SET(::sched_getcpu(), &here);
  ::sched_setaffinity(0, sizeof here, &here);
  try {
    for (const row& each : rows) {
      bool wanted = argc == 1;
      for (int i = 1; i < argc; ++i) {
        wanted = wanted || std::string_view(argv[i]) == each.name;
      }
      if (wanted) {
        // A thread that waits for one that was stopped would wait for ever. A second of a processor is
        // enough, but it may be one that others use.
        ::alarm(300);
        count("/proc/self/exe", each);
      }
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "counts: %s\n", error.what());
    return 1;
  }
}
