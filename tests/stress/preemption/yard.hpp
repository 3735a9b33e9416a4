// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the workers of this program share, and which there are.
#ifndef THRUM_TESTS_STRESS_PREEMPTION_YARD_HPP
#define THRUM_TESTS_STRESS_PREEMPTION_YARD_HPP

#include <thrum.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <deque>
#include <mutex>
#include <string>

namespace stress {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

inline std::atomic<std::uint64_t> failures{0};

inline void expect(bool claim, const char* what) {
  if (!claim && failures.fetch_add(1) < 20) {
    std::fprintf(stderr, "thrum_stress_preemption: FAILED: %s\n", what);
  }
}

struct yard;
struct worker;

struct kind {
  const char* name;
  unsigned workers;
  unsigned patience;  // times 2 s
  void (*work)(yard&, worker&);
};

/// One goroutine that loops.
struct alignas(64) worker {
  worker(const kind& k, unsigned n) : what(k), number(n) {}

  const kind& what;
  const unsigned number;  // among all of them
  std::atomic<std::uint64_t> rounds{0};
  std::atomic<bool> ended{false};
};

/// Memory filled with a pattern of its owner.
struct block {
  unsigned char* bytes = nullptr;
  std::size_t size = 0;
  unsigned char mark = 0;
};

/// What two mutexes guard: two counts each, equal whenever nobody is inside.
struct account {
  std::mutex mutex;
  std::uint64_t left = 0;
  std::uint64_t right = 0;
};

constexpr std::uint32_t places = 32;  // on the shelf

/// A pipe that a foreign thread feeds.
struct conduit {
  int reader = -1;
  int writer = -1;
};

struct yard {
  std::atomic<bool> over{false};
  std::deque<worker> workers;
  std::array<account, 2> accounts;
  std::atomic<std::uint64_t> entries{0};  // into accounts
  thrum::chan<block> blocks{16};
  std::atomic<int> senders{0};  // of them
  std::mutex shelf_mutex;
  std::array<block, places> shelf;
  std::array<conduit, 2> conduits;
  std::atomic<unsigned> conduits_taken{0};
  const char* library = nullptr;
  std::string date;                        // of `moment`, here
  std::atomic<std::int64_t> latest_us{0};  // by how much a sleeper came too late
};

constexpr std::time_t moment = 1'000'000'000;

/// Counts a round; whether there is to be another one.
inline bool go_on(const yard& y, worker& w) {
  w.rounds.fetch_add(1, std::memory_order_relaxed);
  if constexpr (!thrum::os::has_preempt_signal) {
    thrum::this_goroutine::preemption_point();
  }
  return !y.over.load(std::memory_order_relaxed);
}

inline thrum::base::random random_for(const worker& w) {
  return thrum::base::random(w.number * 1'000'003 + 1);
}

// ---- the workers
// ----------------------------------------------------------------------------------

// computing.cpp
void be_busy(yard& y, worker& w);
void read_clocks(yard& y, worker& w);
void allocate(yard& y, worker& w);
void send_blocks(yard& y, worker& w);
void receive_blocks(yard& y, worker& w);
void exchange_blocks(yard& y, worker& w);
void visit_accounts(yard& y, worker& w);

// exceptions.cpp
void throw_far(yard& y, worker& w);
void throw_and_yield(yard& y, worker& w);

// standard_library.cpp
void format(yard& y, worker& w);
void write_files(yard& y, worker& w);
void grow_maps(yard& y, worker& w);
void match(yard& y, worker& w);
void write_dates(yard& y, worker& w);

// system.cpp
void sleep_shortly(yard& y, worker& w);
void spawn_storms(yard& y, worker& w);
void load_libraries(yard& y, worker& w);
void read_pipes(yard& y, worker& w);

/// Checks that a block has kept its contents, and frees it.
void free_block(block b);

/// A foreign thread that writes to the conduits.
void feed(yard& y);

/// Does what concerns the whole process: another thing each turn.
void disturb(std::uint64_t turn);

}  // namespace stress

#endif
