// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// main() of the test programs, by version 2 or 3 of Catch2.
#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
int main(int argc, char** argv) { return Catch::Session().run(argc, argv); }
#else
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#endif
