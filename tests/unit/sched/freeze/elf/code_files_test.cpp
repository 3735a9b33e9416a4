// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The files of code that a process begins with, as the loader of ELF lists them.

#include "support/catch.hpp"

#include "../two_views.hpp"

#include <thrum/detail/os/os.hpp>

#include <cstdint>
#include <cstdlib>

using support::walk_from_here;

TEST_CASE("the files that a process begins with are found by their addresses") {
  static thrum::os::first_code_files files;
  files.remember();
  files.remember();
  thrum::os::code_file first;
  thrum::os::code_file asked;
  for (const auto address : {reinterpret_cast<std::uintptr_t>(&walk_from_here),
                             reinterpret_cast<std::uintptr_t>(&std::abort)}) {
    REQUIRE(files.find(address, first));
    CHECK((first.low <= address && address < first.high));
    REQUIRE(thrum::os::find_code_file(address, asked));
    CHECK(first.index == asked.index);
  }
  CHECK_FALSE(files.find(8, first));
}
