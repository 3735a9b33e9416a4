// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/detail/base/owner.hpp>

#include <utility>

#include "../../support/catch.hpp"

namespace {

/// Counts those that live.
struct owned_number {
  static inline int alive = 0;
  explicit owned_number(int n) noexcept : value(n) { ++alive; }
  owned_number(const owned_number&) = delete;
  ~owned_number() { --alive; }
  int value;
};

using number_owner = thrum::base::owner<owned_number>;

}  // namespace

TEST_CASE("an owner deletes its object once, however often it was moved") {
  {
    number_owner first(new owned_number(1));
    number_owner second(std::move(first));
    CHECK_FALSE(first);
    number_owner third;
    third = std::move(second);
    CHECK_FALSE(second);
    CHECK(third->value == 1);
    CHECK(owned_number::alive == 1);
  }
  CHECK(owned_number::alive == 0);
}

TEST_CASE("an owner deletes what it had when it gets another") {
  number_owner one(new owned_number(1));
  one = number_owner(new owned_number(2));
  CHECK(owned_number::alive == 1);
  CHECK((*one).value == 2);
  one.reset(new owned_number(3));
  CHECK(owned_number::alive == 1);
  CHECK(one.get()->value == 3);
  one.reset();
  CHECK_FALSE(one);
  CHECK(owned_number::alive == 0);
}

TEST_CASE("an owner that is assigned to itself keeps its object") {
  number_owner one(new owned_number(4));
  number_owner& same = one;
  one = std::move(same);
  REQUIRE(one);
  CHECK(one->value == 4);
}

TEST_CASE("what an owner gives up lives on") {
  number_owner one(new owned_number(5));
  owned_number* const given = one.release();
  CHECK_FALSE(one);
  CHECK(owned_number::alive == 1);
  delete given;
}
