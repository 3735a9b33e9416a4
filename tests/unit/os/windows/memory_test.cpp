// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Mappings that leave nothing behind, and stacks that the system grows: from where the next goroutine on
// one begins.
#if defined(_WIN32)

#include <thrum/detail/os/windows/api.hpp>

#include "support/test.hpp"

#include <cstring>

namespace {

namespace os = thrum::os;

constexpr std::size_t slab_bytes = std::size_t{256} << 10;

struct slab {
  char* low = static_cast<char*>(os::map_stacks(slab_bytes, os::page_size()));
  char* top = low + slab_bytes;
  ~slab() { os::unmap(low, slab_bytes); }
};

::DWORD protection_of(const void* address) {
  ::MEMORY_BASIC_INFORMATION about{};
  ::VirtualQuery(address, &about, sizeof about);
  return about.State == MEM_COMMIT ? about.Protect : 0;
}

/// Uses more of its stack with each level.
[[gnu::noinline]] int use_stack(int levels) {
  volatile char some[2048];
  some[0] = static_cast<char>(levels);
  return levels == 0 ? 0 : use_stack(levels - 1) + (some[0] == levels ? 0 : 1);
}

}  // namespace

TEST_CASE("a mapping that does not end at the end of a page leaves no address behind") {
  const std::size_t page = os::page_size();
  for (const std::size_t bytes : {std::size_t{1}, page - 1, page, page + 1, 3 * page + 8}) {
    void* const memory = os::map(bytes);
    REQUIRE(memory != nullptr);
    os::unmap(memory, bytes);
    ::MEMORY_BASIC_INFORMATION about{};
    REQUIRE(::VirtualQuery(memory, &about, sizeof about) != 0);
    CHECK(about.State == MEM_FREE);
  }
}

TEST_CASE("a part of a mapping is given back without the rest") {
  const std::size_t page = os::page_size();
  auto* const memory = static_cast<char*>(os::map(3 * page));
  REQUIRE(memory != nullptr);
  memory[page] = 1;
  os::unmap(memory + 2 * page, page);
  CHECK(protection_of(memory + 2 * page) == 0);
  os::unmap(memory, page);
  CHECK(protection_of(memory) == 0);
  CHECK(protection_of(memory + page) == PAGE_READWRITE);
  CHECK(memory[page] == 1);
  os::unmap(memory, 3 * page);
}

TEST_CASE("a stack that is opened has one page, and a guard below it") {
  slab s;
  os::stack_extent extent;
  REQUIRE(extent.open(s.low, s.top));
  const std::size_t page = os::page_size();
  CHECK(extent.limit(s.low) == s.top - page);
  CHECK(protection_of(s.top - page) == PAGE_READWRITE);
  CHECK(protection_of(s.top - 2 * page) == (PAGE_READWRITE | PAGE_GUARD));
  CHECK(protection_of(s.top - 3 * page) == 0);
}

TEST_CASE("a stack that reaches down to a place can be written to there by others") {
  slab s;
  os::stack_extent extent;
  REQUIRE(extent.open(s.low, s.top));
  const std::size_t page = os::page_size();
  char* const place = s.top - 5 * page + 8;
  REQUIRE(extent.reach(s.low, place));
  std::memset(place, 1, static_cast<std::size_t>(s.top - place));
  CHECK(extent.limit(s.low) == s.top - 5 * page);
  CHECK(protection_of(s.top - 6 * page) == (PAGE_READWRITE | PAGE_GUARD));
  CHECK(extent.reach(s.low, s.top - page));
  CHECK(extent.limit(s.low) == s.top - 5 * page);
  CHECK_FALSE(extent.reach(s.low, s.low + 8));  // there would be no room for the guard
}

TEST_CASE("a stack that was shrunk grows again") {
  slab s;
  os::stack_extent extent;
  REQUIRE(extent.open(s.low, s.top));
  const std::size_t page = os::page_size();
  REQUIRE(extent.reach(s.low, s.top - 8 * page));
  extent.shrink(s.low, s.top - page);
  CHECK(extent.limit(s.low) == s.top - page);
  CHECK(protection_of(s.top - page) == PAGE_READWRITE);
  CHECK(protection_of(s.top - 2 * page) == (PAGE_READWRITE | PAGE_GUARD));
  CHECK(protection_of(s.top - 3 * page) == 0);
}

TEST_CASE("goroutines one after another use one stack that has grown") {
  thrum::options one;
  one.procs = 1;
  thrum::runtime runtime(one);
  runtime.block_on([] {
    for (int i = 0; i != 50; ++i) {
      CHECK(thrum::spawn([i] { return use_stack(i); }).join() == 0);
    }
  });
}

TEST_CASE("a task that is larger than a page finds room on a fresh stack") {
  struct large {
    char bytes[20'000];
  };
  static large many{};
  many.bytes[19'999] = 7;
  thrum::runtime runtime;
  runtime.block_on(
      [] { CHECK(thrum::spawn([of = many] { return int{of.bytes[19'999]}; }).join() == 7); });
}

TEST_CASE("a stack grows in memory that is committed already, and that is made what it was") {
  const std::size_t page = os::page_size();
  auto* const memory = static_cast<char*>(os::map(slab_bytes));
  REQUIRE(memory != nullptr);
  const os::guard_kind guard = os::guard_foreign(memory, 4 * page);
  CHECK(guard == os::guard_kind::mprotect);
  CHECK(protection_of(memory) == PAGE_NOACCESS);
  CHECK(protection_of(memory + 4 * page) == PAGE_READWRITE);
  os::stack_extent extent;
  REQUIRE(extent.open(memory + 4 * page, memory + slab_bytes));
  CHECK(extent.limit(memory + 4 * page) == memory + slab_bytes - page);
  CHECK(protection_of(memory + slab_bytes - 2 * page) == (PAGE_READWRITE | PAGE_GUARD));
  os::return_foreign(memory, slab_bytes, 4 * page, guard);
  for (std::size_t at = 0; at != slab_bytes; at += page) {
    CHECK(protection_of(memory + at) == PAGE_READWRITE);
  }
  os::unmap(memory, slab_bytes);
}

#endif  // _WIN32
