// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Workers that compute, allocate and lock: between any two instructions they may be interrupted.

#include "yard.hpp"

#include <thrum.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <utility>

#include <time.h>

namespace stress {

// ---- computing ----------------------------------------------------------------------------------

namespace {

struct checksums {
  std::uint64_t integer;
  double real;
  bool operator==(const checksums&) const = default;
};

/// Some 100 us of registers and flags, without a call.
[[gnu::noinline]] checksums compute() {
  const volatile std::uint64_t start = 88'172'645'463'325'252U;  // not known beforehand
  std::uint64_t x = start;
  double y = 1.0;
  double z = 0.5;
  for (int i = 0; i != 20'000; ++i) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    y = y * 0.999'9 + static_cast<double>(x & 1'023);
    z = z * 0.5 + y;
  }
  return {x, y + z};
}

}  // namespace

void be_busy(yard& y, worker& w) {
  static const checksums right = compute();
  while (go_on(y, w)) {
    expect(compute() == right, "a computation comes out the same each time");
  }
}

void read_clocks(yard& y, worker& w) {
  while (go_on(y, w)) {
    ::timespec before{};
    ::clock_gettime(CLOCK_MONOTONIC, &before);
    for (int i = 0; i != 1'000; ++i) {
      ::timespec now{};
      ::clock_gettime(CLOCK_MONOTONIC, &now);
      expect(now.tv_sec > before.tv_sec ||
                 (now.tv_sec == before.tv_sec && now.tv_nsec >= before.tv_nsec),
             "the clock goes forward");
      before = now;
    }
  }
}

// ---- memory -------------------------------------------------------------------------------------

namespace {

constexpr std::uint32_t largest_block = 300'000;

block make_block(thrum::base::random& random) {
  block b;
  // Half of them small: those have locks and lists of their own.
  b.size = 1 + random.below(random.below(2) == 0 ? 2'000 : largest_block);
  b.mark = static_cast<unsigned char>(random.below(256));
  b.bytes = static_cast<unsigned char*>(std::malloc(b.size));
  if (b.bytes == nullptr) {
    std::fprintf(stderr, "thrum_stress_preemption: out of memory\n");
    std::abort();
  }
  std::memset(b.bytes, b.mark, b.size);
  return b;
}

}  // namespace

void free_block(block b) {
  // All bytes are the same as their successors, and the first one is right.
  expect(b.bytes[0] == b.mark && std::memcmp(b.bytes, b.bytes + 1, b.size - 1) == 0,
         "a block of memory keeps its contents");
  std::free(b.bytes);
}

void allocate(yard& y, worker& w) {
  auto random = random_for(w);
  std::array<block, 8> kept;
  while (go_on(y, w)) {
    block& b = kept[random.below(kept.size())];
    if (b.bytes != nullptr) {
      free_block(b);
    }
    b = make_block(random);
  }
  for (const block& b : kept) {
    if (b.bytes != nullptr) {
      free_block(b);
    }
  }
}

void send_blocks(yard& y, worker& w) {
  auto random = random_for(w);
  while (go_on(y, w)) {  // NOLINT: no leak, the receiver frees them
    y.blocks.send(make_block(random));
  }
  if (--y.senders == 0) {
    y.blocks.close();
  }
}

void receive_blocks(yard& y, worker& w) {
  for (const block& b : y.blocks) {
    free_block(b);
    go_on(y, w);
  }
}

/// Takes a block that another worker has put on the shelf and leaves one of its own.
void exchange_blocks(yard& y, worker& w) {
  auto random = random_for(w);
  while (go_on(y, w)) {
    block b = make_block(random);
    {
      const std::lock_guard guard(y.shelf_mutex);
      std::swap(b, y.shelf[random.below(places)]);
    }
    if (b.bytes != nullptr) {
      free_block(b);
    }
  }
}

// ---- locks --------------------------------------------------------------------------------------

namespace {

void enter(account& a) {
  expect(a.left == a.right, "a mutex excludes");
  a.left = a.left + 1;
  std::atomic_signal_fence(std::memory_order_seq_cst);  // inside for more than an instruction
  compute();
  a.right = a.right + 1;
}

}  // namespace

void visit_accounts(yard& y, worker& w) {
  auto random = random_for(w);
  while (go_on(y, w)) {
    const std::uint32_t which = random.below(5);
    if (which == 4) {
      const std::scoped_lock guard(y.accounts[0].mutex, y.accounts[1].mutex);
      enter(y.accounts[0]);
      enter(y.accounts[1]);
      y.entries += 2;
    } else {
      account& a = y.accounts[which % 2];
      const std::lock_guard guard(a.mutex);
      enter(a);
      ++y.entries;
    }
    compute();  // outside: these mutexes are not fair
    compute();
  }
}

}  // namespace stress
