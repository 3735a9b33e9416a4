// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/detail/sched/stack/free_list.hpp>

#include "support/catch.hpp"

#include <array>
#include <cstddef>
#include <vector>

namespace {

struct dead_item {
  dead_item* queue_next = nullptr;
  thrum::base::intrusive_queue<dead_item> chunk_rest;
  dead_item* chunk_next = nullptr;
};

using dead_chunk = thrum::base::intrusive_queue<dead_item>;
using dead_chunks = thrum::sched::chunk_stack<dead_item>;
using list_of_four = thrum::sched::free_list<dead_item, 4>;

dead_chunk chunk_of(const std::vector<dead_item*>& items) {
  dead_chunk all;
  for (dead_item* const each : items) {
    all.push_back(each);
  }
  return all;
}

std::vector<dead_item*> items_of(dead_chunk all) {
  std::vector<dead_item*> items;
  while (dead_item* const each = all.pop_front()) {
    items.push_back(each);
  }
  return items;
}

}  // namespace

TEST_CASE("a free list gives back first what came last") {
  std::array<dead_item, 2> items;
  list_of_four list;
  CHECK(list.take() == nullptr);
  REQUIRE_FALSE(list.put(items[0]));
  CHECK(list.put(items[1]));
  CHECK(list.size() == 2);
  CHECK(list.front() == &items[1]);
  CHECK(list.take() == &items[1]);
  CHECK(list.take() == &items[0]);
  CHECK(list.take() == nullptr);
}

TEST_CASE("a free list with two full chunks gives away the one that was filled first") {
  std::array<dead_item, 4> items;
  list_of_four list;
  static_cast<void>(list.put(items[0]));
  REQUIRE(list.put(items[1]));
  CHECK(list.take_spare().empty());
  static_cast<void>(list.put(items[2]));
  REQUIRE(list.put(items[3]));
  CHECK(items_of(list.take_spare()) == std::vector{&items[1], &items[0]});
  CHECK(list.size() == 2);
}

TEST_CASE("a free list goes on with its spare chunk, and then with another") {
  std::array<dead_item, 3> items;
  list_of_four list;
  static_cast<void>(list.put(items[0]));
  REQUIRE(list.put(items[1]));
  static_cast<void>(list.take_spare());
  CHECK(list.take() == nullptr);
  REQUIRE(list.reload());
  CHECK(list.take() == &items[1]);
  CHECK(list.take() == &items[0]);
  CHECK_FALSE(list.reload());
  list.load(chunk_of({&items[2]}));
  CHECK(list.take() == &items[2]);
}

TEST_CASE("a free list is full also if the pool's chunk was larger than its own") {
  std::array<dead_item, 5> items;
  list_of_four list;
  list.load(chunk_of({&items[0], &items[1], &items[2]}));
  REQUIRE(list.put(items[3]));
  CHECK(list.take_spare().empty());
  static_cast<void>(list.put(items[4]));
  CHECK(list.size() == 5);
}

TEST_CASE("a free list is emptied as a whole, its spare chunk last") {
  std::array<dead_item, 3> items;
  list_of_four list;
  static_cast<void>(list.put(items[0]));
  REQUIRE(list.put(items[1]));
  static_cast<void>(list.take_spare());
  static_cast<void>(list.put(items[2]));
  CHECK(items_of(list.take_all()) == std::vector{&items[2], &items[1], &items[0]});
  CHECK(list.size() == 0);
}

TEST_CASE("chunks come back as they were, the last one first") {
  std::array<dead_item, 3> items;
  dead_chunks chunks;
  CHECK(chunks.pop().empty());
  chunks.push(dead_chunk());
  CHECK(chunks.empty());
  chunks.push(chunk_of({&items[0], &items[1]}));
  chunks.push(chunk_of({&items[2]}));
  CHECK(chunks.front() == &items[2]);
  CHECK(items_of(chunks.pop()) == std::vector{&items[2]});
  CHECK(items_of(chunks.pop()) == std::vector{&items[0], &items[1]});
  CHECK(chunks.empty());
}

TEST_CASE("a chunk that is taken from one at a time stays on top until it is empty") {
  std::array<dead_item, 3> items;
  dead_chunks chunks;
  CHECK(chunks.pop_one() == nullptr);
  chunks.push(chunk_of({&items[2]}));
  chunks.push(chunk_of({&items[0], &items[1]}));
  CHECK(chunks.pop_one() == &items[0]);
  CHECK(chunks.pop_one() == &items[1]);
  CHECK(chunks.pop_one() == &items[2]);
  CHECK(chunks.empty());
}

TEST_CASE("the chunks of another stack come after all that were there") {
  std::array<dead_item, 4> items;
  dead_chunks chunks;
  dead_chunks other;
  chunks.append(static_cast<dead_chunks&&>(other));
  CHECK(chunks.empty());
  other.push(chunk_of({&items[1]}));
  other.push(chunk_of({&items[0]}));
  SECTION("of an empty one") {}
  SECTION("of one with chunks") { chunks.push(chunk_of({&items[2]})); }
  const bool had_one = !chunks.empty();
  chunks.append(static_cast<dead_chunks&&>(other));
  CHECK(other.empty());
  if (had_one) {
    CHECK(chunks.pop_one() == &items[2]);
  }
  CHECK(chunks.pop_one() == &items[0]);
  other.push(chunk_of({&items[3]}));
  chunks.append(static_cast<dead_chunks&&>(other));
  CHECK(chunks.pop_one() == &items[1]);
  CHECK(chunks.pop_one() == &items[3]);
  CHECK(chunks.empty());
}
