// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/detail/sched/stack/stack_pool.hpp>

#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/run/wait_point.hpp>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#if defined(_WIN32)
#include <thrum/detail/os/windows/api.hpp>
#else
#include <unistd.h>
#endif

#include "support/catch.hpp"

namespace {

using pool = thrum::sched::stack_pool;
using g_type = thrum::sched::goroutine;
using thrum::sched::stack_class;

/// Makes all of the stack usable of which its goroutine can have the use, and returns where that
/// begins: where a stack grows, its last page stays a guard.
char* open_all(g_type& g) {
  if (g.extent.reach(g.stack_low, g.stack_low)) {
    return g.stack_low;
  }
  char* const lowest = g.stack_low + thrum::os::page_size();
  REQUIRE(g.extent.reach(g.stack_low, lowest + 1));
  return lowest;
}

bool is_readable_stack(const char* address) {
#if defined(_WIN32)
  ::MEMORY_BASIC_INFORMATION about{};
  ::VirtualQuery(address, &about, sizeof about);
  return about.State == MEM_COMMIT && about.Protect == PAGE_READWRITE;
#else  // the system reads from there, or says that it cannot
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const bool readable = ::write(ends[1], address, 1) == 1;
  ::close(ends[0]);
  ::close(ends[1]);
  return readable;
#endif
}

}  // namespace

TEST_CASE("a stack class holds at least the bytes that were asked for") {
  STATIC_REQUIRE(stack_class(0) == thrum::sched::min_stack_class);
  STATIC_REQUIRE(stack_class(16 * 1024) == 14);
  STATIC_REQUIRE(stack_class(16 * 1024 + 1) == 15);
  STATIC_REQUIRE(stack_class(256 * 1024) == 18);
  STATIC_REQUIRE(stack_class(~std::size_t{0}) == thrum::sched::max_stack_class);
}

TEST_CASE("each goroutine is at the top of a stack of its own") {
  auto* p = new pool;
  std::vector<g_type*> all;
  for (int i = 0; i < 600; ++i) {
    all.push_back(p->take(16));
    REQUIRE(all.back() != nullptr);
  }
  std::set<std::pair<std::uintptr_t, std::uintptr_t>> ranges;
  for (g_type* g : all) {
    const auto low = reinterpret_cast<std::uintptr_t>(g->stack_low);
    const auto high = reinterpret_cast<std::uintptr_t>(g) + sizeof(g_type);
    REQUIRE(low < high);
    REQUIRE(high - low <= std::size_t{1} << 16);
    ranges.insert({low, high});
  }
  REQUIRE(ranges.size() == all.size());
  std::uintptr_t end = 0;
  for (const auto& [low, high] : ranges) {
    REQUIRE(low >= end);
    end = high;
  }
  pool::abandon(p);
}

TEST_CASE("each stack has all the bytes of its class, less what its goroutine takes") {
  auto* p = new pool;
  for (const std::uint8_t size_class : {std::uint8_t{16}, std::uint8_t{18}, std::uint8_t{26}}) {
    for (int i = 0; i < 3; ++i) {
      g_type* const g = p->take(size_class);
      const auto bytes = static_cast<std::size_t>(reinterpret_cast<char*>(g) - g->stack_low);
      CHECK(bytes > (std::size_t{1} << size_class) - 4096);
      CHECK(bytes < std::size_t{1} << size_class);
    }
  }
  pool::abandon(p);
}

TEST_CASE("between two stacks nothing can be written for 64 KiB") {
  if (std::getenv("THRUM_TEST_EMULATOR") != nullptr) {
    return;  // emulators accept guards that they do not install
  }
  auto* p = new pool;
  for (const std::uint8_t size_class : {std::uint8_t{16}, std::uint8_t{18}}) {
    for (int i = 0; i < 3; ++i) {
      g_type* const g = p->take(size_class);
      CHECK(is_readable_stack(open_all(*g)));
      CHECK_FALSE(is_readable_stack(g->stack_low - 1));
      CHECK_FALSE(is_readable_stack(g->stack_low - 64 * 1024));
    }
  }
  pool::abandon(p);
}

TEST_CASE("stacks are an odd number of pages apart, so that their tops share no set of a TLB") {
  const auto page = static_cast<std::ptrdiff_t>(thrum::os::page_size());
  auto* p = new pool;
  const g_type* const first = p->take(18);
  const g_type* const second = p->take(18);
  const std::ptrdiff_t apart = second->stack_low - first->stack_low;
  CHECK(apart % page == 0);
  CHECK(apart / page % 2 == 1);
  pool::abandon(p);
}

