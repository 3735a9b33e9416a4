// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Padding.
#include <thrum/base/cache_line.hpp>

#include <cstdint>

#include "../../support/catch.hpp"

using thrum::base::cache_line_size;
using thrum::base::padded;

TEST_CASE("neighbouring padded values never share a cache line") {
  padded<char> values[4] = {};
  for (int i = 1; i < 4; ++i) {
    const auto a = reinterpret_cast<std::uintptr_t>(&values[i - 1].value) / cache_line_size;
    const auto b = reinterpret_cast<std::uintptr_t>(&values[i].value) / cache_line_size;
    CHECK(a != b);
  }
  CHECK(sizeof(padded<char[65]>) == 2 * cache_line_size);
}
