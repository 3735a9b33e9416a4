// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/sync/kept_result.hpp>

#include <thrum.hpp>

#include "support/catch.hpp"

#include <memory>
#include <stdexcept>

using thrum::sync_detail::keep_outcome;
using thrum::sync_detail::rethrow_kept;

TEST_CASE("what came of a function is kept: a value, a reference, nothing, or an exception") {
  thrum::go_detail::result_slot<std::unique_ptr<int>> owner;
  keep_outcome(
      owner, [](int n) { return std::make_unique<int>(n); }, 3);
  REQUIRE(owner.value.has_value());
  CHECK(**owner.value == 3);
  rethrow_kept(owner);

  int target = 0;
  thrum::go_detail::result_slot<int&> reference;
  keep_outcome(reference, [&]() -> int& { return target; });
  CHECK(reference.value == &target);

  thrum::go_detail::result_slot<void> nothing;
  keep_outcome(nothing, [] {});
  CHECK(nothing.value.has_value());

  thrum::go_detail::result_slot<int> failed;
  keep_outcome(failed, []() -> int { throw std::runtime_error("why"); });
  CHECK_FALSE(failed.value.has_value());
  CHECK_THROWS_AS(rethrow_kept(failed), std::runtime_error);
  CHECK_THROWS_AS(rethrow_kept(failed), std::runtime_error);
}

TEST_CASE("the end of a goroutine is not kept as what came of a function") {
  thrum::go_detail::result_slot<int> none;
  CHECK_THROWS_AS(keep_outcome(none, []() -> int { throw thrum::goroutine_exit(); }),
                  thrum::goroutine_exit);
  CHECK_FALSE(none.value.has_value());
  CHECK_FALSE(none.error);
}
