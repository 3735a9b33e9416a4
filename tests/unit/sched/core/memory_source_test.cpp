// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/detail/sched/core/memory_source.hpp>

#include "support/catch.hpp"
#include "support/counted_memory.hpp"

#include <cstddef>
#include <cstdint>

namespace {

using thrum::sched::memory_source;

/// Counts how many there are.
struct alignas(128) counted_object {
  counted_object(int& count, int number) noexcept : alive(count), own(number) { ++alive; }
  ~counted_object() { --alive; }
  counted_object(const counted_object&) = delete;
  counted_object& operator=(const counted_object&) = delete;
  int& alive;
  const int own;
};

void use_objects(memory_source memory) {
  int alive = 0;
  auto* const object = memory.make<counted_object>(alive, 7);
  REQUIRE(object != nullptr);
  CHECK(reinterpret_cast<std::uintptr_t>(object) % alignof(counted_object) == 0);
  CHECK(object->own == 7);
  CHECK(alive == 1);
  memory.destroy(object);
  CHECK(alive == 0);
}

void use_table(memory_source memory) {
  constexpr std::size_t n = 1'000;
  auto* const table = memory.take_table<std::uint64_t>(n);
  REQUIRE(table != nullptr);
  for (std::size_t i = 0; i != n; ++i) {
    table[i] = i;
  }
  memory.give_back_table(table, n);
  memory.give_back_table<std::uint64_t>(nullptr, n);  // there was no memory
}

}  // namespace

TEST_CASE("without hooks objects come from operator new, and tables from the system") {
  use_objects(memory_source());
  use_table(memory_source());
  use_objects(memory_source(thrum::memory_hooks()));
  use_table(memory_source(thrum::memory_hooks()));
}

TEST_CASE("with hooks both come from them, and go back with the same numbers") {
  support::counted_memory counted;
  const thrum::memory_hooks hooks = counted.hooks();
  use_objects(memory_source(hooks));
  CHECK(counted.calls() == 2);
  use_table(memory_source(hooks));
  CHECK(counted.calls() == 4);
  CHECK(counted.blocks() == 0);
  CHECK(counted.mistakes() == 0);
}

TEST_CASE("a hook that refuses gives a null pointer, and makes nothing") {
  support::counted_memory counted;
  const thrum::memory_hooks hooks = counted.hooks();
  counted.refuses_objects = true;
  int alive = 0;
  CHECK(memory_source(hooks).make<counted_object>(alive, 1) == nullptr);
  CHECK(memory_source(hooks).take_table<int>(10) == nullptr);
  CHECK(alive == 0);
}
