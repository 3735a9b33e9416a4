// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The short names mean the standard orders.
#include <thrum/base/order.hpp>

#include "../../support/catch.hpp"

TEST_CASE("the short names are the standard memory orders") {
  using namespace thrum::base::orders;
  STATIC_REQUIRE(relaxed == std::memory_order_relaxed);
  STATIC_REQUIRE(acquire == std::memory_order_acquire);
  STATIC_REQUIRE(release == std::memory_order_release);
  STATIC_REQUIRE(acq_rel == std::memory_order_acq_rel);
  STATIC_REQUIRE(seq_cst == std::memory_order_seq_cst);
}
