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

TEST_CASE("whatever the size of a page, a stack of each size can be used to its last byte") {
  for (const char* const page : {"4096", "16384", "65536"}) {
    CAPTURE(page);
    const support::program_result r = with_page(page, "whole_stacks");
    CHECK(r.exit_code == 0);
    CHECK(r.text ==
          "16384: 20 of 20\n32768: 20 of 20\n65536: 20 of 20\n131072: 20 of 20\n"
          "262144: 20 of 20\n524288: 20 of 20\n");
  }
}

TEST_CASE("whatever the size of a page, the smallest stack bears an interruption") {
  for (const char* const page : {"4096", "16384", "65536"}) {
    CAPTURE(page);
    const support::program_result r = with_page(page, "interrupted");
    CHECK(r.exit_code == 0);
    CHECK(r.text == "all right\n");
  }
}

TEST_CASE("whatever the size of a page, an overflow of the smallest stack is told as such") {
  for (const char* const page : {"4096", "16384", "65536"}) {
    CAPTURE(page);
    const support::program_result r = with_page(page, "overflow");
    CHECK(r.signal != 0);
    CHECK(r.says("stack overflow in goroutine"));
    CHECK(r.says("[small]"));
  }
}

#endif
