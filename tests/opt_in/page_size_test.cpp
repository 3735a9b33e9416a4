// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Stacks where pages are larger than 4 KiB.

#include "support/catch.hpp"
#include "support/program.hpp"

#include <string>

#ifdef THRUM_PAGE_SIZE_PATH  // sanitizers ask for the size of a page themselves

namespace {

support::program_result with_page(const std::string& bytes, const std::string& name) {
  // The first call of each function of the C library would look for it, deep into the stack.
  return support::run_file(THRUM_PAGE_SIZE_PATH, name, "LD_BIND_NOW=1 THRUM_TEST_PAGE=" + bytes);
}

}  // namespace

TEST_CASE(
    "whatever the size of a page, a stack of each size is used whole, and may be interrupted") {
  for (const char* const page : {"4096", "16384", "65536"}) {
    CAPTURE(page);
    const support::program_result whole = with_page(page, "whole_stacks");
    CHECK(whole.exit_code == 0);
    CHECK(whole.text ==
          "16384: 20 of 20\n32768: 20 of 20\n65536: 20 of 20\n131072: 20 of 20\n"
          "262144: 20 of 20\n524288: 20 of 20\n");
    const support::program_result interrupted = with_page(page, "interrupted");
    CHECK(interrupted.exit_code == 0);
    CHECK(interrupted.text == "all right\n");
    const support::program_result overflow = with_page(page, "overflow");
    CHECK(overflow.signal != 0);
    CHECK(overflow.says("stack overflow in goroutine"));
    CHECK(overflow.says("[small]"));
  }
}

#endif
