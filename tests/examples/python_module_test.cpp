// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The example python_module; its own tests are words_test.py, beside it.

#include "support/catch.hpp"

#if defined(THRUM_EXAMPLES_DIR) && defined(THRUM_PYTHON)

#include "support/program.hpp"

#include <string>

namespace examples { namespace {

const std::string where = "PYTHONPATH=" THRUM_EXAMPLES_DIR;
const std::string sources = THRUM_PYTHON_MODULE_SOURCES;

TEST_CASE("a module of Python counts in goroutines, calls Python back, is interrupted and forked") {
  const auto result = support::run_file(THRUM_PYTHON, sources + "/words_test.py", where);
  INFO(result.text);
  CHECK(result.exit_code == 0);
  CHECK(result.says("OK"));
}

TEST_CASE("the demonstration of the module of Python tells the ten most frequent words") {
  const auto result =
      support::run_file(THRUM_PYTHON, sources + "/demo.py '" + sources + "'", where);
  INFO(result.text);
  CHECK(result.exit_code == 0);
  CHECK(result.says("3 files, "));
}

}}  // namespace examples

#endif