TEST_CASE("a pool knows which addresses are of its stacks") {
  auto* p = new pool;
  const int elsewhere = 0;
  CHECK_FALSE(p->holds(&elsewhere));
  g_type* const g = p->take(18);
  CHECK(p->holds(g));
  CHECK(p->holds(g->stack_low));
  CHECK_FALSE(p->holds(&elsewhere));
  pool::abandon(p);
}

TEST_CASE("the whole of a stack can be written") {
  auto* p = new pool;
  std::vector<g_type*> g_list;
  for (int i = 0; i < 3; ++i) {
    g_type* const g = p->take(18);
    for (char* byte = open_all(*g); byte < reinterpret_cast<char*>(g); byte += 512) {
      *byte = static_cast<char>(i + 1);
    }
    g_list.push_back(g);
  }
  int overwritten = 0;  // by what was written to another
  for (std::size_t i = 0; i != g_list.size(); ++i) {
    g_type* const g = g_list[i];
    for (char* byte = open_all(*g); byte < reinterpret_cast<char*>(g); byte += 512) {
      overwritten += *byte == static_cast<char>(i + 1) ? 0 : 1;
    }
  }
  CHECK(overwritten == 0);
  pool::abandon(p);
}

TEST_CASE("a stack that was given back is the next one to be taken") {
  auto* p = new pool;
  g_type* const first = p->take(18);
  thrum::base::intrusive_queue<g_type> dead;
  dead.push_back(first);
  p->put(18, std::move(dead));
  REQUIRE(p->take(16) != first);
  REQUIRE(p->take(18) == first);
  pool::abandon(p);
}

TEST_CASE("for_each visits every goroutine that was ever carved, once") {
  auto* p = new pool;
  std::set<g_type*> taken;
  for (int i = 0; i < 1500; ++i) {
    taken.insert(p->take(i % 2 == 0 ? 18 : 15));
  }
  std::set<g_type*> seen;
  int visits = 0;
  p->for_each([&](g_type& g) {
    seen.insert(&g);
    ++visits;
  });
  REQUIRE(seen == taken);
  REQUIRE(visits == 1500);
  pool::abandon(p);
}

TEST_CASE("a pool that is abandoned lives until the last handle lets go") {
  auto* p = new pool;
  g_type* const a = p->take(18);
  g_type* const b = p->take(18);
  a->join = thrum::sched::join_state::done;
  b->join = thrum::sched::join_state::done;
  pool::abandon(p);
  a->id = 7;  // still there
  p->put_from_handle(*a);
  REQUIRE(b->join == thrum::sched::join_state::done);
  p->put_from_handle(*b);
}

TEST_CASE("goroutines of neighbouring slots differ in their cache sets") {
  auto* p = new pool;
  std::set<std::uintptr_t> offsets;
  for (int i = 0; i < 8; ++i) {
    offsets.insert(reinterpret_cast<std::uintptr_t>(p->take(18)) % 4096);
  }
  REQUIRE(offsets.size() == 8);
  pool::abandon(p);
}

TEST_CASE("a pool recognises its stack although another thread holds the lock for a moment") {
  struct held_lock {
    std::atomic<bool> is_held{false};
    std::atomic<bool> is_asked{false};
  };
  int told = 0;
  constexpr int times = 20;
  for (int i = 0; i != times; ++i) {
    auto* p = new pool;
    held_lock lock;
    p->tell_of_idle(
        [](void* own) noexcept {
          auto& here = *static_cast<held_lock*>(own);
          here.is_held = true;
          while (!here.is_asked) {
            thrum::os::yield_thread();
          }
          thrum::os::yield_thread();
        },
        &lock);
    g_type* const g = p->take(16);
    REQUIRE(g != nullptr);
    std::thread other([&] {
      thrum::base::intrusive_queue<g_type> dead;
      dead.push_back(g);
      p->put(16, std::move(dead));
    });
    while (!lock.is_held) {
      thrum::os::yield_thread();
    }
    lock.is_asked = true;
    told += p->holds(g) ? 1 : 0;
    other.join();
    pool::abandon(p);
  }
  // Whoever asks does not wait for ever, and the other thread may have lost its CPU; without a wait it is told
  // in no round.
  CHECK(told != 0);
}
