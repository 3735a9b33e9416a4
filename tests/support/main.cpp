// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// main() of the test programs, by version 2 or 3 of Catch2.
#include "support/clean_end.hpp"

#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

int main(int argc, char** argv) {
  support::clean_up_at_end();
  return Catch::Session().run(argc, argv);
}
