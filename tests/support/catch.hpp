// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Catch2, version 2 or 3, whichever is installed. Tests use what both have.
#ifndef THRUM_TESTS_SUPPORT_CATCH_HPP
#define THRUM_TESTS_SUPPORT_CATCH_HPP

#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_approx.hpp>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>
#include <catch2/interfaces/catch_interfaces_capture.hpp>
#include <catch2/matchers/catch_matchers.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif

#endif  // THRUM_TESTS_SUPPORT_CATCH_HPP
