// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Mappings, guards and giving memory back.
#include <thrum/detail/os/memory.hpp>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <sys/mman.h>

#include "support/catch.hpp"
#include "support/child.hpp"
#include "support/scale.hpp"

using namespace thrum;

namespace {

constexpr std::size_t smallest_page = 4096;

// Whether resident_pages() means pages of ours: qemu has the system answer, with pages of its own.
bool counts_our_pages() { return support::slowness() == 1 || os::page_size() == smallest_page; }

// Resident pages of a range.
std::size_t resident_pages(void* memory, std::size_t bytes) {
  std::vector<unsigned char> pages(bytes / smallest_page);
  REQUIRE(::mincore(memory, bytes, pages.data()) == 0);
  std::size_t n = 0;
  for (const unsigned char page : pages) {
    n += page & 1U;
  }
  return n;
}

// Number of mappings of this process.
std::size_t mapping_count() {
  std::FILE* const maps = std::fopen("/proc/self/maps", "r");
  REQUIRE(maps != nullptr);
  std::size_t lines = 0;
  for (int c = 0; (c = std::fgetc(maps)) != EOF;) {
    lines += c == '\n';
  }
  std::fclose(maps);
  return lines;
}

// True when the kernel refuses to read the address on our behalf, which is how a guard answers.
bool is_guarded(const void* address) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const bool refused = ::write(ends[1], address, 1) == -1 && errno == EFAULT;
  ::close(ends[0]);
  ::close(ends[1]);
  return refused;
}

struct without_cheap_guards {
  os::guard_support_state saved = os::guard_support.exchange(os::guard_support_state::no);
  ~without_cheap_guards() { os::guard_support.store(saved); }
};

}  // namespace

TEST_CASE("a page is a power of two of at least four kilobytes") {
  const std::size_t page = os::page_size();
  CHECK(page >= 4096);
  CHECK((page & (page - 1)) == 0);
}

TEST_CASE("new memory reads as zeros and can be written") {
  const std::size_t bytes = 4 * os::page_size();
  auto* const memory = static_cast<char*>(os::map(bytes));
  REQUIRE(memory != nullptr);
  for (std::size_t i = 0; i < bytes; ++i) {
    REQUIRE(memory[i] == 0);
  }
  std::memset(memory, 1, bytes);
  os::unmap(memory, bytes);
}

TEST_CASE("memory that cannot be had is a null pointer") {
  constexpr std::size_t most_of_all = SIZE_MAX / 16 * 15;
  CHECK(os::map(most_of_all) == nullptr);
  CHECK(os::map_stacks(most_of_all, os::page_size()) == nullptr);
  CHECK(os::map_stacks(SIZE_MAX - 4096, os::page_size()) == nullptr);
}

TEST_CASE("a slab of stacks is aligned as asked and leaves nothing beside it") {
  constexpr std::size_t mib = std::size_t{1} << 20;
  for (const std::size_t alignment : {os::page_size(), mib, 64 * mib}) {
    const std::size_t before = mapping_count();
    auto* const slab = static_cast<char*>(os::map_stacks(64 * mib, alignment));
    REQUIRE(slab != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(slab) % alignment == 0);
    if (THRUM_ASAN + THRUM_TSAN == 0) {  // their shadow has mappings, too
      CHECK(mapping_count() <= before + 2);
    }
    slab[0] = 1;
    slab[64 * mib - 1] = 1;
    if (counts_our_pages()) {
      CHECK(resident_pages(slab, 64 * mib) == 2);  // and no huge page
    }
    os::unmap(slab, 64 * mib);
  }
}

TEST_CASE("memory that is discarded reads as zeros, and can be used again") {
  const std::size_t bytes = 8 * os::page_size();
  auto* const memory = static_cast<char*>(os::map(bytes));
  REQUIRE(memory != nullptr);
  std::memset(memory, 7, bytes);
  if (counts_our_pages()) {
    CHECK(resident_pages(memory, bytes) == 8);
  }
  os::discard_now(memory, bytes);
  CHECK(memory[0] == 0);
  CHECK(resident_pages(memory, bytes) <= 1);
  std::memset(memory, 7, bytes);
  CHECK(memory[bytes - 1] == 7);
  os::unmap(memory, bytes);
}

TEST_CASE("a guarded page refuses every access and its neighbours allow it") {
  const std::size_t page = os::page_size();
  const std::size_t budget = os::mprotect_guards.load();
  const auto check = [&] {
    auto* const memory = static_cast<char*>(os::map_stacks(3 * page, page));
    REQUIRE(memory != nullptr);
    const os::guard_kind kind = os::install_guard(memory + page, page);
    CHECK(kind != os::guard_kind::none);
    CHECK_FALSE(is_guarded(memory));
    CHECK(is_guarded(memory + page));
    CHECK_FALSE(is_guarded(memory + 2 * page));
    const auto end = support::run_in_child([&] { static_cast<volatile char*>(memory)[page] = 1; });
    CHECK((end.signal == SIGSEGV || end.exit_code != 0));
    os::unmap(memory, 3 * page);
    if (kind == os::guard_kind::mprotect) {
      os::return_guard_budget(1);
    }
    return kind;
  };
  const os::guard_kind best = check();
  CHECK((best == os::guard_kind::madvise) == os::has_cheap_guards());
  const without_cheap_guards old_kernel;
  CHECK(check() == os::guard_kind::mprotect);
  CHECK(os::mprotect_guards.load() == budget);
}

TEST_CASE(
    "a guard in memory of another owner is removed when the memory is returned, of either kind") {
  const std::size_t page = os::page_size();
  const std::size_t budget = os::mprotect_guards.load();
  auto* const memory = static_cast<char*>(os::map(4 * page));
  REQUIRE(memory != nullptr);
  const auto check = [&] {
    memory[2 * page] = 5;
    const os::guard_kind kind = os::guard_foreign(memory, 2 * page);
    CHECK(is_guarded(memory));
    CHECK(is_guarded(memory + page));
    CHECK_FALSE(is_guarded(memory + 2 * page));
    CHECK(os::mprotect_guards.load() == budget + (kind == os::guard_kind::mprotect ? 1 : 0));
    os::return_foreign(memory, 4 * page, 2 * page, kind);
    CHECK_FALSE(is_guarded(memory));
    CHECK_FALSE(is_guarded(memory + page));
    memory[0] = memory[2 * page - 1] = 1;
    CHECK(memory[2 * page] == 5);
    CHECK(os::mprotect_guards.load() == budget);
    return kind;
  };
  CHECK((check() == os::guard_kind::madvise) == os::has_cheap_guards());
  const without_cheap_guards old_kernel;
  CHECK(check() == os::guard_kind::mprotect);
  os::unmap(memory, 4 * page);
}

TEST_CASE("a cheap guard stays when the memory around it is discarded") {
  if (!os::has_cheap_guards()) {
    return;
  }
  const std::size_t page = os::page_size();
  auto* const memory = static_cast<char*>(os::map_stacks(4 * page, page));
  REQUIRE(memory != nullptr);
  REQUIRE(os::install_guard(memory, page) == os::guard_kind::madvise);
  memory[3 * page] = 1;
  os::discard_now(memory, 4 * page);
  CHECK(is_guarded(memory));
  os::unmap(memory, 4 * page);
}

TEST_CASE("a thousand cheap guards cost no mappings") {
  if (!os::has_cheap_guards()) {
    return;
  }
  const std::size_t page = os::page_size();
  constexpr std::size_t stacks = 1000;
  const std::size_t stride = 4 * page;
  auto* const slab = static_cast<char*>(os::map_stacks(stacks * stride, page));
  REQUIRE(slab != nullptr);
  const std::size_t before = mapping_count();
  for (std::size_t i = 0; i < stacks; ++i) {
    REQUIRE(os::install_guard(slab + i * stride, page) == os::guard_kind::madvise);
  }
  CHECK(mapping_count() <= before + 4);
  os::unmap(slab, stacks * stride);
}

TEST_CASE("guards by mprotect stop at the budget and go on when some is returned") {
  const without_cheap_guards old_kernel;
  const std::size_t page = os::page_size();
  const std::size_t used = os::mprotect_guards.load();
  const std::size_t limit = os::mprotect_guard_limit.exchange(used + 3);
  auto* const memory = static_cast<char*>(os::map_stacks(16 * page, page));
  REQUIRE(memory != nullptr);
  const auto guard = [&](std::size_t n) { return os::install_guard(memory + 2 * n * page, page); };
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(guard(i) == os::guard_kind::mprotect);
  }
  CHECK(guard(3) == os::guard_kind::none);
  CHECK_FALSE(is_guarded(memory + 6 * page));
  os::return_guard_budget(1);
  CHECK(guard(4) == os::guard_kind::mprotect);
  CHECK(guard(5) == os::guard_kind::none);
  os::unmap(memory, 16 * page);
  os::return_guard_budget(3);
  CHECK(os::mprotect_guards.load() == used);
  os::mprotect_guard_limit.store(limit);
}

TEST_CASE("the budget is a quarter of the mappings that the kernel allows") {
  const std::size_t saved = os::mprotect_guard_limit.load();
  const std::size_t limit = os::read_mprotect_guard_limit();
  CHECK(limit >= 1000);
  if (std::FILE* const file = std::fopen("/proc/sys/vm/max_map_count", "r")) {
    unsigned long mappings = 0;
    REQUIRE(std::fscanf(file, "%lu", &mappings) == 1);
    std::fclose(file);
    CHECK(limit == mappings / 4);
  }
  os::mprotect_guard_limit.store(saved);
}
